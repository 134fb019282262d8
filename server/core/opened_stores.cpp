#include "opened_stores.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "open_store.hpp"
#include "process_end.hpp"
#include "side_by_side.hpp"

namespace foliot::program {

opened_stores::opened_stores(const serve_options& options, const server_log& log) : opened_(open_stores(options, log)) {
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    const std::string label = opened_.size() == 1 ? "" : fmt::format("session {}: ", i + 1);
    with_policies_.push_back(i == 0 ? std::make_unique<jobs::policy_store>(*opened_[i])
                                    : std::make_unique<jobs::policy_store>(*opened_[i], *with_policies_.front()));
    with_policies_.back()->sweeps(i == 0);  // the sessions have the same jobs
    watched_.push_back(std::make_unique<watched_store>(
        *with_policies_[i], [&log, label](const std::string& sentence) { log.warning(label + sentence); }));
  }
}

opened_stores::~opened_stores() {
  const memory_needed here;
  watched_.clear();
  with_policies_.clear();
  opened_.clear();
}

std::vector<jobs::job_store*> opened_stores::all() const {
  std::vector<jobs::job_store*> found;
  for (const auto& each : watched_) found.push_back(each.get());
  return found;
}

std::vector<jobs::policy_store*> opened_stores::with_policies() const {
  std::vector<jobs::policy_store*> found;
  for (const auto& each : with_policies_) found.push_back(each.get());
  return found;
}

duration opened_stores::busy_for() const noexcept {
  duration longest{};
  for (const auto& each : watched_) longest = std::max(longest, each->busy_for());
  return longest;
}

void opened_stores::close() {
  side_by_side(watched_.size(), [this](std::size_t i) { watched_[i]->close(); });
}

}  // namespace foliot::program

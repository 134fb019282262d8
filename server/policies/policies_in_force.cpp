#include "policies_in_force.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/select.hpp>

#include "policy_record.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/tube_name.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

/// So many records are read at once.
constexpr std::size_t records_at_once = 100;

}  // namespace

void policies_in_force::wake() noexcept {
  try {
    static_cast<void>(wakes_.try_send(woken{}));
  } catch (const std::bad_alloc&) {
    // Where others write, it looks within looks_every; else the next change wakes it.
  }
}

void policies_in_force::end() noexcept {
  ends_.store(true, seam::relaxed);
  wake();
}

task<bool> policies_in_force::wait() {
  if (!ends_.load(seam::relaxed)) {
    const bool looks = by_.has_other_nodes() || is_behind_.load(seam::relaxed);
    auto what = co_await runtime::select(wakes_.receive(), runtime::when(looks, runtime::after(looks_every)));
    static_cast<void>(what);
  }
  co_return !ends_.load(seam::relaxed);
}

task<> policies_in_force::keep_on() {
  for (bool goes_on = true; goes_on;) {
    auto waiting = wait();
    goes_on = co_await waiting;
    if (!goes_on || !(by_.has_other_nodes() || is_behind_.load(seam::relaxed))) continue;
    try {
      auto reading = read();
      co_await reading;
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const runtime::cancelled&) {
      throw;
    } catch (const std::exception&) {
      is_behind_.store(true, seam::relaxed);  // the store does not answer, or memory is missing: it is tried again
    }
  }
}

task<> policies_in_force::read_after_change() {
  is_behind_.store(true, seam::relaxed);
  try {
    auto reading = read();
    co_await reading;
    co_return;
  } catch (const jobs::store_unavailable&) {
  } catch (const jobs::broker_full&) {
  }
  wake();
}

task<> policies_in_force::read() {
  auto held = co_await reading_.lock();
  is_behind_.store(false, seam::relaxed);
  try {
    auto listing = list();
    std::vector<jobs::listed_job> listed = co_await listing;
    auto looking = look(std::move(listed));
    records now = co_await looking;
    std::uint32_t sharers = static_cast<std::uint32_t>(std::max<std::size_t>(stores_.size(), 1));
    if (by_.has_other_nodes() && !now.empty()) {
      auto counting = count_sharers();
      sharers = co_await counting;
    }
    const bool is_same = std::ranges::equal(now, seen_, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.id == b.second.id && a.second.version == b.second.version;
    });
    if (is_same && sharers == sharers_) co_return;
    seen_ = std::move(now);
    sharers_ = sharers;
    hand_over();
  } catch (...) {
    is_behind_.store(true, seam::relaxed);
    throw;
  }
}

task<std::vector<jobs::listed_job>> policies_in_force::list() {
  std::vector<jobs::listed_job> all;
  jobs::list_jobs page;
  page.tube = tube_of_policies;
  page.which = jobs::job_state::delayed;  // no other list is one of the tube's jobs alone
  page.count = jobs::most_listed;
  for (;;) {
    auto listing = by_.execute(page);
    jobs::jobs_answer listed = co_await listing;
    for (jobs::listed_job& each : listed.jobs) all.push_back(std::move(each));
    if (!listed.next) co_return all;
    page.after = *listed.next;
  }
}

task<policies_in_force::records> policies_in_force::look(std::vector<jobs::listed_job> listed) {
  records now;
  std::vector<std::string> changed;
  for (const jobs::listed_job& each : listed) {
    const std::string& tube = each.job.key;
    const auto known = seen_.find(tube);
    const bool is_same =
        known != seen_.end() && known->second.id == each.job.id && known->second.version == each.version;
    if (is_same) {
      now.insert_or_assign(tube, known->second);
    } else if (!tube.empty()) {
      changed.push_back(tube);
    }
  }
  for (std::size_t begin = 0; begin < changed.size(); begin += records_at_once) {
    const std::size_t end = std::min(begin + records_at_once, changed.size());
    std::deque<jobs::in_flight<jobs::peek>> looks;
    for (std::size_t i = begin; i < end; ++i) {
      looks.emplace_back(by_, jobs::peek{jobs::job_key{std::string(tube_of_policies), changed[i]}, true});
    }
    std::size_t place = begin;
    for (jobs::in_flight<jobs::peek>& each : looks) {
      const jobs::peek_answer seen = co_await each;
      const std::string& tube = changed[place++];
      if (seen.job) now.insert_or_assign(tube, understand(tube, seen));  // else it was removed meanwhile
    }
  }
  co_return now;
}

policies_in_force::seen_record policies_in_force::understand(const std::string& tube, const jobs::peek_answer& seen) {
  seen_record made{seen.job->id, seen.version};
  std::string fault;
  if (!is_tube_name(tube)) {
    fault = "no tube has this name";
  } else if (auto policy = read_policy(seen.job->body, tube)) {
    made.has_policy = true;
    made.policy = *std::move(policy);
    return made;
  } else {
    fault = sentence_of(policy.error());
  }
  const auto before = seen_.find(tube);
  if (before != seen_.end() && before->second.has_policy) {
    made.has_policy = true;
    made.policy = before->second.policy;
  }
  warn_(fmt::format("the policy of tube {} cannot be read, so {}: {}", printable(tube),
                    made.has_policy ? "the one before stays in force" : "none is in force", fault));
  return made;
}

task<std::uint32_t> policies_in_force::count_sharers() {
  auto listing = by_.execute(jobs::list_nodes{});
  const jobs::nodes_answer seen = co_await listing;
  co_return static_cast<std::uint32_t>(std::max<std::size_t>({seen.nodes.size(), stores_.size(), 1}));
}

void policies_in_force::hand_over() {
  auto table = std::make_shared<jobs::policy_table>();
  for (const auto& [tube, each] : seen_) {
    if (each.has_policy) table->emplace(tube, each.policy);
  }
  const std::shared_ptr<const jobs::policy_table> made = table->empty() ? nullptr : std::move(table);
  for (jobs::policy_store* const each : stores_) {
    each->share(sharers_);
    each->set_policies(made);
  }
  const lock held(lock_);
  known_ = made;
}

}  // namespace foliot::program

#include "rights.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace foliot::program {

namespace {

/// In order, and without those that begin with another one.
std::vector<std::string> without_overlaps(std::vector<std::string> prefixes) {
  std::ranges::sort(prefixes);
  std::vector<std::string> kept;
  for (std::string& each : prefixes) {
    // What begins with a prefix follows it directly.
    if (kept.empty() || !each.starts_with(kept.back())) kept.push_back(std::move(each));
  }
  return kept;
}

}  // namespace

std::optional<scope> scope_named(std::string_view name) noexcept {
  for (const named_scope& each : all_scopes) {
    if (each.name == name) return each.what;
  }
  return std::nullopt;
}

std::shared_ptr<const rights> rights::everything() {
  return std::make_shared<const rights>("", "", scope_set::all(), std::vector<std::string>{""}, instant::never());
}

rights::rights(std::string id, std::string name, scope_set scopes, std::vector<std::string> prefixes, instant ends,
               const sha256_digest& proof)
    : id_(std::move(id)),
      name_(std::move(name)),
      scopes_(scopes),
      prefixes_(without_overlaps(std::move(prefixes))),
      has_all_tubes_(!prefixes_.empty() && prefixes_.front().empty()),
      ends_(ends),
      proof_(proof) {}

bool rights::is_within_a_prefix(std::string_view text) const noexcept {
  // Of the prefixes in order, only the last one that is not behind the text can be its beginning.
  const auto behind = std::ranges::upper_bound(prefixes_, text);
  return behind != prefixes_.begin() && text.starts_with(*std::prev(behind));
}

std::vector<std::string> rights::prefixes_within(std::string_view prefix) const {
  if (has_tube(prefix)) return {std::string(prefix)};
  std::vector<std::string> found;
  for (const std::string& each : prefixes_) {
    if (each.starts_with(prefix)) found.push_back(each);
  }
  return found;
}

bool rights::covers(const rights& others) const noexcept {
  return scopes_.covers(others.scopes_) &&
         std::ranges::all_of(others.prefixes_, [this](const std::string& each) { return has_tube(each); });
}

}  // namespace foliot::program

#include "tube_limits.hpp"

#include <algorithm>
#include <utility>

namespace foliot::jobs::detail {
namespace {

constexpr std::int64_t nanoseconds_of_second = 1'000'000'000;
/// So that no product overflows.
constexpr std::uint32_t most_sharing = 1000;

const tube_policy* policy_in(const policy_table* policies, std::string_view tube) {
  if (policies == nullptr) return nullptr;
  const auto found = policies->find(tube);
  return found == policies->end() ? nullptr : &found->second;
}

}  // namespace

const tube_limits::tube* tube_limits::find(std::string_view name) const {
  const auto found = tubes_.find(name);
  return found == tubes_.end() ? nullptr : &found->second;
}

void tube_limits::share(std::uint32_t among) noexcept { among_ = std::clamp(among, 1U, most_sharing); }

/// The share of a second that one reservation takes; rounded up, so that the rate is never exceeded.
std::int64_t tube_limits::cell_of(const tube_policy& by) const noexcept {
  return (nanoseconds_of_second * among_ + by.most_per_second - 1) / by.most_per_second;
}

std::uint64_t tube_limits::cells_free(const tube& it, const tube_policy& by, instant now) const noexcept {
  if (by.most_per_second == 0) return any_number;
  if (it.next_cell <= now) return by.burst;
  const std::int64_t taken = (it.next_cell - now).count();
  const std::int64_t cell = cell_of(by);
  const std::int64_t whole = cell * by.burst;
  return taken >= whole ? 0 : static_cast<std::uint64_t>((whole - taken) / cell);
}

std::uint64_t tube_limits::slots_free(const tube& it, const tube_policy& by) const noexcept {
  if (by.most_reserved == 0) return any_number;
  const std::uint64_t elsewhere = it.counted_in == generation_ ? it.elsewhere : 0;
  const std::uint64_t taken = it.reserved - it.gone + elsewhere;
  return taken >= by.most_reserved ? 0 : by.most_reserved - taken;
}

void tube_limits::add(const std::string& name, const std::string& in, const tube_policy& by, instant now) {
  add_earlier(name, in);
  tube& it = tubes_[name];
  if (by.most_per_second != 0) it.next_cell = std::max(it.next_cell, now) + duration::nanoseconds(cell_of(by));
}

void tube_limits::add_earlier(const std::string& name, const std::string& in) {
  tube& it = tubes_[name];
  ++it.reserved;
  if (!in.empty()) ++it.groups[in].reserved;
}

std::optional<parked_job> tube_limits::remove(const std::string& name, const std::string& in) {
  tube& it = tubes_.at(name);
  --it.reserved;
  // It may have been one of these, or not: then the next count says so.
  if (it.gone != 0) --it.gone;
  if (in.empty()) return std::nullopt;
  --it.groups.at(in).reserved;
  return next_parked(name, in);
}

std::optional<parked_job> tube_limits::next_parked(const std::string& name, const std::string& in) {
  const auto home = tubes_.find(name);
  if (home == tubes_.end()) return std::nullopt;
  const auto found = home->second.groups.find(in);
  if (found == home->second.groups.end()) return std::nullopt;
  group& of = found->second;
  std::optional<parked_job> next;
  if (!of.parked.empty()) {
    next = of.parked.begin()->second;
    of.parked.erase(of.parked.begin());
    of.places.erase(next->id);
    --parked_;
  }
  if (of.reserved == 0 && of.parked.empty()) home->second.groups.erase(found);
  return next;
}

std::optional<parked_job> tube_limits::park(const std::string& name, const std::string& in, parked_job one,
                                            const tube_policy* by) {
  group& of = tubes_[name].groups[in];
  const auto known = of.places.find(one.id);
  if (known != of.places.end()) {
    of.parked.at(known->second) = one;  // it keeps its place
  } else if (parked_ < most_parked) {
    of.places.emplace(one.id, ++arrivals_);
    of.parked.emplace(arrivals_, one);
    ++parked_;
  }
  const bool is_full = by != nullptr && by->most_reserved_of_group != 0 && of.reserved >= by->most_reserved_of_group;
  return is_full ? std::nullopt : next_parked(name, in);
}

std::size_t tube_limits::parked(std::string_view name, std::string_view in) const {
  const tube* const it = find(name);
  if (it == nullptr) return 0;
  const auto found = it->groups.find(in);
  return found == it->groups.end() ? 0 : found->second.parked.size();
}

std::uint64_t tube_limits::free(std::string_view name, const tube_policy& by, instant now) const {
  static const tube idle;
  const tube* const known = find(name);
  const tube& it = known == nullptr ? idle : *known;
  return std::min(slots_free(it, by), cells_free(it, by, now));
}

bool tube_limits::has_slot(std::string_view name, const tube_policy& by) const {
  const tube* const it = find(name);
  return it == nullptr || slots_free(*it, by) != 0;
}

bool tube_limits::has_free(std::string_view name, const std::string& in, const tube_policy& by) const {
  if (by.most_reserved_of_group == 0 || in.empty()) return true;
  const tube* const it = find(name);
  if (it == nullptr) return true;
  const auto found = it->groups.find(in);
  return found == it->groups.end() || found->second.reserved < by.most_reserved_of_group;
}

std::uint64_t tube_limits::reserved(std::string_view name) const {
  const tube* const it = find(name);
  return it == nullptr ? 0 : it->reserved;
}

bool tube_limits::wants_count(std::string_view name) const {
  const tube* const it = find(name);
  return it == nullptr || !it->was_counted || it->elsewhere != 0;
}

void tube_limits::note_count(const std::string& name, std::uint64_t reserved) {
  tube& it = tubes_[name];
  it.was_counted = true;
  it.counted_in = generation_;
  it.elsewhere = reserved - std::min(reserved, it.reserved);
  it.gone = it.reserved - std::min(reserved, it.reserved);
}

void tube_limits::hold_back(const std::string& name) { held_back_.insert(name); }

void tube_limits::note_empty(std::string_view name) noexcept {
  const auto found = held_back_.find(name);
  if (found != held_back_.end()) held_back_.erase(found);
}

std::vector<std::string> tube_limits::take_freed(const policy_table* policies, instant now, const full_tubes& is_full) {
  std::vector<std::string> freed;
  std::erase_if(held_back_, [&](const std::string& name) {
    const tube_policy* const by = policy_in(policies, name);
    if ((by != nullptr && free(name, *by, now) == 0) || is_full(name)) return false;
    freed.push_back(name);
    return true;
  });
  return freed;
}

instant tube_limits::next(const policy_table* policies, const full_tubes& is_full) const {
  instant soonest = instant::never();
  for (const std::string& name : held_back_) {
    const tube_policy* const by = policy_in(policies, name);
    const tube* const it = find(name);
    if (by == nullptr || it == nullptr || by->most_per_second == 0 || slots_free(*it, *by) == 0) continue;
    if (is_full(name)) continue;
    soonest = std::min(soonest, it->next_cell - duration::nanoseconds(cell_of(*by) * (by->burst - 1)));
  }
  return soonest;
}

void tube_limits::forget_idle(const policy_table* policies, instant now) {
  std::erase_if(tubes_, [&](const auto& each) {
    const tube& it = each.second;
    const tube_policy* const by = policy_in(policies, each.first);
    return it.reserved == 0 && it.groups.empty() && it.next_cell <= now && (by == nullptr || !has_bounds(*by));
  });
}

check_result tube_limits::check(const std::map<std::pair<std::string, std::string>, std::uint64_t>& held) const {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;
  for (const auto& [name, it] : tubes_) {
    std::uint64_t in_groups = 0;
    if (it.gone > it.reserved) return std::unexpected("more jobs of " + name + " have ended than were reserved");
    for (const auto& [in, of] : it.groups) {
      in_groups += of.reserved;
      if (of.reserved != 0) counted[{name, in}] = of.reserved;
    }
    if (in_groups > it.reserved) return std::unexpected("more jobs of " + name + " are reserved in groups than at all");
    if (it.reserved > in_groups) counted[{name, ""}] = it.reserved - in_groups;
  }
  std::size_t parked = 0;
  for (const auto& [name, it] : tubes_) {
    for (const auto& [in, of] : it.groups) {
      if (of.parked.size() != of.places.size()) return std::unexpected("a job of " + name + " waits twice");
      parked += of.parked.size();
    }
  }
  if (parked != parked_) return std::unexpected(std::string("the waiting jobs are not as many as were counted"));
  if (counted != held)
    return std::unexpected(std::string("the slots that are taken are not those of the reservations"));
  return {};
}

}  // namespace foliot::jobs::detail

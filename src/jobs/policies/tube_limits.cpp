#include "tube_limits.hpp"

#include <algorithm>

namespace foliot::jobs::detail {
namespace {

constexpr std::int64_t nanoseconds_of_second = 1'000'000'000;
/// So that no product overflows.
constexpr std::uint32_t most_sharing = 1000;

/// What is left of `from`; never less than nothing.
constexpr std::uint64_t less(std::uint64_t from, std::uint64_t by) noexcept { return from - std::min(from, by); }

}  // namespace

void planned_slots::give_back() noexcept {
  tube_limits* const of = std::exchange(limits_, nullptr);
  if (of == nullptr) return;
  for (const auto& [tube, left] : tubes_) of->unplan(tube, left);
  tubes_.clear();
}

// Who counts.

std::uint32_t tube_limits::join() noexcept {
  const lock held(lock_);
  ++members_;
  return joined_++;
}

void tube_limits::leave(std::uint32_t member) noexcept {
  const lock held(lock_);
  --members_;
  kept_.erase(member);
  // Those that are parked wait for their due times: nobody is here to wake them.
  for (auto each = slots_.begin(); each != slots_.end();) {
    const reservation token = each->first;
    const bool is_its = each->second.member == member;
    ++each;
    if (is_its) static_cast<void>(take_out(token));
  }
}

void tube_limits::share(std::uint32_t among) noexcept {
  const lock held(lock_);
  among_ = std::clamp(among, 1U, most_sharing);
}

// What is free.

const tube_limits::tube* tube_limits::seek(std::string_view name) const {
  const auto found = tubes_.find(name);
  return found == tubes_.end() ? nullptr : &found->second;
}

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

std::uint64_t tube_limits::slots_taken(const tube& it) const noexcept {
  return it.reserved - it.gone + (it.counted_in == generation_ ? it.elsewhere : 0);
}

std::uint64_t tube_limits::slots_free(const tube& it, const tube_policy& by) const noexcept {
  return by.most_reserved == 0 ? any_number : less(by.most_reserved, slots_taken(it));
}

std::uint64_t tube_limits::free_of(std::string_view name, const tube_policy& by, instant now) const {
  static const tube idle;
  const tube* const known = seek(name);
  const tube& it = known == nullptr ? idle : *known;
  return std::min(slots_free(it, by), cells_free(it, by, now));
}

std::uint64_t tube_limits::unplanned_of(std::string_view name, const tube_policy& by, instant now) const {
  const tube* const it = seek(name);
  return less(free_of(name, by, now), it == nullptr ? 0 : it->planned);
}

std::uint64_t tube_limits::free(std::string_view name, const tube_policy& by, instant now) const {
  const lock held(lock_);
  return free_of(name, by, now);
}

std::uint64_t tube_limits::unplanned(std::string_view name, const tube_policy& by, instant now) const {
  const lock held(lock_);
  return unplanned_of(name, by, now);
}

instant tube_limits::waits_until(std::string_view name, const tube_policy& by) const {
  const lock held(lock_);
  const tube* const it = seek(name);
  if (it == nullptr || by.most_per_second == 0 || slots_free(*it, by) == 0) return instant::never();
  return it->next_cell - duration::nanoseconds(cell_of(by) * (by.burst - 1));
}

// Claims and their jobs.

tube_limits::claim_plan tube_limits::plan(const std::vector<asked_tube>& tubes, std::uint64_t count, instant now) {
  claim_plan made{.open = {}, .full = {}, .count = count, .slots = {}};
  std::map<std::string, std::uint64_t, std::less<>> planned;
  const lock held(lock_);
  for (const asked_tube& each : tubes) {
    const std::uint64_t free = each.by == nullptr ? any_number : unplanned_of(each.name, *each.by, now);
    (free == 0 ? made.full : made.open).push_back(each.name);
    if (free == 0) continue;
    made.count = std::min(made.count, free);
    if (each.by == nullptr) continue;
    tubes_.try_emplace(each.name);
    planned.emplace(each.name, 0);
  }
  for (auto& [name, slots] : planned) {  // from here on nothing throws
    tube& it = tubes_.find(name)->second;
    slots = made.count;
    it.planned += made.count;
    it.plans += made.count;
  }
  made.slots = planned_slots(*this, std::move(planned));
  return made;
}

void tube_limits::unplan(std::string_view name, std::uint64_t count) noexcept {
  const lock held(lock_);
  const auto found = tubes_.find(name);
  if (found != tubes_.end()) found->second.planned = less(found->second.planned, count);
}

tube_limits::verdict tube_limits::take(const reservation& token, taken_slot what, const tube_policy& by, instant now,
                                       planned_slots* from) {
  const lock held(lock_);
  tube& it = tubes_[what.tube];
  std::uint64_t* planned = nullptr;
  if (from != nullptr) {
    const auto found = from->tubes_.find(what.tube);
    if (found != from->tubes_.end() && found->second != 0) planned = &found->second;
  }
  const std::uint64_t free = planned != nullptr ? free_of(what.tube, by, now) : unplanned_of(what.tube, by, now);
  if (free == 0) return verdict::tube_is_full;
  if (by.most_reserved_of_group != 0 && !what.group.empty()) {
    const auto found = it.groups.find(what.group);
    if (found != it.groups.end() && found->second.reserved.size() >= by.most_reserved_of_group)
      return verdict::group_is_full;
  }
  add_slot(token, std::move(what));
  add_cell(it, by, now);
  if (planned != nullptr) {
    --*planned;
    it.planned = less(it.planned, 1);
  }
  return verdict::taken;
}

void tube_limits::add(const reservation& token, taken_slot what, const tube_policy& by, instant now) {
  const lock held(lock_);
  tube& it = tubes_[what.tube];
  add_slot(token, std::move(what));
  add_cell(it, by, now);
}

void tube_limits::add_earlier(const reservation& token, taken_slot what) {
  const lock held(lock_);
  add_slot(token, std::move(what));
}

void tube_limits::add_slot(const reservation& token, taken_slot what) {
  const auto known = slots_.find(token);
  if (known != slots_.end()) {  // another store has made it, and this one has been asked for it again
    known->second.member = what.member;
    return;
  }
  tube& it = tubes_[what.tube];
  if (!what.group.empty()) it.groups[what.group].reserved.insert(token);
  slots_.emplace(token, std::move(what));
  ++it.reserved;
}

void tube_limits::add_cell(tube& to, const tube_policy& by, instant now) noexcept {
  if (by.most_per_second != 0) to.next_cell = std::max(to.next_cell, now) + duration::nanoseconds(cell_of(by));
}

std::optional<freed_slot> tube_limits::take_out(const reservation& token) {
  const auto found = slots_.find(token);
  if (found == slots_.end()) return std::nullopt;
  freed_slot freed{.was = std::move(found->second)};
  slots_.erase(found);
  tube& it = tubes_.find(freed.was.tube)->second;
  freed.taken_before = slots_taken(it);
  --it.reserved;
  ++it.ends;
  // It may have been one of these, or not: then the next count says so.
  if (it.gone != 0) --it.gone;
  if (freed.was.group.empty()) return freed;
  const auto home = it.groups.find(freed.was.group);
  home->second.reserved.erase(token);
  if (home->second.reserved.empty() && home->second.parked.empty()) it.groups.erase(home);
  return freed;
}

std::optional<freed_slot> tube_limits::remove(const reservation& token) {
  const lock held(lock_);
  std::optional<freed_slot> freed = take_out(token);
  if (freed && !freed->was.group.empty()) freed->next = pop_parked(freed->was.tube, freed->was.group);
  return freed;
}

std::optional<taken_slot> tube_limits::find(const reservation& token) const {
  const lock held(lock_);
  const auto found = slots_.find(token);
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<reservation> tube_limits::some_of(const std::string& name, const std::string& in, std::size_t most) {
  std::vector<reservation> some;
  const lock held(lock_);
  const auto home = tubes_.find(name);
  if (home == tubes_.end()) return some;
  const auto found = home->second.groups.find(in);
  if (found == home->second.groups.end()) return some;
  group& of = found->second;
  const std::size_t count = std::min(most, of.reserved.size());
  for (auto at = of.reserved.upper_bound(of.after); some.size() < count; ++at) {
    if (at == of.reserved.end()) at = of.reserved.begin();
    some.push_back(*at);
    of.after = *at;
  }
  return some;
}

// Those that wait for their group.

std::optional<parked_job> tube_limits::pop_parked(const std::string& name, const std::string& in) {
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
  if (of.reserved.empty() && of.parked.empty()) home->second.groups.erase(found);
  return next;
}

std::optional<parked_job> tube_limits::next_parked(const std::string& name, const std::string& in) {
  const lock held(lock_);
  return pop_parked(name, in);
}

std::optional<parked_job> tube_limits::park(const std::string& name, const std::string& in, parked_job one,
                                            const tube_policy* by) {
  const lock held(lock_);
  group& of = tubes_[name].groups[in];
  const auto known = of.places.find(one.id);
  if (known != of.places.end()) {
    of.parked.at(known->second) = one;  // it keeps its place
  } else if (parked_ < most_parked) {
    of.places.emplace(one.id, ++arrivals_);
    of.parked.emplace(arrivals_, one);
    ++parked_;
  }
  const bool is_full =
      by != nullptr && by->most_reserved_of_group != 0 && of.reserved.size() >= by->most_reserved_of_group;
  return is_full ? std::nullopt : pop_parked(name, in);
}

std::size_t tube_limits::parked(std::string_view name, std::string_view in) const {
  const lock held(lock_);
  const tube* const it = seek(name);
  if (it == nullptr) return 0;
  const auto found = it->groups.find(in);
  return found == it->groups.end() ? 0 : found->second.parked.size();
}

// Counts.

bool tube_limits::wants_count(std::string_view name) const {
  const lock held(lock_);
  const tube* const it = seek(name);
  return it == nullptr || !it->was_counted || it->elsewhere != 0;
}

void tube_limits::note_kept(std::uint32_t member, std::map<std::string, std::uint64_t, std::less<>> tubes) {
  const lock held(lock_);
  kept_.insert_or_assign(member, std::move(tubes));
}

tube_count tube_limits::begin_count(const std::string& name, std::uint32_t member) const {
  tube_count begun{.tube = name};
  const lock held(lock_);
  for (const auto& [which, tubes] : kept_) {
    const auto found = tubes.find(name);
    if (which != member && found != tubes.end()) begun.kept += found->second;
  }
  const tube* const it = seek(name);
  if (it == nullptr) return begun;
  begun.reserved = it->reserved;
  begun.planned = it->planned;
  begun.plans = it->plans;
  begun.ends = it->ends;
  return begun;
}

/// Of the reservations that were known, those of which this store has learnt are not in the count. Others may have
/// ended before the count or behind it; claims of the other stores, and what these keep, may be in it or not.
void tube_limits::note_count(const tube_count& begun, std::uint64_t reserved, std::uint64_t own_plans,
                             std::uint64_t own_ends) {
  const lock held(lock_);
  tube& it = tubes_[begun.tube];
  const std::uint64_t known = less(begun.reserved, own_ends);
  const std::uint64_t under_way = begun.planned + begun.kept + less(less(it.plans, begun.plans), own_plans);
  const std::uint64_t ended = less(less(it.ends, begun.ends), own_ends);
  it.was_counted = true;
  it.counted_in = generation_;
  it.elsewhere = less(reserved, known + under_way);
  it.gone = std::min(less(known, reserved + ended), it.reserved);
}

void tube_limits::note_end_elsewhere() noexcept {
  const lock held(lock_);
  ++generation_;
}

void tube_limits::forget_idle(const policy_table* policies, instant now) {
  const lock held(lock_);
  std::erase_if(tubes_, [&](const auto& each) {
    const tube& it = each.second;
    const tube_policy* const by = policy_in(policies, each.first);
    return it.reserved == 0 && it.planned == 0 && it.groups.empty() && it.next_cell <= now &&
           (by == nullptr || !has_bounds(*by));
  });
}

check_result tube_limits::check(std::uint32_t member, const std::set<reservation>& own) const {
  const lock held(lock_);
  std::map<std::string, std::uint64_t, std::less<>> reserved;
  std::size_t in_groups = 0;
  for (const auto& [token, slot] : slots_) {
    ++reserved[slot.tube];
    in_groups += slot.group.empty() ? 0U : 1U;
    if (slot.member == member && !own.contains(token))
      return std::unexpected("a slot of " + slot.tube + " is taken by a reservation that has ended");
  }
  if (members_ == 1 && slots_.size() != own.size())
    return std::unexpected(std::string("the slots that are taken are not those of the reservations"));
  std::size_t parked = 0;
  for (const auto& [name, it] : tubes_) {
    if (it.gone > it.reserved) return std::unexpected("more jobs of " + name + " have ended than were reserved");
    const auto found = reserved.find(name);
    if (it.reserved != (found == reserved.end() ? 0 : found->second))
      return std::unexpected("the slots of " + name + " are not as many as were counted");
    for (const auto& [in, of] : it.groups) {
      if (of.parked.size() != of.places.size()) return std::unexpected("a job of " + name + " waits twice");
      parked += of.parked.size();
      in_groups = less(in_groups, of.reserved.size());
    }
  }
  if (in_groups != 0) return std::unexpected(std::string("the groups have not the slots of their reservations"));
  if (parked != parked_) return std::unexpected(std::string("the waiting jobs are not as many as were counted"));
  return {};
}

}  // namespace foliot::jobs::detail

// How many jobs of each tube, and of each group of it, are reserved, and when the next one may be: one count for all
// stores of a process that have the same jobs, as the sessions of a server.
//
// A claim takes the slots that it may need before it is executed (plan()), and each job that it brings turns one of
// them into that of its reservation (take()); what is left is given back. So two stores that claim at the same moment
// never have more than there are. Nothing is known of a job's group before the claim has brought it, so a group is
// looked at by take() alone.
//
// A slot is that of a reservation, whichever store has made it, and any store may give it back: a worker may end its
// reservation at another session than the one that it was made at.
//
// Where others share the jobs, as other nodes do, a store counts the reserved jobs of the tube with each claim. Such a
// count is of a moment at which claims and ends of the other stores here were under way, so it is read as what it shows
// at the least (tube_count): at a single node no slot is taken for nobody's, and none is handed out twice.
//
// The rate is a generic cell rate algorithm (ITU-T I.371): `next_cell` is when the tube would be idle again if each
// reservation took its share of a second.
//
// Only tubes with a limit have an entry. O(log tubes + log groups + log parked + log reservations).
//
// Thread safety: any thread. No lock is taken while it holds its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs::detail {

/// A job that was released as its group was full.
struct parked_job {
  job_id id = 0;
  /// How often it had been reserved: so one that was claimed since then is not taken for parked.
  std::uint32_t reserves = 0;
  /// The due time that it was given: so one that a client has given another one is not, either.
  utc_time until{};
};

/// Of so many jobs it is known that they wait for their group. More of them wait for their due time alone.
inline constexpr std::size_t most_parked = 100'000;

/// Whether any bound of the policy needs the reservations to be known.
[[nodiscard]] inline bool has_bounds(const tube_policy& by) noexcept {
  return by.most_reserved != 0 || by.most_reserved_of_group != 0 || by.most_per_second != 0;
}

/// Whether claims are bounded by it.
[[nodiscard]] inline bool has_limits(const tube_policy* by) noexcept {
  return by != nullptr && (by->most_reserved != 0 || by->most_per_second != 0);
}

/// The policy of a tube; null: it has none.
[[nodiscard]] inline const tube_policy* policy_in(const policy_table* policies, std::string_view tube) {
  if (policies == nullptr) return nullptr;
  const auto found = policies->find(tube);
  return found == policies->end() ? nullptr : &found->second;
}

class tube_limits;

/// The slots of a claim under way. Gives back at its end those that were not taken.
class planned_slots {
 public:
  planned_slots() noexcept = default;
  planned_slots(tube_limits& of, std::map<std::string, std::uint64_t, std::less<>> tubes) noexcept
      : limits_(&of), tubes_(std::move(tubes)) {}
  planned_slots(planned_slots&& from) noexcept
      : limits_(std::exchange(from.limits_, nullptr)), tubes_(std::move(from.tubes_)) {}
  planned_slots& operator=(planned_slots&& from) noexcept {
    if (this != &from) {
      give_back();
      limits_ = std::exchange(from.limits_, nullptr);
      tubes_ = std::move(from.tubes_);
    }
    return *this;
  }
  planned_slots(const planned_slots&) = delete;
  planned_slots& operator=(const planned_slots&) = delete;
  ~planned_slots() { give_back(); }

  void give_back() noexcept;

 private:
  friend class tube_limits;

  tube_limits* limits_ = nullptr;
  std::map<std::string, std::uint64_t, std::less<>> tubes_;
};

/// The slot of a reservation.
struct taken_slot {
  std::string tube;
  std::string group;           ///< empty: none
  std::uint32_t reserves = 0;  ///< how often the job had been reserved then
  std::uint32_t member = 0;    ///< the store that has made it
};

/// What the end of a reservation has freed.
struct freed_slot {
  taken_slot was;
  std::uint64_t taken_before = 0;       ///< of the tube, by most_reserved
  std::optional<parked_job> next = {};  ///< of its group: it may go on
};

/// A count of a tube's reserved jobs that is under way: what was known when it was asked for.
struct tube_count {
  std::string tube;
  std::uint64_t reserved = 0;  ///< known here
  std::uint64_t planned = 0;   ///< by claims under way of other stores
  std::uint64_t kept = 0;      ///< by other stores: note_kept()
  // How many there had been so far.
  std::uint64_t plans = 0;
  std::uint64_t ends = 0;
};

class tube_limits {
 public:
  /// More than any bound.
  static constexpr std::uint64_t any_number = std::uint64_t{1} << 40U;

  /// A store that counts here.
  [[nodiscard]] std::uint32_t join() noexcept;
  /// It does no more: its slots are free.
  void leave(std::uint32_t member) noexcept;
  /// Among how many counts like this one the rate of a tube is divided.
  void share(std::uint32_t among) noexcept;

  /// A tube of a claim, and its policy where it has limits; null: it has none.
  struct asked_tube {
    std::string name;
    const tube_policy* by = nullptr;
  };
  /// What a claim may do.
  struct claim_plan {
    std::vector<std::string> open;  ///< the tubes that it may claim from
    std::vector<std::string> full;  ///< the others
    std::uint64_t count = 0;        ///< how many jobs it may bring
    planned_slots slots;            ///< as many of each open tube that has limits
  };
  /// Plans a claim of up to `count` jobs.
  [[nodiscard]] claim_plan plan(const std::vector<asked_tube>& tubes, std::uint64_t count, instant now);

  /// Whether a job may be handed out.
  enum class verdict : std::uint8_t { taken, tube_is_full, group_is_full };
  /// A job that a claim has brought: takes a slot, and its share of the rate, if there is one of its tube and of its
  /// group. `from`: the slots of the claim; null: it had none.
  [[nodiscard]] verdict take(const reservation& token, taken_slot what, const tube_policy& by, instant now,
                             planned_slots* from);
  /// It is reserved whatever the limits say.
  void add(const reservation& token, taken_slot what, const tube_policy& by, instant now);
  /// It was reserved before the tube had a limit: takes a slot, and nothing of the rate.
  void add_earlier(const reservation& token, taken_slot what);
  /// It is reserved no more. Nothing: it had no slot.
  [[nodiscard]] std::optional<freed_slot> remove(const reservation& token);
  /// Its slot.
  [[nodiscard]] std::optional<taken_slot> find(const reservation& token) const;
  /// Some of the reservations of a group, up to `most`: others with each call, if there are more.
  [[nodiscard]] std::vector<reservation> some_of(const std::string& tube, const std::string& group, std::size_t most);

  /// How many more jobs of the tube may be reserved now, with those of which claims under way have the slots.
  [[nodiscard]] std::uint64_t free(std::string_view tube, const tube_policy& by, instant now) const;
  /// How many more a claim may plan.
  [[nodiscard]] std::uint64_t unplanned(std::string_view tube, const tube_policy& by, instant now) const;
  /// When a tube may be claimed from again by its rate; never(): something else keeps it from that, or nothing.
  [[nodiscard]] instant waits_until(std::string_view tube, const tube_policy& by) const;

  /// How many jobs of the group are known to wait.
  [[nodiscard]] std::size_t parked(std::string_view tube, std::string_view group) const;
  /// A job waits for its group: its release has been done. Returns it if the group has become free meanwhile.
  [[nodiscard]] std::optional<parked_job> park(const std::string& tube, const std::string& group, parked_job one,
                                               const tube_policy* by);
  /// The next parked job of the group, as the one before was gone.
  [[nodiscard]] std::optional<parked_job> next_parked(const std::string& tube, const std::string& group);

  /// Whether a count of the tube's reserved jobs is needed: nobody has counted those that were made elsewhere, or
  /// there were some.
  [[nodiscard]] bool wants_count(std::string_view tube) const;
  /// How many reservations of which tubes a store keeps that no client has: they are in counts, and take no slot.
  void note_kept(std::uint32_t member, std::map<std::string, std::uint64_t, std::less<>> tubes);
  /// A count of this tube is asked for, by a store that has no claim under way.
  [[nodiscard]] tube_count begin_count(const std::string& tube, std::uint32_t member) const;
  /// It has shown so many, without those that the store itself keeps. `own_plans` and `own_ends`: slots that the same
  /// store has planned since then, and those of reservations of which it has learnt since then that they had ended
  /// before the count.
  void note_count(const tube_count& begun, std::uint64_t reserved, std::uint64_t own_plans, std::uint64_t own_ends);
  /// A reservation that was made elsewhere has ended, so no count is true any more.
  void note_end_elsewhere() noexcept;

  /// Forgets the tubes that have no bounds any more and of which nothing is known. O(tubes).
  void forget_idle(const policy_table* policies, instant now);
  /// Whether all numbers are those of the slots, and those of this member are among these reservations. Of a single
  /// member they are all of them.
  [[nodiscard]] check_result check(std::uint32_t member, const std::set<reservation>& held) const;

 private:
  friend class planned_slots;

  struct group {
    std::set<reservation> reserved;
    reservation after{};                         ///< the last one that some_of() has given
    std::map<std::uint64_t, parked_job> parked;  ///< in the order in which they came
    std::map<job_id, std::uint64_t> places;      ///< where each is
  };
  struct tube {
    std::uint64_t reserved = 0;
    std::uint64_t planned = 0;
    std::uint64_t plans = 0;  ///< so far
    std::uint64_t ends = 0;   ///< so far
    // As the last count says, which was made in this generation.
    std::uint64_t elsewhere = 0;
    std::uint64_t gone = 0;  ///< of `reserved`: those that have ended elsewhere
    std::uint64_t counted_in = 0;
    bool was_counted = false;
    instant next_cell = instant::earliest();
    std::map<std::string, group, std::less<>> groups;
  };

  [[nodiscard]] const tube* seek(std::string_view name) const FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::int64_t cell_of(const tube_policy& by) const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t cells_free(const tube& it, const tube_policy& by, instant now) const noexcept
      FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t slots_taken(const tube& it) const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t slots_free(const tube& it, const tube_policy& by) const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t free_of(std::string_view name, const tube_policy& by, instant now) const
      FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t unplanned_of(std::string_view name, const tube_policy& by, instant now) const
      FOLIOT_REQUIRES(lock_);
  void add_slot(const reservation& token, taken_slot what) FOLIOT_REQUIRES(lock_);
  void add_cell(tube& to, const tube_policy& by, instant now) noexcept FOLIOT_REQUIRES(lock_);
  /// Takes it out; nothing: it is not here.
  [[nodiscard]] std::optional<freed_slot> take_out(const reservation& token) FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::optional<parked_job> pop_parked(const std::string& tube, const std::string& group)
      FOLIOT_REQUIRES(lock_);
  void unplan(std::string_view tube, std::uint64_t count) noexcept;

  mutable mutex lock_{lock_rank::object};
  std::map<std::string, tube, std::less<>> tubes_ FOLIOT_GUARDED_BY(lock_);
  std::map<reservation, taken_slot> slots_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::uint32_t, std::map<std::string, std::uint64_t, std::less<>>> kept_ FOLIOT_GUARDED_BY(lock_);
  std::size_t parked_ FOLIOT_GUARDED_BY(lock_) = 0;  ///< of all groups
  std::uint64_t arrivals_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::uint64_t generation_ FOLIOT_GUARDED_BY(lock_) = 0;  ///< rises with each end elsewhere
  std::uint32_t among_ FOLIOT_GUARDED_BY(lock_) = 1;
  std::uint32_t joined_ FOLIOT_GUARDED_BY(lock_) = 0;   ///< so far
  std::uint32_t members_ FOLIOT_GUARDED_BY(lock_) = 0;  ///< now
};

}  // namespace foliot::jobs::detail

// How many jobs of each tube, and of each group of it, are reserved, and when the next one may be.
//
// A tube that has no free slot is left out of claims; a claim that was so held back must be repeated once there is one.
// The broker repeats a claim of a tube that a batch names as ready, so the tube is named then, and only then: else a
// full tube would be claimed from without end.
//
// The rate is a generic cell rate algorithm (ITU-T I.371): `next_cell` is when the tube would be idle again if each
// reservation took its share of a second.
//
// Only tubes with a limit have an entry. Those that were held back are looked at with each batch: O(n log tubes) of
// them, each of which some client has wanted. All else is O(log tubes + log groups + log parked).
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
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

class tube_limits {
 public:
  /// Whether a tube is full for another reason than its limits.
  using full_tubes = std::function<bool(const std::string&)>;

  /// More than any bound.
  static constexpr std::uint64_t any_number = std::uint64_t{1} << 40U;

  /// Among how many the rate of a tube is divided.
  void share(std::uint32_t among) noexcept;

  /// A job of this tube and group is reserved from now on: takes a slot, and its share of the rate.
  void add(const std::string& tube, const std::string& group, const tube_policy& by, instant now);
  /// It was reserved before the tube had a limit: takes a slot.
  void add_earlier(const std::string& tube, const std::string& group);
  /// It is reserved no more. Returns the next parked job of its group, which may go on.
  [[nodiscard]] std::optional<parked_job> remove(const std::string& tube, const std::string& group);

  /// How many more jobs of the tube may be reserved now.
  [[nodiscard]] std::uint64_t free(std::string_view tube, const tube_policy& by, instant now) const;
  /// Whether most_reserved leaves a slot.
  [[nodiscard]] bool has_slot(std::string_view tube, const tube_policy& by) const;
  /// Whether another job of this group may be.
  [[nodiscard]] bool has_free(std::string_view tube, const std::string& group, const tube_policy& by) const;
  /// How many are reserved here.
  [[nodiscard]] std::uint64_t reserved(std::string_view tube) const;

  /// How many jobs of the group are known to wait.
  [[nodiscard]] std::size_t parked(std::string_view tube, std::string_view group) const;

  /// Whether a count of the tube's reserved jobs is needed: nobody has counted those that were made elsewhere, or
  /// there were some.
  [[nodiscard]] bool wants_count(std::string_view tube) const;
  /// So many were reserved of the tube in all. Fewer than are known here: some have ended elsewhere.
  void note_count(const std::string& tube, std::uint64_t reserved);

  /// A reservation that was made elsewhere has ended, so no count is true any more.
  void note_end_elsewhere() noexcept { ++generation_; }

  /// A job waits for its group: its release has been done. Returns it if the group has become free meanwhile.
  [[nodiscard]] std::optional<parked_job> park(const std::string& tube, const std::string& group, parked_job one,
                                               const tube_policy* by);
  /// The next parked job of the group, as the one before was gone.
  [[nodiscard]] std::optional<parked_job> next_parked(const std::string& tube, const std::string& group);

  /// A claim did not get what the tube may have.
  void hold_back(const std::string& tube);
  /// A claim has found the tube empty.
  void note_empty(std::string_view tube) noexcept;
  /// The tubes that were held back and have free slots, but for those that are full otherwise: each once; they are held
  /// back no more.
  [[nodiscard]] std::vector<std::string> take_freed(const policy_table* policies, instant now,
                                                    const full_tubes& is_full);
  /// When a tube that was held back has a slot by its rate; never(): none has.
  [[nodiscard]] instant next(const policy_table* policies, const full_tubes& is_full) const;

  /// Forgets the tubes that have no bounds any more and of which nothing is known. O(tubes).
  void forget_idle(const policy_table* policies, instant now);
  /// Whether these are the reservations that there are: of each tube and group.
  [[nodiscard]] check_result check(const std::map<std::pair<std::string, std::string>, std::uint64_t>& held) const;

 private:
  struct group {
    std::uint64_t reserved = 0;
    std::map<std::uint64_t, parked_job> parked;  ///< in the order in which they came
    std::map<job_id, std::uint64_t> places;      ///< where each is
  };
  struct tube {
    std::uint64_t reserved = 0;
    // As the last count says, which was made in this generation.
    std::uint64_t elsewhere = 0;
    std::uint64_t gone = 0;  ///< of `reserved`: those that have ended elsewhere
    std::uint64_t counted_in = 0;
    bool was_counted = false;
    instant next_cell = instant::earliest();
    std::map<std::string, group, std::less<>> groups;
  };

  [[nodiscard]] const tube* find(std::string_view name) const;
  [[nodiscard]] std::int64_t cell_of(const tube_policy& by) const noexcept;
  [[nodiscard]] std::uint64_t cells_free(const tube& it, const tube_policy& by, instant now) const noexcept;
  [[nodiscard]] std::uint64_t slots_free(const tube& it, const tube_policy& by) const noexcept;

  std::map<std::string, tube, std::less<>> tubes_;
  std::set<std::string, std::less<>> held_back_;
  std::size_t parked_ = 0;  ///< of all groups
  std::uint64_t arrivals_ = 0;
  std::uint64_t generation_ = 0;  ///< rises with each end elsewhere
  std::uint32_t among_ = 1;
};

}  // namespace foliot::jobs::detail

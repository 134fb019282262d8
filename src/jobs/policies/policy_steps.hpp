// What a policy_store has to do with the next batches: the steps, in the order of their times, and then of their
// arrivals.
//
// A step stays until an answer to it is there. One that the store refuses for a moment is tried again after
// retry_steps_after; a move, which brings a job's body along, later with each time, up to 32 times as long. Each may be
// executed twice, because the answer to a batch may be lost: the second one finds that its reservation has ended.
//
// A tube is full while it has most_kept_steps, or most_kept_bytes of jobs are kept for them; and while
// most_kept_bytes_in_all are kept of all tubes, each tube is that has some. A full tube is not claimed from, so the
// steps do not become more without a bound. One claim may exceed these numbers by what it brings.
//
// Invariants: a job has one step with a reservation at most, but for those of the batch that is being executed; the
// numbers of a tube are the sums over its steps.
// Thread safety: none. O(log n) for each step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "held_by_policy.hpp"
#include "policy_rules.hpp"
#include "tube_limits.hpp"

namespace foliot::jobs::detail {

/// How long a step waits that the store has refused.
inline constexpr duration retry_steps_after{std::chrono::milliseconds(250)};
inline constexpr std::uint64_t most_kept_steps = 1024;
inline constexpr std::uint64_t most_kept_bytes = std::uint64_t{8} << 20U;
inline constexpr std::uint64_t most_kept_bytes_in_all = std::uint64_t{64} << 20U;

/// One operation that policies want.
struct policy_step {
  /// What it is for.
  enum class kind : std::uint8_t {
    give_back,  ///< ends `token`, as `why` says
    park,       ///< the same, as its group is full
    move,       ///< puts the job of `token` into the dead letters
    look,       ///< claims a job, to judge it
    unpark,     ///< makes a parked job ready
    expire,     ///< cancels a job that nobody has claimed
    check,      ///< looks whether a reservation that was handed out has ended elsewhere
  };
  kind what = kind::give_back;
  operation asks;
  /// The reservation that is kept for it; none: its id is 0.
  reservation token{};
  fate why = fate::handed_out;
  std::string tube = {};  ///< that of the job
  /// Of `look`: what was known of the job at the claim before. Of `move`: its history and its tries.
  std::optional<held_job> known = std::nullopt;
  /// Of a parked job: its group, and what is known of it.
  std::string group = {};
  parked_job parked = {};
  /// Of a job that was claimed: how many TTRs of it had ended then.
  std::uint32_t timeouts = 0;
  /// Of `check`: the reservation, which a client has.
  reservation of{};
  instant not_before = instant::earliest();
  // Of policy_steps.
  std::uint64_t arrival = 0;
  std::uint64_t bytes = 0;
  std::uint32_t refusals = 0;
  bool is_asked = false;  ///< in the batch that is being executed
};

class policy_steps {
 public:
  /// One with a reservation replaces the step of an earlier reservation of the same job, which must have ended.
  void add(policy_step one);
  /// The first ones that may be done now, up to `most`, in their order. They stay here, until take() or postpone().
  [[nodiscard]] std::vector<policy_step*> due(instant now, std::size_t most);
  /// Takes one of these out.
  [[nodiscard]] policy_step take(policy_step& one);
  /// Tries it again later.
  void postpone(policy_step& one, instant now);
  /// The same, without having been refused: at this time.
  void defer(policy_step& one, instant when);
  /// The step for which a reservation is kept; null: none is. Valid until the next call that changes something.
  [[nodiscard]] const policy_step* of(const reservation& token) const;
  [[nodiscard]] bool has(const reservation& token) const { return of(token) != nullptr; }
  /// Takes the step out for which this reservation was kept: it is not being executed.
  void drop(const reservation& token);
  /// When the next one may be done; never(): there is none.
  [[nodiscard]] instant next() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  /// How many reservations of this tube are kept.
  [[nodiscard]] std::uint64_t kept_of(std::string_view tube) const noexcept;
  /// The same of each tube of which some are.
  template <class Visit>
  void for_each_kept(Visit visit) const {
    for (const auto& [tube, of] : tubes_) {
      if (of.tokens != 0) visit(tube, of.tokens);
    }
  }
  /// Whether so much is to be done for this tube that no more of it may be claimed.
  [[nodiscard]] bool is_full(std::string_view tube) const noexcept;
  /// Whether so many reservations of it are kept, or so much of them, that not even a look may claim one more.
  [[nodiscard]] bool keeps_much(std::string_view tube) const noexcept;
  /// Whether the numbers are the sums. O(n log n).
  [[nodiscard]] bool is_sound() const;

 private:
  using place = std::pair<instant, std::uint64_t>;
  struct sums {
    std::uint64_t steps = 0;
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;  ///< of the steps with a reservation

    friend bool operator==(const sums&, const sums&) = default;
  };

  std::map<place, policy_step> steps_;
  std::map<reservation, place> tokens_;
  std::map<std::string, sums, std::less<>> tubes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t arrivals_ = 0;
};

}  // namespace foliot::jobs::detail

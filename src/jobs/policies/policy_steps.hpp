// What a policy_store has to do with the next batches: the steps, in the order in which they came.
//
// A step stays until an answer to it is there. One that the store refuses for a moment is tried again after
// retry_steps_after. Each may be executed twice, because the answer to a batch may be lost: the second one finds that
// its reservation has ended.
//
// Thread safety: none. O(n) but for add(), which is O(1), and has(), which is O(log n).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
  };
  kind what = kind::give_back;
  operation asks;
  /// The reservation that is kept for it; none: its id is 0.
  reservation token{};
  fate why = fate::handed_out;
  std::string tube = {};  ///< that of the job
  /// Of `look`: what was known of the job at the claim before. Of `move`: its history and its tries.
  std::optional<held_job> known = std::nullopt;
  /// Of a parked job: its group, and since when it waits.
  std::string group = {};
  parked_job parked = {};
  utc_time since{};
  instant not_before = instant::earliest();
};

class policy_steps {
 public:
  void add(policy_step one);
  /// The first ones that may be done now, up to `most`, in their order. They stay here.
  [[nodiscard]] std::vector<policy_step*> due(instant now, std::size_t most);
  /// Takes one of these out.
  [[nodiscard]] policy_step take(policy_step& one);
  /// Tries it again later.
  static void postpone(policy_step& one, instant now) { one.not_before = now + retry_steps_after; }
  /// Whether a reservation is kept for a step.
  [[nodiscard]] bool has(const reservation& token) const { return tokens_.contains(token); }
  /// When the next one may be done; never(): there is none.
  [[nodiscard]] instant next() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  /// How many reservations of this tube are kept.
  [[nodiscard]] std::uint64_t kept_of(std::string_view tube) const noexcept;

 private:
  std::list<policy_step> steps_;
  std::set<reservation> tokens_;
};

}  // namespace foliot::jobs::detail

// The reservations that a policy_store has handed out while there were policies: what their ends need to know.
//
// A reservation whose end nobody tells, as the answer to it was lost or another node was asked to end it, is untold
// some seconds behind its TTR.
//
// Invariants: each token is in the order of the ends once.
// Thread safety: none. O(log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_tries.hpp>

#include "policy_rules.hpp"

namespace foliot::jobs::detail {

/// A reservation.
struct held_job {
  std::string tube;
  std::string group;  ///< empty: none
  // Where the tube had a policy.
  job_fields history;
  reckoned_tries of;
  bool is_plain = false;       ///< it had none
  bool has_slot = false;       ///< it counts for the limits of its tube
  std::uint32_t reserves = 0;  ///< how often the job had been reserved then
};

class held_by_policy {
 public:
  /// `until`: the end of its TTR.
  void add(const reservation& token, held_job it, instant until);
  [[nodiscard]] const held_job* find(const reservation& token) const;
  /// Takes it out; nothing: it is not here.
  [[nodiscard]] std::optional<held_job> take(const reservation& token);
  /// Its TTR has begun again.
  void extend(const reservation& token, instant until);
  /// Those whose ends nobody has told, up to `most`.
  [[nodiscard]] std::vector<reservation> untold(instant now, std::size_t most) const;
  /// It takes a slot from now on.
  void take_slot(const reservation& token);
  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [token, it] : held_) visit(token, it.job);
  }
  [[nodiscard]] bool is_sound() const;

 private:
  struct entry {
    held_job job;
    instant until;
  };
  std::map<reservation, entry> held_;
  std::set<std::pair<instant, reservation>> ends_;
};

}  // namespace foliot::jobs::detail

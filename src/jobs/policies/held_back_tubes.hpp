// The tubes of which a store has held claims back, as they were full: each must be claimed from again once it is not.
//
// The broker repeats a claim of a tube that a batch names as ready, so the tube is named then, and only then: else a
// full tube would be claimed from without end. A tube of which only the claims under way of other stores have the slots
// is looked at again after `claim_lasts`, as they may bring nothing.
//
// Those that were held back are looked at with each batch: O(n log tubes) of them, each of which some client has
// wanted.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/tube_policy.hpp>

#include "tube_limits.hpp"

namespace foliot::jobs::detail {

/// How long a claim of another store may take.
inline constexpr duration claim_lasts{std::chrono::milliseconds(5)};

class held_back_tubes {
 public:
  /// Whether a tube is full for another reason than its limits.
  using full_tubes = std::function<bool(const std::string&)>;

  /// A claim did not get what the tube may have.
  void add(const std::string& tube, const tube_policy* by, const tube_limits& limits, instant now);
  /// A claim has found the tube empty.
  void note_empty(std::string_view tube) noexcept;
  /// The tubes that have free slots, but for those that are full otherwise: each once; they are held back no more.
  [[nodiscard]] std::vector<std::string> take_freed(const tube_limits& limits, const policy_table* policies,
                                                    instant now, const full_tubes& is_full);
  /// When one of them must be looked at; never(): none.
  [[nodiscard]] instant next(const tube_limits& limits, const policy_table* policies, const full_tubes& is_full) const;

 private:
  /// By names, when they are looked at again as the slots are those of claims under way; never(): they are not.
  std::map<std::string, instant, std::less<>> tubes_;
};

}  // namespace foliot::jobs::detail

// The operations that happen once, in memory: what a store answers when one of them is sent again (once.hpp).
//
// A record is found until the wall clock shows its end, and not from that millisecond on, whether it is still here or
// not. Those that have ended are removed in bounded turns: at most most_removed in one batch, and once these are gone
// none for removal_pause, so that a store on which nothing else happens is not woken for each of them.
//
// Invariants, which check() proves:
//   1. Each record is listed once in the order of the ends, and nothing else is.
//   2. bytes() is the sum of bytes_of() over the results.
//
// Thread safety: none. O(log n) for each record.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/once.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

/// What such an operation has brought: a put, a put_all, or a claim, of which its reservations are kept.
using once_result = std::variant<put_answer, std::vector<put_answer>, std::vector<reservation>>;

/// An operation that has happened.
struct once_record {
  sha256 request{};
  utc_time end{};
  once_result result;
};

/// How a store answers an operation whose result is of this type: `result` again, if there is one, or that the key is
/// that of another request; or it executes the operation.
template <class Result>
struct once_answer {
  const Result* result = nullptr;
  bool is_other = false;
};

/// The answer by the record of the operation's key, or by none. `what` must not be empty.
template <class Result>
[[nodiscard]] once_answer<Result> answer_by(const once_record* known, const once& what) noexcept {
  if (known == nullptr) return {};
  const Result* const result = std::get_if<Result>(&known->result);
  if (result == nullptr || known->request != what.request()) return {nullptr, true};
  return {result, false};
}

/// The end of a record: the lifetime is counted from the next millisecond on, so that it is not a fraction too short.
[[nodiscard]] inline utc_time end_of(const once& what, std::chrono::sys_time<std::chrono::nanoseconds> now) noexcept {
  return std::chrono::ceil<milliseconds>(now) + what.lifetime();
}

/// When ended records are removed.
class removal_turns {
 public:
  /// As many as a broker has operations of its tasks in one batch. What is left over follows with the next one.
  static constexpr std::size_t most_removed = 1024;
  static constexpr milliseconds removal_pause{1000};

  /// Whether to remove those that have ended. `first_end` is that of the first record.
  [[nodiscard]] bool is_due(utc_time first_end, utc_time now) noexcept {
    not_before_ = std::min(not_before_, now + removal_pause);  // the clock may have been set back
    return first_end <= now && not_before_ <= now;
  }
  /// So many were removed.
  void note(std::size_t removed, utc_time now) noexcept {
    if (removed < most_removed) not_before_ = now + removal_pause;
  }
  /// When to remove some at the latest.
  [[nodiscard]] utc_time next(utc_time first_end) const noexcept { return std::max(first_end, not_before_); }

 private:
  utc_time not_before_{};
};

class FOLIOT_EXPORT once_table {
 public:
  /// The record of this key, if it has not ended; else null. Valid until the next change.
  [[nodiscard]] const once_record* find(const sha256& key, utc_time now) const noexcept;
  /// Adds the record of a key of which find() has found none.
  void add(const sha256& key, once_record what);
  /// One turn.
  void remove_ended(utc_time now) noexcept {
    if (!ends_.empty()) [[unlikely]]
      remove_turn(now);
  }
  /// When the next turn is due; the greatest utc_time: no record is left.
  [[nodiscard]] utc_time next_removal() const noexcept {
    return ends_.empty() ? utc_time::max() : turns_.next(ends_.begin()->first);
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// About what the record of a result takes.
  [[nodiscard]] static std::uint64_t bytes_of(const once_result& result) noexcept {
    return std::visit(
        []<class Result>(const Result& it) -> std::uint64_t {
          if constexpr (std::is_same_v<Result, put_answer>)
            return memory_store::once_overhead;
          else
            return memory_store::once_overhead + it.size() * sizeof(typename Result::value_type);
        },
        result);
  }
  [[nodiscard]] check_result check() const;

 private:
  /// The keys are digests already.
  struct first_bytes {
    std::size_t operator()(const sha256& key) const noexcept {
      std::size_t bytes = 0;
      std::memcpy(&bytes, key.data(), sizeof bytes);
      return bytes;
    }
  };
  using records = std::unordered_map<sha256, once_record, first_bytes>;
  void remove_turn(utc_time now) noexcept;
  void erase(records::iterator it) noexcept;

  records all_;
  std::set<std::pair<utc_time, sha256>> ends_;
  std::uint64_t bytes_ = 0;
  removal_turns turns_;
};

}  // namespace foliot::jobs::detail

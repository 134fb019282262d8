// What a task waits for, for reports (task_report.hpp) and for the message of a deadlock.
//
// It is that of the innermost wait, also one inside of foliot: a task in resolve() waits for a blocking call. Awaiters
// and operations of foliot say it by a function kind(); those that have none, and the awaiters of other libraries,
// count as `other`. Of a select, the kinds of its cases are known as well.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <foliot/core/language.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// What a task waits for.
enum class wait_kind : std::uint8_t {
  other,       ///< none of the others: the awaiter of another library, say
  receive,     ///< a value from a channel
  send,        ///< a receiver, or room in a channel
  select,      ///< one of several cases; none: a stop
  sleep,       ///< the end of a sleep
  timer,       ///< the instant of a timer or a ticker, or after() and at()
  callback,    ///< the end of a timer's callback
  mutex,       ///< a task_mutex, also after a task_condition
  condition,   ///< a task_condition
  wait_group,  ///< the members of a wait_group
  semaphore,   ///< a task_semaphore
  task,        ///< the end of another task
  blocking,    ///< a function on a thread for blocking()
  executor,    ///< a function on another executor, by call_on()
  read,        ///< a descriptor that can be read, or accepts
  write,       ///< a descriptor that can be written, or has connected
  signal,      ///< a signal of the process
  context,     ///< the end of a context
};
/// The enumerator's name: "receive", "wait_group". A value that none has gives "other".
[[nodiscard]] FOLIOT_EXPORT std::string_view to_string(wait_kind kind) noexcept;

/// A set of kinds.
class wait_kinds {
 public:
  /// None.
  constexpr wait_kinds() noexcept = default;

  /// Makes it contain that kind.
  constexpr void add(wait_kind one) noexcept { bits_ |= bit_of(one); }
  /// Whether it contains that kind.
  [[nodiscard]] constexpr bool contains(wait_kind one) const noexcept { return (bits_ & bit_of(one)) != 0; }
  /// Whether it contains none.
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  /// A number for each set.
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }

  friend constexpr auto operator<=>(wait_kinds, wait_kinds) noexcept = default;

 private:
  static constexpr std::uint32_t bit_of(wait_kind one) noexcept {
    return std::uint32_t{1} << (static_cast<unsigned>(one) % 32);
  }

  std::uint32_t bits_ = 0;
};

/// What a task waits for: a kind, and if it is a select, the kinds of its cases.
class wait_reason {
 public:
  /// That kind, and the cases of a select.
  constexpr wait_reason(wait_kind what = wait_kind::other, wait_kinds of_cases = {}) noexcept  // NOLINT
      : kind_(what), cases_(of_cases) {}

  /// The kind.
  [[nodiscard]] constexpr wait_kind kind() const noexcept { return kind_; }
  /// Empty unless kind() is wait_kind::select.
  [[nodiscard]] constexpr wait_kinds cases() const noexcept { return cases_; }

  friend constexpr auto operator<=>(const wait_reason&, const wait_reason&) noexcept = default;

 private:
  wait_kind kind_;
  wait_kinds cases_;
};
/// "receive"; "select(receive,timer)". Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string to_string(const wait_reason& reason);

}  // namespace foliot::runtime

namespace foliot {
using runtime::wait_kind;
using runtime::wait_kinds;
using runtime::wait_reason;
}  // namespace foliot

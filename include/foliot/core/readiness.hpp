// The readiness of a file descriptor, and which changes of it a caller wants to be told. The terms are epoll's.
//
//   if (has(now, readiness::readable)) …
//   interest{readiness::readable | readiness::writable, trigger::edge}
//
// Plain values.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>

namespace foliot::inline core {

/// A set of the following flags.
enum class readiness : std::uint8_t {
  none = 0,
  readable = 1,     ///< a read does not block: data, a connection to accept, or the end of the stream
  writable = 2,     ///< a write does not block
  peer_closed = 4,  ///< the peer has shut down writing; reported only if the interest contains it
  hung_up = 8,      ///< both directions are closed; reported for every interest but `none`
  failed = 16,      ///< an error is to be read; reported for every interest but `none`
};

/// The flags of both operands together.
[[nodiscard]] constexpr readiness operator|(readiness a, readiness b) noexcept {
  return static_cast<readiness>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
/// The flags that both operands have.
[[nodiscard]] constexpr readiness operator&(readiness a, readiness b) noexcept {
  return static_cast<readiness>(static_cast<std::uint8_t>(a) & static_cast<std::uint8_t>(b));
}
/// Whether `ready` contains any flag of `these`.
[[nodiscard]] constexpr bool has(readiness ready, readiness these) noexcept {
  return (ready & these) != readiness::none;
}

/// When readiness is reported.
enum class trigger : std::uint8_t {
  level,  ///< in every wait, as long as the descriptor is ready
  edge,   ///< once each time the descriptor becomes ready: the reader must read, or write, until the call would block
};

/// Which readiness of a descriptor is reported, and when. An interest in `none` reports nothing, not even hung_up.
class interest {
 public:
  /// Converts from readiness, so that readiness::readable stands for a level-triggered interest in it.
  constexpr interest(readiness in, trigger told = trigger::level) noexcept  // NOLINT(google-explicit-constructor)
      : in_(in), told_(told) {}

  /// The flags that are asked for.
  [[nodiscard]] constexpr readiness in() const noexcept { return in_; }
  /// When they are reported.
  [[nodiscard]] constexpr trigger told() const noexcept { return told_; }
  /// All flags that may be reported for this interest.
  [[nodiscard]] constexpr readiness may_be_told() const noexcept {
    return in_ == readiness::none ? in_ : in_ | readiness::hung_up | readiness::failed;
  }

  friend constexpr bool operator==(const interest&, const interest&) noexcept = default;

 private:
  readiness in_;
  trigger told_;
};

}  // namespace foliot::inline core

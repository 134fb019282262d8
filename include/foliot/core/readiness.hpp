// What a file descriptor is ready for, and what somebody wants to hear of it.
//
//   if (has(now, readiness::readable)) …
//   interest{readiness::readable | readiness::writable, trigger::edge}
//
// The words are epoll's. Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>

namespace foliot::inline core {

/// A set of these.
enum class readiness : std::uint8_t {
  none = 0,
  readable = 1,     ///< a read does not block: data, a connection to accept, or the end of the stream
  writable = 2,     ///< a write does not block
  peer_closed = 4,  ///< the other side writes no more; only told to who asks for it
  hung_up = 8,      ///< both sides are closed; always told
  failed = 16,      ///< an error waits to be read; always told
};

[[nodiscard]] constexpr readiness operator|(readiness a, readiness b) noexcept {
  return static_cast<readiness>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
[[nodiscard]] constexpr readiness operator&(readiness a, readiness b) noexcept {
  return static_cast<readiness>(static_cast<std::uint8_t>(a) & static_cast<std::uint8_t>(b));
}
/// Whether any of `these` is among what is ready.
[[nodiscard]] constexpr bool has(readiness ready, readiness these) noexcept {
  return (ready & these) != readiness::none;
}

/// When it is told.
enum class trigger : std::uint8_t {
  level,  ///< again and again, while it is so
  edge,   ///< once for each time that it becomes so: use the descriptor up until it would block
};

/// What somebody wants to hear of a descriptor. `none`: nothing for now, not even that it has hung up.
class interest {
 public:
  constexpr interest(readiness in, trigger told = trigger::level) noexcept  // NOLINT(google-explicit-constructor)
      : in_(in), told_(told) {}

  [[nodiscard]] constexpr readiness in() const noexcept { return in_; }
  [[nodiscard]] constexpr trigger told() const noexcept { return told_; }
  /// What may be told to who has this interest.
  [[nodiscard]] constexpr readiness may_be_told() const noexcept {
    return in_ == readiness::none ? in_ : in_ | readiness::hung_up | readiness::failed;
  }

  friend constexpr bool operator==(const interest&, const interest&) noexcept = default;

 private:
  readiness in_;
  trigger told_;
};

}  // namespace foliot::inline core

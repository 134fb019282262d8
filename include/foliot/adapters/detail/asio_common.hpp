// The parts of asio_timer and boost_asio_timer that do not depend on which of the two libraries it is, and all headers
// that both need besides those of their library.
//
// Thread safety: constants and pure functions.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <ratio>
#include <type_traits>
#include <utility>

#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>

namespace foliot::detail {

/// The standard library's name for CLOCK_MONOTONIC, which programs with Asio use. foliot reads the same clock by its
/// own monotonic_clock.
using asio_clock = std::chrono::steady_clock;  // tidy: allow(seam-clock) a name in Asio's interface
static_assert(std::ratio_equal_v<asio_clock::period, std::nano>);

inline instant to_instant(asio_clock::time_point t) noexcept {
  return instant::from_nanoseconds(t.time_since_epoch().count());
}
inline asio_clock::time_point to_time_point(instant t) noexcept {
  return asio_clock::time_point(asio_clock::duration(t.nanoseconds()));
}

/// Which waits of a timer a cancel ends.
enum class cancelled_waits : unsigned char { all, oldest };

}  // namespace foliot::detail

// The queues of wheel_shapes_test: wheels of many ticks and sizes, most of them chosen at run time, a few at compile
// time.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>

#include "kind_of.hpp"

namespace foliot::conformance {
namespace {

/// A text that is a part of a type.
template <std::size_t Length>
struct label {
  constexpr label(const char (&from)[Length]) { std::ranges::copy(from, text); }  // NOLINT(google-explicit-constructor)
  char text[Length]{};
};

/// Chosen at run time, and known to the suite at compile time.
template <class Wheel, label Name, std::int64_t TickNanoseconds, std::size_t Slots>
class chosen : public Wheel {
 public:
  static constexpr std::string_view name{Name.text};
  static constexpr duration precision = duration::nanoseconds(TickNanoseconds);
  static constexpr duration lateness_of(duration /*timeout*/) noexcept { return precision; }
  chosen() : Wheel(wheel_shape{.tick = precision, .slots = Slots}) {}
};

/// A fixed shape, by a name of its own.
template <class Wheel, label Name>
class fixed : public Wheel {
 public:
  static constexpr std::string_view name{Name.text};
};

template <label Name, std::int64_t Tick, std::size_t Slots>
using hashed = chosen<chosen_hashed_wheel, Name, Tick, Slots>;
template <label Name, std::int64_t Tick, std::size_t Slots>
using levels = chosen<chosen_hierarchical_wheel, Name, Tick, Slots>;

constexpr std::int64_t one_ns = 1;
constexpr std::int64_t one_ms = 1'000'000;
constexpr std::int64_t one_s = 1'000'000'000;

constexpr std::array wheel_shapes{
    kind_of<hashed<"hashed-1ns-1", one_ns, 1>>,
    kind_of<hashed<"hashed-1ns-2", one_ns, 2>>,
    kind_of<hashed<"hashed-1ns-20", one_ns, 20>>,
    kind_of<hashed<"hashed-1ns-512", one_ns, 512>>,
    kind_of<hashed<"hashed-10ms-1", 10 * one_ms, 1>>,
    kind_of<hashed<"hashed-10ms-2", 10 * one_ms, 2>>,
    kind_of<hashed<"hashed-10ms-20", 10 * one_ms, 20>>,
    kind_of<hashed<"hashed-10ms-512", 10 * one_ms, 512>>,
    kind_of<hashed<"hashed-1s-1", one_s, 1>>,
    kind_of<hashed<"hashed-1s-2", one_s, 2>>,
    kind_of<hashed<"hashed-1s-20", one_s, 20>>,
    kind_of<hashed<"hashed-1s-512", one_s, 512>>,
    kind_of<levels<"levels-1ns-1", one_ns, 1>>,
    kind_of<levels<"levels-1ns-2", one_ns, 2>>,
    kind_of<levels<"levels-1ns-20", one_ns, 20>>,
    kind_of<levels<"levels-1ns-512", one_ns, 512>>,
    kind_of<levels<"levels-10ms-1", 10 * one_ms, 1>>,
    kind_of<levels<"levels-10ms-2", 10 * one_ms, 2>>,
    kind_of<levels<"levels-10ms-20", 10 * one_ms, 20>>,
    kind_of<levels<"levels-10ms-512", 10 * one_ms, 512>>,
    kind_of<levels<"levels-1s-1", one_s, 1>>,
    kind_of<levels<"levels-1s-2", one_s, 2>>,
    kind_of<levels<"levels-1s-20", one_s, 20>>,
    kind_of<levels<"levels-1s-512", one_s, 512>>,
    kind_of<fixed<basic_hashed_wheel<fixed_wheel<10 * one_ms, 20>>, "hashed-fixed-10ms-20">>,
    kind_of<fixed<basic_cascading_wheel<fixed_wheel<5 * one_ns, 64>>, "levels-fixed-5ns-64">>,
    kind_of<fixed<basic_cascading_wheel<fixed_wheel<one_ms, 100>>, "levels-fixed-1ms-100">>};

}  // namespace

std::span<const queue_kind> tested_queues() { return wheel_shapes; }

}  // namespace foliot::conformance

// The lists of queues, as the suite and the fuzzer take them.
#include "all_queues.hpp"

#include <array>
#include <span>

#include "kind_of.hpp"

namespace foliot::conformance {
namespace {

template <class... Queues>
constexpr auto kinds_of(::testing::Types<Queues...>) {
  return std::array{kind_of<Queues>...};
}

template <class... Queues>
constexpr auto with_foliot_queue(::testing::Types<Queues...>) {
  return std::array{kind_of<foliot_queue>, kind_of<Queues>...};
}

constexpr auto all = kinds_of(all_queues{});
constexpr auto light = kinds_of(all_light_queues{});
constexpr auto fuzzed = with_foliot_queue(light_queues_with<hashed_wheel>{});

}  // namespace

std::span<const queue_kind> tested_queues() { return all; }
std::span<const queue_kind> light_queues() { return light; }
std::span<const queue_kind> fuzzed_queues() { return fuzzed; }

}  // namespace foliot::conformance

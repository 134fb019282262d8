// The conformance suite over the queues that FOLIOT_MUTATED_QUEUES names: all_queues.cpp, quick to compile.
#include <array>
#include <span>

#include "queue/conformance/all_queues.hpp"
#include "queue/conformance/kind_of.hpp"

namespace foliot::conformance {
namespace {

template <class... Queues>
constexpr std::array kinds{kind_of<Queues>...};

}  // namespace

std::span<const queue_kind> tested_queues() { return kinds<FOLIOT_MUTATED_QUEUES>; }
std::span<const queue_kind> light_queues() { return kinds<FOLIOT_MUTATED_QUEUES>; }
std::span<const queue_kind> fuzzed_queues() { return kinds<FOLIOT_MUTATED_QUEUES>; }

}  // namespace foliot::conformance

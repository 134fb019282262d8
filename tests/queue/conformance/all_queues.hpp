// The queues that the conformance suite runs over. A new queue is a word here, and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>
#include <foliot/queue/red_black_tree.hpp>
#include <foliot/queue/reference_queue.hpp>

namespace foliot::conformance {

/// foliot's queue with everything small: a few timers fill slots, chunks, windows and turns.
struct small_tuning {
  static constexpr std::string_view name = "foliot-small";
  static constexpr int base_shift = 6;
  static constexpr int widest_window = 9;
  static constexpr std::size_t window_size = 4;
  static constexpr std::size_t few_chunks = 2;
  static constexpr std::size_t moves_a_turn = 3;
  static constexpr std::size_t chunk_entries = 2;
  static constexpr std::size_t chunks_in_block = 3;
};
using small_foliot_queue = basic_foliot_queue<small_tuning>;

/// Eight slots: every deadline but the nearest is turns away.
using small_erlang_wheel = basic_erlang_wheel<8>;

/// The same for the simple wheel, of which 512 slots take longer to make and to check than a short sequence.
class small_hashed_wheel : public basic_hashed_wheel<fixed_wheel<1'000'000, 8>> {
 public:
  static constexpr std::string_view name = "hashed-wheel-small";
};

using all_queues =
    ::testing::Types<reference_queue, foliot_queue, small_foliot_queue, quad_heap, quad_heap_lazy, goim_heap,
                     red_black_tree, hashed_wheel, hierarchical_wheel, linux_wheel, erlang_wheel, small_erlang_wheel>;

/// For the exhaustive suite, which makes half a million queues: without the queues that are large when empty, except in
/// their small forms.
template <class HashedWheel>
using light_queues_with =
    ::testing::Types<reference_queue, small_foliot_queue, quad_heap, quad_heap_lazy, goim_heap, red_black_tree,
                     HashedWheel, hierarchical_wheel, linux_wheel, small_erlang_wheel>;
using all_light_queues = light_queues_with<small_hashed_wheel>;

/// Names the cases of a typed suite after their queues.
struct queue_name {
  template <class Queue>
  static std::string GetName(int) {
    return std::string(Queue::name);
  }
};

}  // namespace foliot::conformance

// The queues that the conformance suite runs over. A new queue is a word here, and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>
#include <foliot/queue/reference_queue.hpp>

namespace foliot::conformance {

/// Eight slots: every deadline but the nearest is turns away.
using small_erlang_wheel = basic_erlang_wheel<8>;

using all_queues = ::testing::Types<reference_queue, quad_heap, quad_heap_lazy, goim_heap, hashed_wheel,
                                    hierarchical_wheel, linux_wheel, erlang_wheel, small_erlang_wheel>;

/// For the exhaustive suite, which makes half a million queues: a queue that is large when empty is here in
/// its small form alone.
using all_light_queues = ::testing::Types<reference_queue, quad_heap, quad_heap_lazy, goim_heap, hashed_wheel,
                                          hierarchical_wheel, linux_wheel, small_erlang_wheel>;

/// Names the cases of a typed suite after their queues.
struct queue_name {
  template <class Queue>
  static std::string GetName(int) {
    return std::string(Queue::name);
  }
};

}  // namespace foliot::conformance

// The queues that the conformance suite runs over. A new queue is a line here, and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/reference_queue.hpp>

namespace foliot::conformance {

using all_queues = ::testing::Types<reference_queue, quad_heap, goim_heap>;

/// Names the cases of a typed suite after their queues.
struct queue_name {
  template <class Queue>
  static std::string GetName(int) {
    return std::string(Queue::name);
  }
};

}  // namespace foliot::conformance

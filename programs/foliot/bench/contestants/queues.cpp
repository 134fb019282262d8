// The queues of the project.
#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "../workloads/one_thread.hpp"
#include "all.hpp"
#include "queue_timers.hpp"

namespace foliot::program::bench {

namespace {

template <timer_queue Queue>
void add_queue(roster& to) {
  contestant& queue = to.add(Queue::name);
  queue.project_queue = true;
  add_timers<queue_timers<Queue>>(queue);
}

template <timer_queue... Queues>
void add_each(roster& to) {
  (add_queue<Queues>(to), ...);
}

}  // namespace

void add_queues(roster& to) {
  // A queue joins by a line here.
  add_each<foliot_queue, quad_heap, quad_heap_lazy, goim_heap, hashed_wheel, hierarchical_wheel, linux_wheel,
           erlang_wheel>(to);
}

}  // namespace foliot::program::bench

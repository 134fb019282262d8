// The queues of the project.
#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>
#include <foliot/queue/red_black_tree.hpp>

#include "bench/roster.hpp"
#include "bench/workloads/one_thread.hpp"
#include "queue_timers.hpp"

namespace foliot::program::bench {

namespace {

template <timer_queue Queue>
void add_queue(roster& to) {
  contestant& queue = to.add(Queue::name);
  queue.project_queue = true;
  add_timers<queue_timers<Queue>>(queue);
}

}  // namespace

void add_queues(roster& to) {
  // A queue joins by a line here.
  add_queue<foliot_queue>(to);
  add_queue<quad_heap>(to);
  add_queue<quad_heap_lazy>(to);
  add_queue<goim_heap>(to);
  add_queue<red_black_tree>(to);
  add_queue<hashed_wheel>(to);
  add_queue<hierarchical_wheel>(to);
  add_queue<linux_wheel>(to);
  add_queue<erlang_wheel>(to);
}

}  // namespace foliot::program::bench

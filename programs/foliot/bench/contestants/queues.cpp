// The queues of the project.
#include <string>
#include <utility>
#include <vector>

#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "../bout_of.hpp"
#include "contestants.hpp"
#include "queue_timers.hpp"

namespace foliot::program::bench {

namespace {

template <timer_queue... Queues>
void add_all(std::vector<contestant>& to) {
  const auto add = [&to](contestant queue) {
    queue.project_queue = true;
    to.push_back(std::move(queue));
  };
  (add(make_contestant<queue_timers<Queues>>(std::string(Queues::name))), ...);
}

}  // namespace

void add_queues(std::vector<contestant>& to) {
  // A queue joins by a line here.
  add_all<foliot_queue, quad_heap, quad_heap_lazy, goim_heap, hashed_wheel, hierarchical_wheel, linux_wheel,
          erlang_wheel>(to);
}

}  // namespace foliot::program::bench

// The queues of the project.
#include <string>
#include <utility>
#include <vector>

#include <foliot/queue/quad_heap.hpp>

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
  add_all<quad_heap  //
          >(to);
}

}  // namespace foliot::program::bench

#include <foliot/runtime/run.hpp>

#include "scheduler.hpp"

namespace foliot::runtime {

namespace detail {

own_scheduler::own_scheduler(const run_options& options) : scheduler_(std::make_unique<scheduler>(options)) {}
own_scheduler::~own_scheduler() = default;
void own_scheduler::run(task_state& main, frame& body) {
  main.is_main = true;
  scheduler_->run(main, body);
}

void submit(scheduler& to, blocking_job& job) {
  if (to.virtual_time() != nullptr) return job.run();
  to.blocking().submit(job);
}

}  // namespace detail

void set_processors(std::size_t count) { detail::this_scheduler("set_processors").set_processors(count); }
std::size_t processors() { return detail::this_scheduler("processors").processors(); }
instant now() { return detail::this_scheduler("now").time().now(); }

}  // namespace foliot::runtime

#include <foliot/runtime/virtual_time.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "scheduler.hpp"

namespace foliot::runtime {

namespace detail {

scheduler& this_virtual_scheduler(const char* what) {
  scheduler& here = this_scheduler(what);
  if (here.virtual_time() != nullptr) return here;
  throw std::logic_error(std::string("foliot: ") + what +
                         " needs virtual time: give the runtime a clock (run_options::clock)");
}

void begin_idle_wait(scheduler& of, wait_point& wait, wait_word::source by) { of.waiting_for_idle().add(wait, by); }
void end_idle_wait(scheduler& of, wait_point& wait) noexcept { of.waiting_for_idle().remove(wait); }
instant next_deadline(scheduler& of) { return of.next_deadline(); }
void advance_to(scheduler& of, instant target) { of.virtual_time()->advance_to(target); }

}  // namespace detail

task<> advance(duration length) {
  detail::scheduler& here = detail::this_virtual_scheduler("advance");
  const instant target = deadline_after(detail::now(here), length);
  for (;;) {
    co_await detail::inner(wait_idle());
    const instant next = detail::next_deadline(here);
    if (next > target || next.is_never()) break;
    detail::advance_to(here, next);
  }
  // Another task that advances may have gone further meanwhile; time does not go back.
  detail::advance_to(here, target);
}

}  // namespace foliot::runtime

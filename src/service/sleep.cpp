#include <foliot/service/sleep.hpp>

#include <stdexcept>

#include "shard_base.hpp"

namespace foliot::inline service {

bool sleep_for(timer_service& service, duration length, std::source_location here) {
  return sleep_until(service, deadline_after(service.now(), length), here);
}

bool sleep_until(timer_service& service, timer_deadline deadline, std::source_location here) {
  if (service.runs_on_caller()) {
    throw std::logic_error(
        "foliot: a callback must not sleep on the service, or the virtual clock, that runs it: start a timer instead");
  }
  auto& home = detail::as_shard(service.home());
  const instant until = deadline.on([&home]() -> const clock& { return home.time(); });
  if (until <= home.time().now()) return true;
  return home.sleep_until(until, here);
}

}  // namespace foliot::inline service

#include "watchdog.hpp"

#include <exception>
#include <new>
#include <utility>

#include <foliot/runtime/sleep.hpp>

#include "process_end.hpp"

namespace foliot::program {

duration watchdog::round() const noexcept {
  return exists() ? duration::nanoseconds(patience_.count() / 4) : duration::forever();
}

void watchdog::expect(std::function<std::uint64_t()> rounds) { expected_.push_back({std::move(rounds)}); }

bool watchdog::all_go_on() {
  bool all = true;
  for (expected_task& each : expected_) {
    const std::uint64_t before = std::exchange(each.seen, each.rounds());
    all = all && each.seen != before;
  }
  return all;
}

task<> watchdog::feed() {
  const duration pause = duration::nanoseconds(patience_.count() / 2);
  for (;;) {
    try {
      co_await runtime::sleep(pause);
      const bool brokers_work = co_await brokers_.all_work();
      const bool works = all_go_on() && brokers_work;
      if (works && stores_.busy_for() < patience_) static_cast<void>(manager_.tell("WATCHDOG=1"));
    } catch (const std::bad_alloc&) {
      shortage().note();  // it is not told
    } catch (const std::exception&) {
      co_return;  // a broker is closed or has failed: the server ends
    }
  }
}

}  // namespace foliot::program

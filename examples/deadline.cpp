// One deadline for several steps: a request asks three servers, one after the other, and must be answered within a
// second.
//
// The trap is a limit for each step: three steps of at most a second each take three seconds, and a length of time that
// is passed on begins anew at each step. So the instant is computed once, at the beginning. A task needs only one
// timeout around all of its steps, and a context where there are several tasks. With callbacks each step ends at the
// earlier one of two instants: the step's own, and the request's.
#include <foliot/runtime.hpp>
#include <foliot/service.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

// On the runtime.

foliot::task<> ask(const char* server, foliot::duration takes) {
  co_await rt::sleep(takes);
  std::printf("%s answers\n", server);
}

foliot::task<> ask_all(foliot::duration each_takes) {
  for (const char* server : {"users", "baskets", "prices"}) co_await ask(server, each_takes);
}

foliot::task<> one_task(foliot::duration each_takes) {
  auto steps = ask_all(each_takes);
  const auto answered = co_await rt::with_timeout(std::move(steps), 1s);
  std::puts(answered ? "in time" : "too late");
}

foliot::task<bool> ask_within(rt::context request, const char* server, foliot::duration takes) {
  auto step = ask(server, takes);
  const auto answered = co_await rt::run_in(std::move(request), std::move(step));
  co_return answered.has_value();
}

foliot::task<> several_tasks() {
  const auto request = rt::with_timeout(rt::background(), 1s);
  auto users = rt::spawn(ask_within(request, "users", 600ms));
  auto prices = rt::spawn(ask_within(request, "prices", 1200ms));
  const bool has_user = co_await users.join();
  const bool has_price = co_await prices.join();
  std::printf("%d of 2 tasks in time\n", static_cast<int>(has_user) + static_cast<int>(has_price));
}

foliot::task<> on_the_runtime() {
  co_await one_task(300ms);
  co_await one_task(400ms);
  co_await several_tasks();
}

// On a service.

class request {
 public:
  explicit request(foliot::timer_service& timers)
      : timers_(timers),
        until_(timers.now() + 1s),
        limit_(timers, [this] { std::printf("too late at step %d\n", step_); }) {
    begin_step();
  }

  /// The server of this step has answered. Whether that was in time is decided by the timer.
  void answered() {
    if (limit_.stop() != foliot::stop_result::stopped) return;
    if (++step_ <= 3) return begin_step();
    std::puts("in time");
  }

 private:
  void begin_step() { limit_.reset_at(std::min(timers_.now() + 500ms, until_)); }

  foliot::timer_service& timers_;
  const foliot::instant until_;
  int step_ = 1;  // changes only while the timer is stopped
  foliot::timer limit_;
};

void on_a_service(foliot::duration each_takes) {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  request one(timers);
  for (int i = 0; i < 3; ++i) {
    clock.advance(each_takes);
    one.answered();
  }
}

int main() {
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  foliot::run(on_the_runtime(), options);
  std::puts("with callbacks");
  on_a_service(300ms);
  on_a_service(400ms);
}

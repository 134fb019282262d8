// An order that is not paid within half an hour is cancelled.
//
// The trap is the payment that arrives as the time runs out: a shop that looks at the order in two places, the payment
// and the timeout, may ship it and cancel it. Here the timer decides, once: each start of a timer has one outcome, and
// stop() says which. If it answers `stopped`, the callback has not run and never will: the order is paid. Otherwise the
// callback has run or is running: the order is cancelled, or was paid before, and the money goes back.
#include <foliot/service.hpp>

#include <atomic>
#include <cstdio>
#include <deque>
#include <thread>

using namespace std::chrono_literals;

class order {
 public:
  template <class Cancel>
  order(foliot::timer_service& timers, foliot::duration time_to_pay, Cancel cancel)
      : unpaid_(timers, time_to_pay, std::move(cancel)) {}

  /// Pays the order. Any thread, also twice for one order. Returns false if it is too late, or paid already.
  bool pay() { return unpaid_.stop() == foliot::stop_result::stopped; }

 private:
  foliot::timer unpaid_;
};

void half_an_hour_each() {
  foliot::virtual_clock clock;  // half an hour that takes no time
  foliot::timer_service timers(clock);
  order first(timers, 30min, [] { std::puts("the first order is cancelled"); });
  order second(timers, 30min, [] { std::puts("the second order is cancelled"); });
  clock.advance(10min);
  std::printf("after 10 minutes: the first order %s\n", first.pay() ? "is paid" : "is not to be paid any more");
  std::printf("and once more: it %s\n", first.pay() ? "is paid twice" : "is not to be paid any more");
  clock.advance(20min);
  std::printf("after 30 minutes: the second order %s\n", second.pay() ? "is paid" : "is not to be paid any more");
}

/// Real time, and a thread that pays just as the orders run out: each is paid or cancelled, and never both.
void as_the_time_runs_out() {
  constexpr int count = 1000;
  std::atomic<int> cancelled = 0;
  int paid = 0;
  foliot::timer_service timers;
  std::deque<order> orders;
  for (int i = 0; i < count; ++i) orders.emplace_back(timers, 200us, [&cancelled] { ++cancelled; });
  std::thread customers([&] {
    for (order& each : orders) paid += each.pay() ? 1 : 0;
  });
  customers.join();
  timers.drain(1h);  // the callbacks that still run
  std::printf("%d orders, %d outcomes\n", count, paid + cancelled);
}

int main() {
  half_an_hour_each();
  as_the_time_runs_out();
}

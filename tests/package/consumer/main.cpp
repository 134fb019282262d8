// A program of a user of foliot: a timer in virtual time, one in real time, a queue by itself, tasks, jobs.
//
// With an argument it breaks one contract, and ends well if nobody sees that.
#include <foliot/core/callable.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs.hpp>
#include <foliot/queue.hpp>
#include <foliot/runtime.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel_closed.hpp>
#include <foliot/service.hpp>
#include <foliot/version.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "elsewhere.hpp"

using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "consumer: not so: %s\n", what);
  ++failures;
}

void virtual_time() {
  foliot::virtual_clock clock;
  foliot::timer_service timers{clock};
  int fired = 0;
  const foliot::timer lease{timers, 24h, [&fired] { ++fired; }};
  foliot::timer dropped{timers, 1h, [&fired] { fired += 100; }};
  expect(dropped.stop() == foliot::stop_result::stopped, "a pending timer is stopped");
  clock.advance(24h - 1ns);
  expect(fired == 0, "a timer is never early");
  clock.advance(1ns);
  expect(fired == 1, "a timer fires when its time has come");
}

void real_time() {
  foliot::timer_service timers;
  int fired = 0;
  const foliot::timer soon{timers, 1ms,
                           [&fired](const foliot::firing& now) { fired += now.lateness() >= 0ns ? 1 : 0; }};
  expect(foliot::sleep_for(timers, 2ms), "the sleep is slept to its end");
  expect(timers.drain(1min) == 0, "nothing is left at the end");
  expect(fired == 1, "what was pending has fired");
}

void one_thread_one_shard() {
  foliot::service_options options;
  options.shards = 4;
  foliot::timer_service timers{std::move(options)};
  std::mutex guard;
  std::set<std::thread::id> ran;
  for (int i = 0; i < 8; ++i) {
    foliot::after_func(timers, 0ns, [&] {
      const std::lock_guard held(guard);
      ran.insert(std::this_thread::get_id());
    }).detach();
  }
  timers.drain(1min);
  expect(ran.size() == 1, "the timers that one thread starts run on one shard");
}

void queue_alone() {
  struct session : foliot::timer_node {
    int beats = 0;
  };
  session one;
  session other;
  foliot::quad_heap queue;
  const foliot::instant start;
  queue.start(one, start + 2s);
  queue.start(other, start + 1s);
  expect(queue.next_deadline() == start + 1s, "the earliest deadline is the next one");
  const foliot::expiry turn = queue.expire(start + 1s, foliot::unlimited,
                                           [](foliot::timer_node& node) { ++static_cast<session&>(node).beats; });
  expect(turn.fired == 1 && other.beats == 1 && one.beats == 0, "what is due fires, and nothing else");
  expect(queue.stop(one) && queue.size() == 0, "the queue is empty at the end");
}

foliot::task<int> answer() {
  co_await foliot::runtime::sleep(1ms);
  co_return 42;
}

foliot::task<int> sum() {
  const foliot::channel<int> numbers;
  foliot::runtime::spawn(count_elsewhere(numbers, 1000));
  int total = 0;
  for (;;) {
    const std::optional<int> number = co_await numbers.receive();
    if (!number) co_return total;
    total += *number;
  }
}

void tasks() {
  expect(foliot::run(answer()) == 42, "a task's result is what run returns");
  expect(foliot::run(sum()) == 500'500, "what one file sends another one receives");
}

void due_jobs() {
  foliot::virtual_clock time;
  foliot::jobs::virtual_wall_clock wall{time};
  foliot::jobs::memory_store store{{&wall, &time}};
  execute_one(store, foliot::jobs::put{.tube = "mail", .body = "hello", .due = 1min});
  time.advance(1min);
  const foliot::jobs::claim_answer mine = execute_one(store, foliot::jobs::claim{.tubes = {"mail"}});
  expect(mine.jobs.size() == 1 && mine.jobs[0].job.body == "hello", "a job is claimed when it is due");
  expect(store.check().has_value(), "the store's invariants hold");
}

foliot::task<> wait_for_ever() {
  const foliot::channel<int> silent;
  static_cast<void>(co_await silent.receive());
}

/// Whether calling `what` throws an Exception, and nothing else.
template <class Exception, class Function>
bool throws(Function what) {
  try {
    what();
  } catch (const Exception&) {
    return true;
  } catch (...) {
  }
  return false;
}

// From the library, and from a library that has foliot's headers inline; by their own types and by those of their
// bases.
void exceptions() {
  const auto waits_for_nobody = [] {
    foliot::virtual_clock clock;
    foliot::runtime::run_options options;
    options.clock = &clock;
    foliot::run(wait_for_ever(), options);
  };
  expect(throws<foliot::runtime::deadlock>(waits_for_nobody), "the library's deadlock is caught");
  expect(throws<std::logic_error>(waits_for_nobody), "the library's deadlock is caught as what it is derived from");
  expect(throws<foliot::runtime::channel_closed>([] { throw_elsewhere(true); }), "another library's is caught");
  expect(throws<foliot::runtime::cancelled>([] { throw_elsewhere(false); }), "and another one");
  expect(throws<std::invalid_argument>([] {
           foliot::service_options options;
           options.engine = "sundial";
           const foliot::timer_service timers{std::move(options)};
         }),
         "an unknown engine is refused");
  expect(throws<std::invalid_argument>([] {
           foliot::jobs::memory_store store;
           execute_one(store, foliot::jobs::count_tube{""});
         }),
         "a tube without a name is refused");
}

/// Stops the program where this file was compiled with FOLIOT_ASSERTIONS.
int call_nothing() {
#if FOLIOT_ASSERTIONS
  foliot::callable<void()> nothing;
  nothing();
#endif
  return 0;
}

/// Stops the program where the library was.
int lock_out_of_order() {
  foliot::mutex high(foliot::lock_rank::engine);
  foliot::mutex low(foliot::lock_rank::timeline);
  const foliot::lock first(high);
  const foliot::lock second(low);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  if (wanted == "call_nothing") return call_nothing();
  if (wanted == "lock_out_of_order") return lock_out_of_order();
  virtual_time();
  real_time();
  one_thread_one_shard();
  queue_alone();
  tasks();
  due_jobs();
  exceptions();
  expect(&foliot::seam::this_thread() == this_thread_elsewhere(), "a thread is the same one in every library");
  if (failures == 0) std::printf("foliot %s works\n", FOLIOT_VERSION);
  return failures == 0 ? 0 : 1;
}

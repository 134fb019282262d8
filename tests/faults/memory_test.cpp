// Memory that cannot be had, in whole scenarios: the n-th allocation fails, alone or with all that follow it, for n =
// 0, 1, 2, … until none does. Each operation then has its effect or throws std::bad_alloc without any, what is pending
// still fires, and nothing is left behind. The scenarios are random operations on each queue, the life of a service
// with all its reports, and what tasks do with each other.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/call_on.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/channel_closed.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/net/buffered_reader.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_condition.hpp>
#include <foliot/runtime/task_report.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <foliot/runtime/with_timeout.hpp>
#include <foliot/service.hpp>

#include "queue/conformance/all_queues.hpp"
#include "support/allocations.hpp"
#include "support/engines.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

/// Which allocations of a scenario fail.
struct failures {
  std::size_t succeeding;
  std::size_t failing;
};

/// Plays a scenario for each n: one failure, and failures from there on. A scenario returns whether any has failed. Of
/// the later places, which are many of a kind, only some are played.
template <class Scenario>
void with_each_failure(Scenario scenario) {
  for (const std::size_t failing : {std::size_t{1}, std::numeric_limits<std::size_t>::max()}) {
    std::size_t places = 0;
    for (std::size_t n = 0; scenario(failures{n, failing}); n += 1 + n / 8) {
      ++places;
      ASSERT_LT(places, 1'000U);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "allocation " << n << ", failing: " << failing;
    }
  }
}

// ---------------------------------------------------------------- queues

/// A queue and what must be in it.
template <class Queue>
class modelled {
  using node = typename Queue::node_type;

 public:
  explicit modelled(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 100; ++i) nodes_.push_back(std::make_unique<node>());
  }
  modelled(const modelled&) = delete;
  modelled& operator=(const modelled&) = delete;
  ~modelled() {
    while (queue_.pop_any() != nullptr) {
    }
  }

  /// One random operation, in which these allocations fail. Returns how many it has made, and whether one has failed.
  std::pair<std::size_t, bool> play(failures which) {
    node& one = *nodes_[random_() % nodes_.size()];
    const std::int64_t due = now_ + static_cast<std::int64_t>(random_() % spread) - spread / 20;
    const auto kind = random_() % 16;
    const auto size = random_() % (2 * nodes_.size());
    if (kind >= 11 && kind < 14) now_ += static_cast<std::int64_t>(size) * spread / 3'000;
    const budget limit = size % 3 == 0 ? 1 + size % 5 : unlimited;
    fired_.clear();
    fired_.reserve(nodes_.size());
    const bool was_pending = one.pending();
    bool answered = was_pending;
    bool refused = false;
    node* popped = nullptr;
    const allocation_count made;
    bool failed = false;
    {
      const failing_allocations fail(which.succeeding, which.failing);
      try {
        if (kind < 8) answered = queue_.reset(one, instant::from_nanoseconds(due));
        if (kind >= 8 && kind < 11) answered = queue_.stop(one);
        if (kind >= 11 && kind < 14) expire(limit);
        if (kind == 14) queue_.reserve(size);
        if (kind == 15) popped = queue_.pop_any();
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      failed = fail.failed();
    }
    const std::size_t allocations = made.so_far();
    EXPECT_TRUE(failed || !refused);
    EXPECT_EQ(answered, was_pending);
    if (kind < 8 && !refused) pending_[&one] = due;
    if (kind >= 8 && kind < 11) pending_.erase(&one);
    EXPECT_EQ(popped == nullptr ? 0U : pending_.erase(popped), popped == nullptr ? 0U : 1U);
    take_fired();
    check();
    if (refused || ++operations_ % 16 == 0) check_invariants();
    return {allocations, failed};
  }

  /// Fires all that is left.
  void end() {
    for (int i = 0; i < 50 && !pending_.empty(); ++i) {
      now_ += spread / 4;
      fired_.clear();
      expire(unlimited);
      take_fired();
    }
    EXPECT_TRUE(pending_.empty()) << pending_.size();
    check();
    check_invariants();
  }

 private:
  static constexpr std::int64_t spread = 20'000'000;

  void expire(budget limit) {
    const auto sink = [this](node& due) { fired_.push_back(&due); };
    while (queue_.expire(instant::from_nanoseconds(now_), limit, sink).more && limit == unlimited) {
    }
  }
  void take_fired() {
    for (node* const each : fired_) {
      const auto found = pending_.find(each);
      ASSERT_NE(found, pending_.end()) << "a timer fired that was not pending";
      EXPECT_LE(found->second, now_) << "early";
      pending_.erase(found);
    }
    fired_.clear();
  }
  void check() {
    EXPECT_EQ(queue_.size(), pending_.size());
    EXPECT_TRUE(std::ranges::all_of(
        nodes_, [this](const auto& each) { return each->pending() == pending_.contains(each.get()); }));
  }

  void check_invariants() {
    const check_result all = queue_.check();
    EXPECT_TRUE(all.has_value()) << all.error();
  }

  std::mt19937_64 random_;
  int operations_ = 0;
  std::int64_t now_ = 1'000'000'000;
  std::vector<std::unique_ptr<node>> nodes_;
  std::map<const node*, std::int64_t> pending_;
  std::vector<node*> fired_;
  Queue queue_{};
};

template <class Queue>
class MemoryOfQueues : public ::testing::Test {};
TYPED_TEST_SUITE(MemoryOfQueues, conformance::all_queues, conformance::queue_name);

TYPED_TEST(MemoryOfQueues, MayBeMissingInAnyOperation) {
  with_each_failure([](failures which) {
    modelled<TypeParam> all(1);
    bool any_failed = false;
    for (int i = 0; i < 250; ++i) {
      const auto [made, failed] = all.play(which);
      any_failed = any_failed || failed;
      if (which.failing == 1 && failed) which.succeeding = std::numeric_limits<std::size_t>::max();  // it is over
      if (!failed && which.succeeding < std::numeric_limits<std::size_t>::max()) which.succeeding -= made;
      if (failed && which.failing != 1) which.succeeding = 0;
      if (i == 200) which.succeeding = std::numeric_limits<std::size_t>::max();  // there is memory again
    }
    all.end();
    return any_failed;
  });
}

// ---------------------------------------------------------------- services

class MemoryOfServices : public engine_suite {
 protected:
  service_options reporting() {
    service_options all = options();
    all.on_exception = [this](const callback_failure&) { ++reported; };
    all.measure = true;
    all.slow_callback = {.longer_than = {}, .tell = [](const slow_callback&) { delete new int; }};
    all.stalls = {.longer_than = 1h, .tell = [](const stall&) {}};
    if (GetParam() == "goim") all.log = [](const timer_log_entry& entry) { static_cast<void>(log_line(entry)); };
    return all;
  }

  int reported = 0;
};

INSTANTIATE_TEST_SUITE_P(, MemoryOfServices, every_engine(), engine_as_name);

/// Calls a function; returns whether there was memory for it.
template <class Function>
bool had_memory(Function function) {
  try {
    function();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// A service with named timers, statistics of callbacks, and callbacks that allocate.
class service_life {
 public:
  service_life(virtual_clock& clock, service_options options) : clock_(clock), timers_(clock, std::move(options)) {}

  void play() {
    for (std::size_t i = 0; i < all_.size(); ++i) start(i);
    had_memory([this] {
      beat_.emplace(timers_, 7ms, [this, kept = captured_] {
        ++beats_;
        delete new int;
      });
    });
    had_memory([this] { timers_.reserve(300); });
    for (int i = 0; i < 3; ++i) {
      const bool made =
          had_memory([this] { after_func(timers_, 20ms, [this, kept = captured_] { ++detached_; }).detach(); });
      if (made) ++wanted_;
    }
    for (int i = 0; i < 20; ++i) had_memory([this] { clock_.advance(5ms); });
    had_memory([this] {
      const std::string text = statistics_text({timers_.statistics(), timers_.slowest_callbacks()});
      static_cast<void>(parse_statistics(text));
    });
  }
  /// With memory again. `then` is called after each step of the clock.
  template <class Then>
  void end(int reported, Then then) {
    for (int i = 0; i < 10; ++i) {
      clock_.advance(500ms);
      then();
    }
    for (std::size_t i = 0; i < all_.size(); ++i) EXPECT_EQ(fired_[i], started_[i]) << i;
    EXPECT_EQ(wrong_, 0);
    EXPECT_EQ(detached_, wanted_);
    const bool beats = beat_ && beat_->pending();
    EXPECT_TRUE(!beat_ || beats || reported > 0) << "a ticker that stopped must be reported";
    EXPECT_EQ(timers_.counters().pending, beats ? 1U : 0U);
    for (auto& each : all_) each.reset();
    beat_.reset();
    EXPECT_EQ(captured_.use_count(), 1) << "captures must be destroyed";
  }

 private:
  void start(std::size_t i) {
    std::optional<timer>& one = all_[i];
    had_memory([&] {
      one.emplace(timers_, [this, i, kept = captured_] {
        ++fired_[i];
        delete new int;
      });
    });
    if (!one) return;
    had_memory([&] { one->name("a name that does not fit into the object of a string"); });
    const int factor = static_cast<int>(i) + 1;
    for (int step = 0; step < 4; ++step) {
      const bool was_pending = one->pending();
      const bool armed = had_memory([&] {
        if (step == 0) one->reset(37ms * factor);
        if (step == 1) one->reset(30ms * factor, 3ms);
        if (step == 2) one->stop();
        if (step == 3) one->reset_at(clock_.now() + 5ms * factor);
      });
      if (one->pending() != (armed ? step != 2 : was_pending)) ++wrong_;
    }
    started_[i] = one->pending() ? 1 : 0;
  }

  virtual_clock& clock_;
  std::shared_ptr<int> captured_ = std::make_shared<int>(0);
  std::array<int, 8> fired_{};
  std::array<int, 8> started_{};
  int wrong_ = 0;
  int beats_ = 0;
  int detached_ = 0;
  int wanted_ = 0;
  timer_service timers_;
  std::array<std::optional<timer>, 8> all_;
  std::optional<ticker> beat_;
};

TEST_P(MemoryOfServices, MayBeMissingInALifeWithAllReports) {
  with_each_failure([this](failures which) {
    reported = 0;
    virtual_clock clock;
    service_life life(clock, reporting());
    bool failed = false;
    {
      const failing_allocations fail(which.succeeding, which.failing);
      life.play();
      failed = fail.failed();
    }
    life.end(reported, [] {});
    return failed;
  });
}

/// The jobs of an executor that keeps them, as it does with an allocation, until somebody asks.
TEST_P(MemoryOfServices, MayBeMissingInAnExecutor) {
  with_each_failure([this](failures which) {
    reported = 0;
    virtual_clock clock;
    std::vector<posted_callback> jobs;
    const auto call_all = [&jobs] {
      while (!jobs.empty()) {
        std::vector<posted_callback> now = std::exchange(jobs, {});
        for (posted_callback& each : now) each();
      }
    };
    service_options posting = reporting();
    posting.executor = [&jobs, &call_all](posted_callback job) {
      jobs.push_back(std::move(job));
      if (jobs.size() > 3) call_all();
    };
    service_life life(clock, std::move(posting));
    bool failed = false;
    {
      const failing_allocations fail(which.succeeding, which.failing);
      life.play();
      failed = fail.failed();
    }
    call_all();
    life.end(reported, call_all);
    return failed;
  });
}

// ---------------------------------------------------------------- tasks

using runtime::channel;
using runtime::join_handle;
using runtime::spawn;

task<> sleeps(duration length, int& woken) {
  co_await runtime::sleep(length);
  ++woken;
}

/// Joins all; returns how many have ended in order, or because they were stopped. Scenarios make this task before they
/// spawn any, and so can always await their tasks, which use their variables.
task<std::size_t> join_all(std::vector<join_handle<>>& all) {
  std::size_t well = 0;
  for (join_handle<>& each : all) {
    try {
      co_await each.join_without_cancellation();
      ++well;
    } catch (const runtime::join_cancelled&) {
      ++well;
    } catch (const std::bad_alloc&) {
    }
    EXPECT_TRUE(each.done());
  }
  co_return well;
}

// Each scenario returns whether all has gone well. None waits for ever if it has not.

task<bool> spawned_tasks() {
  int woken = 0;
  std::stop_source stops;
  std::vector<join_handle<>> all;
  all.reserve(8);
  task<std::size_t> joining = join_all(all);
  try {
    for (int i = 0; i < 4; ++i) {
      const std::string name = "a sleeper with a name that is copied, " + std::to_string(i);
      all.push_back(spawn(sleeps(1ms * i, woken), name));
    }
    all.push_back(spawn(sleeps(1h, woken), stops.get_token(), "stopped"));
    const auto kept = std::make_shared<int>(1);
    const auto captures = [kept, &woken]() -> task<> {
      co_await runtime::sleep(1ms);
      woken += *kept;
    };
    all.push_back(spawn(captures, "captures"));
  } catch (const std::bad_alloc&) {
  }
  stops.request_stop();
  const std::size_t well = co_await std::move(joining);
  co_return well == 6 && woken == 5;
}

/// A value that channels keep in memory of its own.
struct boxed {
  explicit boxed(int number)
      : text("a text that does not fit into the object of a string, " + std::to_string(number)) {}
  std::array<char, 200> room{};
  std::string text;
};

task<> sends_boxes(channel<boxed> to, int& sent) {
  for (int i = 0; i < 5; ++i) {
    try {
      co_await to.emplace(i);
      ++sent;
    } catch (const std::bad_alloc&) {
    } catch (const runtime::channel_closed&) {
    }
  }
}

task<> receives_boxes(channel<boxed> from, int& received) {
  for (bool open = true; open;) {
    try {
      const auto got = co_await from.receive();
      open = got.has_value();
      if (open) received += got->text.size() > 50 ? 1 : 0;
    } catch (const std::bad_alloc&) {
      ++received;  // the value was taken, and could not be copied
    }
  }
}

task<bool> channels() {
  std::optional<channel<boxed>> made;
  int sent = 0;
  int received = 0;
  std::vector<join_handle<>> all;
  all.reserve(2);
  task<std::size_t> joining = join_all(all);
  try {
    made.emplace(2);
    all.push_back(spawn(receives_boxes(*made, received)));
    all.push_back(spawn(sends_boxes(*made, sent)));
    co_await runtime::sleep(1ms);  // until all that can be sent has been received
  } catch (const std::bad_alloc&) {
  }
  if (made) made->close();
  const std::size_t well = co_await std::move(joining);
  co_return well == 2 && sent == 5 && received == 5;
}

task<> sends_later(channel<int> to) {
  co_await runtime::sleep(2ms);
  static_cast<void>(to.try_send(3));
}

task<bool> selects() {
  std::optional<channel<int>> numbers;
  std::vector<join_handle<>> all;
  all.reserve(1);
  task<std::size_t> joining = join_all(all);
  std::size_t chosen = 0;
  try {
    numbers.emplace(1);
    all.push_back(spawn(sends_later(*numbers)));
    const runtime::timer late(5ms);
    for (int i = 0; i < 3; ++i) {
      const auto come = co_await runtime::select(numbers->receive(), late.c(), runtime::after(3ms));
      chosen = 10 * chosen + come.index();
    }
  } catch (const std::bad_alloc&) {
    chosen = 0;
  }
  co_await std::move(joining);
  co_return chosen == 12 || chosen == 21;
}

struct shared_work {
  runtime::task_mutex mutex;
  runtime::task_condition changed{mutex};
  runtime::task_semaphore slots{1};
  runtime::wait_group group;
  bool ready = false;
  int done = 0;
};

task<> works(shared_work& on) {
  const auto member = on.group.enter();
  co_await on.slots.acquire();
  const runtime::task_permit permit(on.slots);
  co_await runtime::sleep(1ms);
  auto held = co_await on.mutex.lock();
  while (!on.ready) co_await on.changed.wait(held);
  ++on.done;
}

task<bool> locks() {
  shared_work on;
  std::vector<join_handle<>> all;
  all.reserve(4);
  task<std::size_t> joining = join_all(all);
  try {
    for (int i = 0; i < 4; ++i) all.push_back(spawn(works(on)));
    co_await runtime::sleep(2ms);
  } catch (const std::bad_alloc&) {
  }
  {
    const auto held = co_await on.mutex.lock();
    on.ready = true;
  }
  on.changed.notify_all();
  const std::size_t well = co_await std::move(joining);
  co_await on.group.wait();
  EXPECT_EQ(on.slots.available(), 1U);
  EXPECT_TRUE(on.mutex.try_lock());
  co_return well == 4 && on.done == 4;
}

task<bool> timers() {
  int called = 0;
  try {
    runtime::ticker beat(2ms);
    co_await beat;
    beat.reset(1ms);
    co_await beat;
    runtime::timer one(1ms);
    co_await one;
    one.reset(2ms);
    co_await one;
    const auto counts = [&called]() -> task<> {
      ++called;
      co_await runtime::sleep(1us);
    };
    auto calls = runtime::after_func(1ms, [&called] { ++called; });
    auto spawns = runtime::after_spawn(1ms, counts);
    calls.reset(2ms);
    co_await runtime::sleep(4ms);
    co_await calls.stop_and_wait();
    co_await spawns.stop_and_wait();
  } catch (const std::bad_alloc&) {
    co_return false;
  }
  co_return called == 2;
}

task<bool> timeouts() {
  int woken = 0;
  int called = 0;
  try {
    const auto late = co_await runtime::with_timeout(sleeps(1h, woken), 1ms);
    const auto in_time = co_await runtime::with_timeout(sleeps(1ms, woken), 1h);
    auto whole = runtime::with_cancel(runtime::background());
    const auto part = runtime::with_timeout(whole, 5ms);
    const auto told = runtime::after_func(part, [&called] { ++called; });
    const auto come = co_await runtime::select(part.done(), runtime::after(1h));
    whole.cancel();
    co_await runtime::sleep(1ms);
    co_return !late && in_time && come.index() == 0 && called == 1 && woken == 1;
  } catch (const std::bad_alloc&) {
  }
  co_return false;
}

task<bool> reports() {
  int woken = 0;
  std::vector<join_handle<>> all;
  all.reserve(1);
  task<std::size_t> joining = join_all(all);
  bool told = false;
  try {
    all.push_back(spawn(sleeps(1ms, woken), "sleeps"));
    const std::string dump = runtime::dump_tasks();
    told = dump.find("sleeps") != std::string::npos && !runtime::tasks().empty() && !runtime::task_groups().empty();
  } catch (const std::bad_alloc&) {
  }
  const std::size_t well = co_await std::move(joining);
  co_return well == 1 && told;
}

task<> writes_lines(runtime::stream& to) {
  const std::unique_ptr<runtime::stream, decltype([](runtime::stream* one) { one->close(); })> closes(&to);
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(co_await to.write_all(std::string_view("a line\n")));
    co_await runtime::sleep(1ms);
  }
}

task<bool> streams() {
  auto both = runtime::stream::pair();
  if (!both) co_return false;
  std::vector<join_handle<>> all;
  all.reserve(1);
  task<std::size_t> joining = join_all(all);
  int lines = 0;
  try {
    all.push_back(spawn(writes_lines(both->second)));
    runtime::buffered_reader reader(both->first);
    for (; lines < 3; ++lines) {
      const auto line = co_await reader.read_until('\n', 100);
      if (!line || !line->complete) break;
    }
  } catch (const std::bad_alloc&) {
  }
  both->first.close();
  const std::size_t well = co_await std::move(joining);
  co_return well == 1 && lines == 3;
}

task<bool> calls_outside() {
  const auto at_once = [](runtime::posted_call job) {
    const auto kept = std::make_unique<runtime::posted_call>(std::move(job));
    (*kept)();
  };
  const auto makes_text = [] { return std::string(60, 'x'); };
  std::string text;
  try {
    text = co_await runtime::call_on(at_once, makes_text);
  } catch (const std::bad_alloc&) {
  } catch (const runtime::call_dropped&) {
  }
  co_return text.size() == 60;
}

struct scenario {
  const char* name;
  task<bool> (*play)();
  friend void PrintTo(const scenario& one, std::ostream* to) { *to << one.name; }
};

constexpr std::array scenarios = {scenario{"spawned_tasks", spawned_tasks},
                                  scenario{"channels", channels},
                                  scenario{"selects", selects},
                                  scenario{"locks", locks},
                                  scenario{"timers", timers},
                                  scenario{"timeouts", timeouts},
                                  scenario{"reports", reports},
                                  scenario{"streams", streams},
                                  scenario{"calls_outside", calls_outside}};

class MemoryOfTasks : public ::testing::TestWithParam<scenario> {
 protected:
  static runtime::run_options options(virtual_clock& clock, const char* timers) {
    runtime::run_options chosen;
    chosen.clock = &clock;
    chosen.timers = timers;
    chosen.processors = 2;  // which take turns on this thread
    chosen.on_failure = [](std::string_view, const std::exception_ptr&) {};
    return chosen;
  }
};

INSTANTIATE_TEST_SUITE_P(, MemoryOfTasks, ::testing::ValuesIn(scenarios),
                         [](const auto& of) { return std::string(of.param.name); });

/// The scenario without memory, and then once more with it.
task<bool> play_twice(task<bool> (*play)(), failures which) {
  bool failed = false;
  {
    const failing_allocations fail(which.succeeding, which.failing);
    bool well = false;
    try {
      well = co_await play();
    } catch (const std::bad_alloc&) {
    }
    failed = fail.failed();
    EXPECT_TRUE(well || failed);
  }
  const bool again = co_await play();
  EXPECT_TRUE(again) << "all must be usable afterwards";
  co_return failed;
}

TEST_P(MemoryOfTasks, MayBeMissing) {
  for (const char* const kind : {"foliot", "processor-heaps", "processor-heaps-1.14"}) {
    with_each_failure([kind](failures which) {
      virtual_clock clock;
      return runtime::run(play_twice(GetParam().play, which), options(clock, kind));
    });
  }
}

TEST_P(MemoryOfTasks, MayBeMissingInTheWholeRun) {
  with_each_failure([](failures which) {
    virtual_clock clock;
    const runtime::run_options chosen = options(clock, "foliot");
    bool well = false;
    bool failed = false;
    {
      const failing_allocations fail(which.succeeding, which.failing);
      try {
        well = runtime::run(GetParam().play(), chosen);
      } catch (const std::bad_alloc&) {
      }
      failed = fail.failed();
    }
    EXPECT_TRUE(well || failed);
    return failed;
  });
}

}  // namespace
}  // namespace foliot::test

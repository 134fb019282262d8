// Watches of real descriptors: which readiness is reported, handles, exceptions, the end of the service, and misuse.
// Races are in watch_races_test.cpp, and every schedule of the small cases in tests/simulation.
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/virtual_clock.hpp>

#include "support/allocations.hpp"
#include "watch_fixture.hpp"
#include "watch_table.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

using Watch = watching_suite;

TEST_F(Watch, EchoesOnTheServicesThread) {
  const connection pipe(0);
  const watch echo(timers, pipe.here(), readiness::readable, [&](readiness now) {
    EXPECT_EQ(now, readiness::readable);
    std::array<char, 16> text{};
    const ssize_t length = ::recv(pipe.here(), text.data(), text.size(), MSG_DONTWAIT);
    if (length > 0) {
      EXPECT_EQ(::write(pipe.here(), text.data(), static_cast<std::size_t>(length)), length);
    }
  });
  for (const char sent : {'a', 'b', 'c'}) {
    char answer = 0;
    ASSERT_EQ(::write(pipe.there(), &sent, 1), 1);
    ASSERT_EQ(::read(pipe.there(), &answer, 1), 1);
    EXPECT_EQ(answer, sent);
  }
}

TEST_F(Watch, TimersAndDescriptorsAreServedInOneLoop) {
  const connection pipe;
  pipe.write();  // never read
  std::latch both(200);
  int plain = 0;  // plain: ThreadSanitizer reports callbacks that overlap
  std::atomic<int> reports = 0;
  std::atomic<int> fired = 0;
  const watch input(timers, pipe.here(), readiness::readable, [&] {
    ++plain;
    if (++reports <= 100) both.count_down();
  });
  timer busy(timers, [&] {
    ++plain;
    busy.reset(0ns);
    if (++fired <= 100) both.count_down();
  });
  busy.reset(0ns);
  both.wait();
  busy.stop_and_wait();
}

TEST_F(Watch, IsToldWhatItAsksFor) {
  connection pipe;
  std::latch writable(1);
  std::latch closed(1);
  watch output(timers, pipe.here(), readiness::none, [&](readiness now) {
    if (has(now, readiness::hung_up)) {
      EXPECT_TRUE(output.modify(readiness::none));
      closed.count_down();
    } else if (has(now, readiness::writable)) {
      EXPECT_TRUE(output.modify(readiness::readable));  // there is nothing to read
      writable.count_down();
    }
  });
  EXPECT_TRUE(output.modify(readiness::writable));
  writable.wait();
  pipe.close_there();
  closed.wait();
  EXPECT_TRUE(output.watching());
}

TEST_F(Watch, EndsFromInsideItsCallback) {
  const connection pipe;
  std::latch done(1);
  auto captured = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = captured;
  watch input;
  input = watch(timers, pipe.here(), readiness::readable, [&, kept = std::move(captured)] {
    EXPECT_TRUE(pipe.read());
    input = watch();  // waits for nothing
    ++*kept;          // the capture exists until the callback returns
    done.count_down();
  });
  pipe.write();
  done.wait();
  std::latch next_turn(1);
  const timer after(timers, 0ns, [&] { next_turn.count_down(); });
  next_turn.wait();
  EXPECT_TRUE(alive.expired());
}

TEST_F(Watch, OwnedByItsOwnCallback) {
  const connection pipe;
  std::latch gone(1);
  struct at_end {
    std::latch& reports;
    ~at_end() { reports.count_down(); }
  };
  struct session {
    explicit session(std::latch& reports) : after_the_watch{reports} {}
    at_end after_the_watch;
    watch input{};
  };
  auto mine = std::make_shared<session>(gone);
  session& there = *mine;
  there.input = watch(timers, pipe.here(), readiness::readable, [&pipe, kept = std::move(mine)]() mutable {
    EXPECT_TRUE(pipe.read());
    const auto last = std::move(kept);
  });
  pipe.write();
  gone.wait();
}

TEST_F(Watch, WhatItThrowsIsReported) {
  std::latch reported(2);
  service_options options = reactor();
  options.on_exception = [&](const std::exception_ptr& thrown) {
    EXPECT_THROW(std::rethrow_exception(thrown), std::runtime_error);
    reported.count_down();
  };
  timer_service careful(std::move(options));
  const connection pipe;
  const watch input(careful, pipe.here(), readiness::readable, [&] {
    if (pipe.read()) throw std::runtime_error("the callback failed");
  });
  pipe.write();
  pipe.write();
  reported.wait();  // the service goes on after the first exception
}

TEST_F(Watch, RunsOnTheServicesThreadAlsoWithAnExecutor) {
  service_options options = reactor();
  std::vector<posted_callback> jobs;  // the jobs never run
  options.executor = [&](posted_callback job) { jobs.push_back(std::move(job)); };
  timer_service posting(std::move(options));
  const connection pipe;
  std::latch reports(1);
  const watch input(posting, pipe.here(), readiness::readable, [&] {
    if (pipe.read()) reports.count_down();
  });
  pipe.write();
  reports.wait();
  EXPECT_TRUE(jobs.empty());
}

TEST_F(Watch, OutlivesItsService) {
  const connection pipe;
  const auto captured = std::make_shared<int>(0);
  std::optional<timer_service> short_lived(std::in_place, reactor());
  watch input(*short_lived, pipe.here(), readiness::readable, [captured] {});
  short_lived->shut_down();
  EXPECT_EQ(captured.use_count(), 1) << "the end must destroy the captures";
  EXPECT_FALSE(input.watching());
  EXPECT_FALSE(input.modify(readiness::readable));
  const watch late(*short_lived, pipe.here(), readiness::readable, [captured] {});
  EXPECT_FALSE(late.watching());
  EXPECT_EQ(captured.use_count(), 1);
  short_lived.reset();
  input.stop_and_wait();
  EXPECT_FALSE(input.modify(readiness::none));
}

TEST_F(Watch, TheServiceIsDestroyedFromInsideItsCallback) {
  const connection pipe;
  auto short_lived = std::make_unique<timer_service>(reactor());
  std::latch done(1);
  const watch input(*short_lived, pipe.here(), readiness::readable, [&] {
    short_lived.reset();
    done.count_down();
  });
  pipe.write();
  done.wait();
}

TEST_F(Watch, ACallbackThatDrainsItsServiceIsToldSo) {
  const connection pipe;
  std::latch done(1);
  const watch input(timers, pipe.here(), {readiness::writable, trigger::edge}, [&] {
    EXPECT_THROW(timers.drain(1h), std::logic_error);
    done.count_down();
  });
  done.wait();
}

// Misuse.

class WatchOfEachEngine : public engine_suite {};
INSTANTIATE_TEST_SUITE_P(, WatchOfEachEngine, every_engine(), engine_as_name);

template <class Function>
std::string refusal_of(Function function) {
  try {
    function();
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
  return {};
}

TEST_P(WatchOfEachEngine, EitherWatchesOrNamesOneThatDoes) {
  const connection pipe;
  const auto watch_with = [&](const std::string& engine) {
    timer_service service(with_engine(engine));
    std::latch reports(1);
    const watch input(service, pipe.here(), {readiness::writable, trigger::edge}, [&] { reports.count_down(); });
    reports.wait();
  };
  const std::string refusal = refusal_of([&] { watch_with(GetParam()); });
  if (refusal.empty()) return;
  EXPECT_NE(refusal.find("'epoll-heap'"), std::string::npos) << refusal;
  watch_with("epoll-heap");
}

TEST_P(WatchOfEachEngine, NotOnVirtualTime) {
  virtual_clock clock;
  timer_service service(clock, options());
  const connection pipe;
  EXPECT_NE(
      refusal_of([&] { const watch input(service, pipe.here(), readiness::readable, [] {}); }).find("virtual time"),
      std::string::npos);
}

TEST_F(Watch, RefusesWhatCannotBe) {
  const connection pipe;
  void (*const null)() = nullptr;
  EXPECT_THROW(watch(timers, pipe.here(), readiness::readable, null), std::invalid_argument);
  EXPECT_THROW(watch(timers, -1, readiness::readable, [] {}), std::system_error);
  watch empty;
  EXPECT_THROW(empty.modify(readiness::readable), std::logic_error);
  EXPECT_FALSE(empty.watching());
  empty.stop_and_wait();
  const watch once(timers, pipe.here(), readiness::none, [] {});
  EXPECT_TRUE(once.watching());
}

TEST_F(Watch, AModifyThatIsRefusedLeavesItAsItWas) {
  const connection pipe;
  std::latch reports(1);
  watch paused(timers, pipe.here(), readiness::none, [] {});
  watch input(timers, pipe.here(), readiness::readable, [&] {
    if (pipe.read()) reports.count_down();
  });
  EXPECT_THROW(paused.modify(readiness::readable), std::system_error) << "the descriptor is watched already";
  EXPECT_TRUE(paused.watching());
  pipe.write();
  reports.wait();
  input = watch();
  EXPECT_TRUE(paused.modify(readiness::readable)) << "the other watch has ended";
}

/// The destructor of a capture is a user's code, and may use the service: no lock is held.
TEST_F(Watch, OneThatFindsNoMemoryDestroysItsCallbackWithoutALock) {
  struct looks_back {
    const watch* other;
    int* destroyed;
    looks_back(const watch& at, int& count) : other(&at), destroyed(&count) {}
    looks_back(looks_back&& from) noexcept : other(std::exchange(from.other, nullptr)), destroyed(from.destroyed) {}
    ~looks_back() {
      if (other != nullptr && other->watching()) ++*destroyed;
    }
    void operator()(readiness) const {}
  };
  const connection pipe;
  const connection second;
  const watch other(timers, pipe.here(), readiness::readable, [](readiness) {});
  int made = 0;
  int destroyed = 0;
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n, ++made) {
    const failing_allocations fail(n);
    try {
      const watch input(timers, second.here(), readiness::readable, looks_back(other, destroyed));
    } catch (const std::bad_alloc&) {
    }
    any_failed = fail.failed();
  }
  EXPECT_EQ(destroyed, made);
}

// Tokens.

TEST(WatchTable, ANumberNamesOneRecordOnly) {
  detail::watch_table table;
  const auto put = [&]() -> detail::watch_record& {
    return table.put(std::make_unique<detail::watch_record>(1, readiness::readable, [](readiness) {}));
  };
  const std::uint64_t first = put().token;
  const std::uint64_t second = put().token;
  EXPECT_EQ(table.find(first)->token, first);
  table.take(*table.find(first));
  EXPECT_EQ(table.find(first), nullptr);
  const std::uint64_t third = put().token;
  EXPECT_EQ(table.size(), 2u) << "the index must be used again";
  EXPECT_NE(third, first);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.find(second)->token, second);
  EXPECT_EQ(table.find(third)->token, third);
  EXPECT_EQ(table.find(second + 1000), nullptr);
}

}  // namespace
}  // namespace foliot::test

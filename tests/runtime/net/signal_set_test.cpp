// Signals of the process as tasks get them. The signals here are sent by the process to itself.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/signal_set.hpp>

#include "peers.hpp"
#include "signals.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::disposition_of;
using test::in_virtual_worlds;
using test::is_default;
using test::on_real_processors;
using test::send;
using test::signal_taker;

/// On virtual time, where the main thread takes the signals; on real processors, where a thread that is not the
/// runtime's takes them; and where the main thread does, which is a worker.
template <class Main>
void everywhere(Main main) {
  in_virtual_worlds(main);
  {
    const signal_taker other_thread;
    on_real_processors(main);
  }
#if !defined(__SANITIZE_THREAD__)
  on_real_processors(main);
#endif
}

/// The number of the next signal, or 0 for an error.
task<int> next_of(const signal_set& from) {
  const auto came = co_await from.next();
  co_return came ? came->number : 0;
}

TEST(SignalSet, GivesEachSignalAndItsSender) {
  everywhere([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1, SIGUSR2});
    EXPECT_TRUE(signals.has_value());
    for (const int each : {SIGUSR1, SIGUSR2, SIGUSR2, SIGUSR1}) {
      send(each);  // before the wait
      const auto came = co_await signals->next();
      EXPECT_EQ(came.value_or(received_signal()).number, each);
      EXPECT_EQ(came.value_or(received_signal()).sender, ::getpid());
      auto waiting = spawn(next_of(*signals), "waits");
      co_await sleep(1ms);
      send(each);  // during the wait
      const int number = co_await waiting.join();
      EXPECT_EQ(number, each);
    }
  });
}

TEST(SignalSet, EqualSignalsAreOneUntilItIsReturned) {
  in_virtual_worlds([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1, SIGUSR2, SIGRTMIN});
    for (const int each : {SIGUSR2, SIGRTMIN, SIGUSR1, SIGUSR2, SIGRTMIN}) send(each);
    std::vector<int> came;
    for (int i = 0; i < 3; ++i) {
      const int number = co_await next_of(*signals);
      came.push_back(number);
    }
    EXPECT_EQ(came, (std::vector{SIGUSR1, SIGUSR2, SIGRTMIN}));
    signals->set_read_deadline(1s);
    const auto none = co_await signals->next();
    EXPECT_TRUE(!none && none.error() == io_errc::deadline_exceeded);
    signals->set_read_deadline(instant::never());
    send(SIGUSR2);
    const int again = co_await next_of(*signals);
    EXPECT_EQ(again, SIGUSR2);
  });
}

TEST(SignalSet, IsACaseOfASelect) {
  in_virtual_worlds([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1});
    const instant begin = now();
    {
      auto chosen = co_await select(signals->next(), after(3s));
      EXPECT_EQ(chosen.index(), 1U);
      EXPECT_EQ(now(), begin + 3s);
    }
    auto sends = spawn(
        []() -> task<> {
          co_await sleep(1s);
          send(SIGUSR1);
        },
        "sends");
    {
      auto chosen = co_await select(signals->next(), after(3s));
      EXPECT_EQ(chosen.index(), 0U);
      EXPECT_EQ(chosen.get<0>().value_or(received_signal()).number, SIGUSR1);
      EXPECT_EQ(now(), begin + 4s);
    }
    co_await sends.join();
    send(SIGUSR1);
    {
      auto chosen = co_await select(signals->next(), otherwise());
      EXPECT_EQ(chosen.index(), 0U);
    }
    auto chosen = co_await select(signals->next(), otherwise());
    EXPECT_EQ(chosen.index(), 1U);
  });
}

// The report of a signal that was returned already does not end the next wait.
TEST(SignalSet, AWaitDoesNotEndWithoutASignal) {
  in_virtual_worlds([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1});
    const instant begin = now();
    for (int i = 0; i < 20; ++i) {
      send(SIGUSR1);  // the poller has not reported it when next() returns it
      const int number = co_await next_of(*signals);
      EXPECT_EQ(number, SIGUSR1);
      auto chosen = co_await select(signals->next(), after(1s));
      EXPECT_EQ(chosen.index(), 1U);
    }
    EXPECT_EQ(now(), begin + 20 * 1s);
  });
}

TEST(SignalSet, StopsDeadlinesAndClosesLoseNoSignal) {
  in_virtual_worlds([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1});
    auto stopped = spawn(next_of(*signals), "is stopped");
    co_await sleep(1ms);
    stopped.request_stop();
    send(SIGUSR1);
    int before = 0;
    try {
      before = co_await stopped.join();
    } catch (const cancelled&) {
      before = -1;
    }
    // The stop came first, so the signal is still there.
    EXPECT_EQ(before, -1);
    signals->set_read_deadline(duration::zero());
    const auto late = co_await signals->next();
    EXPECT_TRUE(!late && late.error() == io_errc::deadline_exceeded);
    signals->set_read_deadline(instant::never());
    const int number = co_await next_of(*signals);
    EXPECT_EQ(number, SIGUSR1);

    auto waiting = spawn(next_of(*signals), "waits");
    co_await sleep(1ms);
    signals->close();
    const int none = co_await waiting.join();
    EXPECT_EQ(none, 0);
    const auto closed = co_await signals->next();
    EXPECT_TRUE(!closed && closed.error() == io_errc::closed);
    send(SIGUSR1);  // still caught
    EXPECT_FALSE(is_default(SIGUSR1));
    *signals = signal_set();
    EXPECT_TRUE(is_default(SIGUSR1));
    const auto empty = co_await signals->next();
    EXPECT_TRUE(!empty && empty.error() == io_errc::closed);
  });
}

TEST(SignalSet, OnlyOneTaskWaits) {
  in_virtual_worlds([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1});
    auto waiting = spawn(next_of(*signals), "waits");
    co_await sleep(1ms);
    bool refused = false;
    try {
      static_cast<void>(co_await next_of(*signals));
    } catch (const std::logic_error&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
    send(SIGUSR1);
    const int number = co_await waiting.join();
    EXPECT_EQ(number, SIGUSR1);
  });
}

TEST(SignalSet, EachSetGetsTheSignalAndTheLastPutsTheDispositionBack) {
  everywhere([]() -> task<> {
    struct sigaction ignoring{};
    ignoring.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR2, &ignoring, nullptr);
    {
      auto first = signal_set::watch({SIGUSR1, SIGUSR2});
      {
        auto second = signal_set::watch({SIGUSR2, SIGUSR2});
        send(SIGUSR2);
        const int one = co_await next_of(*first);
        const int other = co_await next_of(*second);
        EXPECT_EQ(one, SIGUSR2);
        EXPECT_EQ(other, SIGUSR2);
      }
      send(SIGUSR2);
      const int still = co_await next_of(*first);
      EXPECT_EQ(still, SIGUSR2);
    }
    EXPECT_TRUE(is_default(SIGUSR1));
    EXPECT_EQ(disposition_of(SIGUSR2).sa_handler, SIG_IGN);
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGUSR2, &standard, nullptr);
  });
}

TEST(SignalSet, ANewSetHasNoSignalFromBefore) {
  in_virtual_worlds([]() -> task<> {
    auto first = signal_set::watch({SIGUSR1, SIGUSR2});
    send(SIGUSR1);
    first = signal_set::watch({SIGUSR1, SIGUSR2});
    auto again = signal_set::watch({SIGUSR1});
    send(SIGUSR2);
    const int fresh = co_await next_of(*first);
    EXPECT_EQ(fresh, SIGUSR2);
    auto chosen = co_await select(again->next(), otherwise());
    EXPECT_EQ(chosen.index(), 1U);
  });
}

TEST(SignalSet, AHandlerThatTheProgramHasInstalledStays) {
  in_virtual_worlds([]() -> task<> {
    struct sigaction own{};
    own.sa_handler = [](int) {};
    {
      auto signals = signal_set::watch({SIGUSR1});
      ::sigaction(SIGUSR1, &own, nullptr);
    }
    EXPECT_EQ(disposition_of(SIGUSR1).sa_handler, own.sa_handler);
    {
      auto signals = signal_set::watch({SIGUSR1});
      send(SIGUSR1);
      const int number = co_await next_of(*signals);
      EXPECT_EQ(number, SIGUSR1);
    }
    EXPECT_EQ(disposition_of(SIGUSR1).sa_handler, own.sa_handler);
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGUSR1, &standard, nullptr);
    co_return;
  });
}

TEST(SignalSet, SignalsThatCannotBeWatchedAreRefused) {
  in_virtual_worlds([]() -> task<> {
    for (const int each : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, 0, -1, 32, 65, 1000}) {
      EXPECT_THROW(static_cast<void>(signal_set::watch({SIGUSR1, each})), std::invalid_argument) << each;
    }
    EXPECT_TRUE(is_default(SIGUSR1));
    co_return;
  });
  EXPECT_THROW(static_cast<void>(signal_set::watch({SIGUSR1})), std::logic_error);
}

TEST(SignalSet, RuntimesOnOtherThreadsGetItToo) {
  const signal_taker other_thread;
  channel<int> there(2);
  {
    background_runtime beside;
    auto other = beside.handle().spawn([there]() -> task<> {
      auto signals = signal_set::watch({SIGUSR1});
      co_await there.send(0);
      const int number = co_await next_of(*signals);
      co_await there.send(number);
    });
    run([](channel<int> from) -> task<> {
      auto signals = signal_set::watch({SIGUSR1});
      co_await from.receive();
      send(SIGUSR1);
      const int number = co_await next_of(*signals);
      EXPECT_EQ(number, SIGUSR1);
      const auto same = co_await from.receive();
      EXPECT_EQ(same, SIGUSR1);
    }(there));
  }
  EXPECT_TRUE(is_default(SIGUSR1));
}

// In the child the signal has its usual effect. The parent's set does not see the child's signal.
TEST(SignalSet, TheChildOfAForkHasTheDispositionsFromBefore) {
  in_virtual_worlds([]() -> task<> {
    auto signals = signal_set::watch({SIGUSR1, SIGCHLD});
    const pid_t child = ::fork();
    if (child == 0) {
      if (!is_default(SIGCHLD)) ::_exit(1);
      ::raise(SIGUSR1);
      ::_exit(2);
    }
    const auto came = co_await signals->next();
    EXPECT_EQ(came.value_or(received_signal()).number, SIGCHLD);
    EXPECT_EQ(came.value_or(received_signal()).sender, child);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1) << status;
    auto chosen = co_await select(signals->next(), otherwise());
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_FALSE(is_default(SIGUSR1));
  });
}

// The locks of all objects that are told of forks are taken at once, in the order in which the objects began to be.
TEST(SignalSet, AForkTakesTheLocksOfOthersToo) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  run(
      []() -> task<> {
        auto signals = signal_set::watch({SIGUSR1});
        const background_runtime later;
        const pid_t child = ::fork();
        if (child == 0) ::_exit(is_default(SIGUSR1) ? 0 : 1);
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        co_return;
      }(),
      options);
}

TEST(SignalSet, OutlivesItsRuntime) {
  signal_set kept;
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  run(
      [](signal_set& into) -> task<> {
        into = signal_set::watch({SIGUSR1}).value();
        co_return;
      }(kept),
      options);
  send(SIGUSR1);
  run(
      [](const signal_set& from) -> task<> {
        const auto closed = co_await from.next();
        EXPECT_TRUE(!closed && closed.error() == io_errc::closed);
      }(kept),
      options);
  kept = signal_set();
  EXPECT_TRUE(is_default(SIGUSR1));
}

}  // namespace
}  // namespace foliot::runtime

// Tasks that wait for descriptors, under seeded schedules: a descriptor that becomes ready wakes the waiting task,
// regardless of which thread polls and of what else the processors do.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/descriptor.hpp>

#include "runtime/scheduler.hpp"
#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::join_handle;
using runtime::set_processors;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::yield;

constexpr std::uint64_t worlds = 200;

using runtime::detail::direction;

/// A descriptor of the world, as the tasks of the runtime use it.
runtime::detail::descriptor_ptr known_to_tasks(const descriptor& wire) {
  auto& here = runtime::detail::this_scheduler("a descriptor");
  return here.descriptors().add(wire.number(), runtime::detail::at_end::leaves_open, here).value();
}

/// A descriptor that tasks wait for. It stays readable, and edges report new data.
class socket {
 public:
  socket() : known_(known_to_tasks(wire_)) {}
  ~socket() { known_->close(); }
  socket(const socket&) = delete;
  socket& operator=(const socket&) = delete;

  /// The peer has written: the descriptor becomes readable.
  void write() {
    written_at_ = seam::monotonic_now();
    ++unread_;
    wire_.become(readiness::readable);
  }
  /// Returns false if a read would block.
  bool read() {
    require(known_->prepare(direction::in).has_value(), "an open descriptor was refused");
    if (unread_ == 0) return false;
    --unread_;
    return true;
  }
  [[nodiscard]] instant written_at() const { return written_at_; }
  [[nodiscard]] runtime::detail::descriptor& known() const { return *known_; }

 private:
  descriptor wire_;
  const runtime::detail::descriptor_ptr known_;
  int unread_ = 0;
  instant written_at_;
};

using runtime::detail::descriptor_awaiter;

task<> read_all(socket& from, int count, duration allowed) {
  for (int i = 0; i < count;) {
    if (!from.read()) {
      co_await descriptor_awaiter(from.known(), direction::in);
      continue;
    }
    ++i;
    if (allowed > duration::zero()) require(runtime::now() - from.written_at() < allowed, "the task was woken late");
  }
}

task<> keep_busy(bool& stop, duration longest) {
  while (!stop) {
    compute(up_to(longest));
    if (choose(2) == 0) {
      co_await yield();
    } else {
      co_await sleep(up_to(1ms));
    }
  }
}

struct manner {
  duration allowed{};  // between a write and its read, if the test says so
  int busy = 0;        // tasks that compute
  duration computes{};
  bool changes_processors = false;
};

task<> exchange(manner how) {
  constexpr int writes = 4;
  std::array<socket, 2> sockets;
  bool stop = false;
  std::vector<join_handle<>> others;
  for (int i = 0; i < how.busy; ++i) others.push_back(spawn(keep_busy(stop, how.computes)));
  auto one = spawn(read_all(sockets[0], writes, how.allowed));
  auto two = spawn(read_all(sockets[1], writes, how.allowed));
  seam::thread outside("outside", [&] {
    for (int i = 0; i < writes; ++i) {
      for (socket& each : sockets) {
        if (choose(2) == 0) pass_time(up_to(3ms));
        each.write();
      }
    }
  });
  if (how.changes_processors) {
    for (int i = 0; i < 3; ++i) {
      co_await sleep(up_to(3ms));
      set_processors(1 + choose(3));
    }
  }
  co_await one.join();
  co_await two.join();
  stop = true;
  for (auto& each : others) co_await each.join();
  co_await joined(outside);
}

TEST(RuntimePoller, TellsWhoWaits) {
  explore_runtimes(worlds, {quiet, interrupted}, [] { return exchange({.allowed = overslept}); });
  explore_runtimes(worlds, {rough}, [] { return exchange({}); });
}

TEST(RuntimePoller, TellsWhileProcessorsComeAndGo) {
  explore_runtimes(worlds, {quiet}, [] { return exchange({.allowed = overslept, .changes_processors = true}); });
  explore_runtimes(worlds, {rough}, [] { return exchange({.busy = 1, .computes = 2ms, .changes_processors = true}); });
}

TEST(RuntimePoller, TellsWhoWaitsBehindTasksThatCompute) {
  explore_runtimes(worlds, {quiet, rough}, [] { return exchange({.busy = 2, .computes = 1ms}); });
}

/// H9: a descriptor becomes ready while no thread polls: the worker that did runs a task that computes. The monitor
/// looks after its shorter patience, and hands the woken tasks to a free processor.
TEST(Hazards, H9ADescriptorWhileTheLastWhoPolledComputes) {
  const auto main = []() -> task<> {
    socket wire;
    auto reader = spawn(read_all(wire, 1, 2ms));
    co_await sleep(1ms);
    seam::thread outside("outside", [&] {
      pass_time(up_to(5ms));
      wire.write();
    });
    compute(50ms);
    co_await reader.join();
    co_await joined(outside);
  };
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] { run_task(2, main()); });
  }
}

/// Goes round for so long.
task<> go_round(duration length) {
  for (const instant until = runtime::now() + length; runtime::now() < until;) {
    compute(100us);
    co_await yield();
  }
}

/// H9 after a long time in which the monitor found nothing to do: it does not look later for that.
TEST(Hazards, H9ADescriptorWhileTheLastWhoPolledComputesAfterACalmTime) {
  const auto main = []() -> task<> {
    socket wire;
    auto reader = spawn(read_all(wire, 1, 2ms));
    co_await go_round(30ms);
    // Another worker sleeps in the poller by now. This one wakes it, and may be the next that sleeps there.
    static_cast<void>(spawn([]() -> task<> { co_return; }()));
    co_await sleep(1ms);
    seam::thread outside("outside", [&] {
      pass_time(up_to(5ms));
      wire.write();
    });
    compute(50ms);
    co_await reader.join();
    co_await joined(outside);
  };
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds / 4, with, [&] { run_task(2, main()); });
  }
}

/// Not a hazard but its price: the monitor wakes seldom while no worker could run what it finds, and while the workers
/// that are awake look into the poller themselves. (monitor.cpp: look().)
TEST(RuntimePoller, TheMonitorSleepsWhileWorkersGoRound) {
  const auto main = [](std::size_t busy) -> task<> {
    socket wire;
    auto reader = spawn(read_all(wire, 1, duration::zero()));
    std::vector<join_handle<>> others;
    for (std::size_t i = 0; i < busy; ++i) others.push_back(spawn(go_round(80ms)));
    co_await sleep(20ms);
    const std::uint64_t before = rings();
    co_await sleep(50ms);
    require(rings() - before < 25, "the monitor woke for nothing");
    wire.write();
    for (auto& each : others) co_await each.join();
    co_await reader.join();
  };
  for (const std::size_t busy : {1U, 2U, 3U}) {
    for (const std::size_t processors : {1U, 2U, 3U}) explore(10, quiet, [&] { run_task(processors, main(busy)); });
  }
}

/// H9 too: no thread polls, because all workers have always had tasks to run.
TEST(Hazards, H9ADescriptorWhileTasksGoOnWithoutAPause) {
  const auto main = []() -> task<> {
    socket wire;
    bool stop = false;
    const auto spin = [](bool& until) -> task<> {
      while (!until) {
        compute(10us);
        co_await yield();
      }
    };
    auto one = spawn(spin(stop));
    auto two = spawn(spin(stop));
    auto reader = spawn(read_all(wire, 2, 15ms));
    seam::thread outside("outside", [&] {
      for (int i = 0; i < 2; ++i) {
        pass_time(1ms + up_to(5ms));
        wire.write();
        pass_time(20ms);
      }
    });
    co_await reader.join();
    stop = true;
    co_await one.join();
    co_await two.join();
    co_await joined(outside);
  };
  explore(worlds / 4, quiet, [&] { run_task(1, main()); });
}

/// The runtime ends while tasks wait for descriptors, and while these become ready.
TEST(RuntimePoller, TheEndMayComeMeanwhile) {
  const auto leave = [](seam::thread& outside, std::deque<descriptor>& wires) -> task<> {
    const auto wait_for_it = [](descriptor& wire) -> task<> {
      const auto known = known_to_tasks(wire);
      static_cast<void>(known->prepare(direction::in));
      co_await descriptor_awaiter(*known, direction::in);
      known->close();
    };
    for (descriptor& each : wires) static_cast<void>(spawn(wait_for_it(each)));
    outside = seam::thread("outside", [&wires] {
      for (descriptor& each : wires) {
        pass_time(up_to(1ms));
        each.become(readiness::readable);
      }
    });
    co_await sleep(up_to(2ms));
  };
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      std::deque<descriptor> wires(3);
      seam::thread outside;
      run_task(1 + choose(3), leave(outside, wires));
      outside.join();
    });
  }
}

}  // namespace
}  // namespace foliot::simulation

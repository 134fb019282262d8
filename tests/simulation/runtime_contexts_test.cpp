// Contexts under seeded schedules: tasks and outside threads make, cancel and destroy them while deadlines come. A
// context that is done stays done, and so do its descendants; no deadline is early; nothing is left allocated.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/context.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::background;
using runtime::cancel_context;
using runtime::context;
using runtime::context_end;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::with_cancel;
using runtime::with_timeout;
using runtime::yield;

constexpr std::uint64_t worlds = 200;

/// A context and one of its ancestors.
struct pair {
  context above;
  context below;
};

void look_at(const pair& both) {
  const context_end above = both.above.err();
  const context_end below = both.below.err();
  if (above != context_end::none) require(below != context_end::none, "a context is done and its descendant is not");
  if (below == context_end::none) return;
  require(both.below.err() == below, "the end of a context has changed");
  require(both.below.cause() != nullptr, "a context is done without a cause");
  if (below == context_end::cancelled) return;
  require(runtime::now() >= both.below.deadline(), "early");
}

cancel_context child_of(const context& above) {
  switch (choose(3)) {
    case 0: return with_cancel(above);
    case 1: return with_timeout(above, up_to(2ms) - 100us);  // now and then in the past
    default: return with_timeout(above, 1h);
  }
}

/// Grows a tree below a context that other tasks cancel, and cancels parts of it.
task<> gardener(context root) {
  std::deque<cancel_context> own;
  std::vector<pair> known;
  for (int i = 0; i < 8; ++i) {
    const context above = own.empty() || choose(3) == 0 ? root : context(own[choose(own.size())]);
    if (choose(3) == 0) {
      known.push_back({above, child_of(above)});  // without an owner
    } else {
      own.push_back(child_of(above));
      known.push_back({above, own.back()});
    }
    switch (choose(6)) {
      case 0: co_await yield(); break;
      case 1: co_await sleep(up_to(1ms)); break;
      case 2:
        if (!own.empty()) own.pop_front();
        break;
      case 3: {
        const pair& one = known[choose(known.size())];
        for (cancel_context& each : own) {
          if (each != one.above) continue;
          each.cancel();
          require(one.below.err() != context_end::none, "a cancel has returned before all descendants were done");
        }
        break;
      }
      case 4: known.erase(known.begin() + static_cast<std::ptrdiff_t>(choose(known.size()))); break;
      default: break;
    }
    for (const pair& each : known) look_at(each);
    if (own.empty()) own.push_back(child_of(root));
  }
}

task<> tree_lives() {
  cancel_context root = child_of(background());
  seam::thread outside("outside", [&root, known = context(root)] {
    pass_time(up_to(2ms));
    if (choose(2) == 0) root.cancel();
    cancel_context late = with_cancel(known);
    if (known.err() != context_end::none)
      require(late.err() != context_end::none, "a context is done and its descendant is not");
  });
  auto one = spawn(gardener(root));
  auto two = spawn(gardener(root));
  co_await one.join();
  co_await two.join();
  co_await joined(outside);
  root.cancel();
  require(runtime::counters().timers == 0, "a timer was left behind");
}

TEST(RuntimeContexts, ATreeGrowsAndEnds) { explore_runtimes(worlds, {quiet, interrupted, rough}, tree_lives); }

/// A deadline comes while the last references to the context are dropped.
task<> deadline_and_end() {
  for (int i = 0; i < 4; ++i) {
    const duration length = up_to(200us) + 1us;
    std::array<context, 2> known;
    known[0] = known[1] = with_timeout(background(), length);  // without an owner
    auto lets_go = [](context& which, duration when) -> task<> {
      co_await sleep(when);
      which = background();
    };
    auto other = spawn(lets_go(known[0], length));
    co_await sleep(choose(2) == 0 ? length : up_to(200us));
    known[1] = background();
    co_await other.join();
  }
  require(runtime::counters().timers == 0, "a timer was left behind");
}

TEST(RuntimeContexts, ADeadlineComesAsTheLastLetGo) {
  explore_runtimes(worlds, {quiet, interrupted, rough}, deadline_and_end);
}

}  // namespace
}  // namespace foliot::simulation

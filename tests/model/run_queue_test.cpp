// The shipped run queue with a small capacity: its owner, thieves, and each memory order that they need.
#include <array>
#include <cstddef>
#include <vector>

#include "audited.hpp"
#include "runtime/run_queue.hpp"

namespace foliot::model {
namespace {

using runtime::detail::basic_run_queue;
using runtime::detail::task_state;

/// A task that is never resumed: it holds what its maker wrote, and counts how often it was run.
class job final : public task_state {
 public:
  job() : task_state(no_scheduler(), "job") {}
  ~job() override = default;

  void finish(ending) noexcept override {}

  seam::plain<int> written{0};
  seam::plain<int> runs{0};

 private:
  static runtime::detail::scheduler& no_scheduler() noexcept {
    alignas(std::max_align_t) static std::array<std::byte, 8> place;
    return reinterpret_cast<runtime::detail::scheduler&>(place);  // which no code uses
  }
};

template <std::size_t Count>
class jobs {
 public:
  /// Writes a task and pushes it. If the queue is full, its owner runs the task.
  template <class Queue>
  void push(Queue& to, std::size_t which) {
    all_[which].written = 1;
    if (!to.push(all_[which])) run(&all_[which]);
  }
  void run(task_state* which) {
    if (which == nullptr) return;
    job& known = static_cast<job&>(*which);
    require(known.written == 1, "the thread that runs a task must see its maker's write");
    ++known.runs;
  }
  void all_have_run() {
    for (job& each : all_) require(each.runs == 1, "each task must run once");
  }

 private:
  std::array<job, Count> all_;
};

template <class Queue>
void steal_into_own(Queue& from, auto& work) {
  Queue own;
  work.run(from.steal_half(own));
  while (task_state* const each = own.pop()) work.run(each);
}

/// The owner fills and empties its queue, so that places are used again; thieves take halves, or the oldest.
template <std::uint32_t Capacity, std::size_t Count>
void owner_and_thieves(unsigned thieves, bool pops) {
  basic_run_queue<Capacity> queue;
  jobs<Count> work;
  name(queue, "queue");
  std::vector<seam::thread> others;
  for (unsigned t = 0; t < thieves; ++t) {
    others.emplace_back("thief", [&] {
      if (pops) {
        work.run(queue.pop());
      } else {
        steal_into_own(queue, work);
      }
    });
  }
  for (std::size_t i = 0; i < Count; ++i) work.push(queue, i);
  work.run(queue.pop());
  for (seam::thread& each : others) each.join();
  while (task_state* const each = queue.pop()) work.run(each);
  work.all_have_run();
}

TEST(RunQueue, GivesEachTaskToOne) {
  holds({.name = "run queue, a thief", .preemptions = 3}, [] { owner_and_thieves<4, 3>(1, false); });
  holds({.name = "run queue, two thieves"}, [] { owner_and_thieves<4, 2>(2, false); });
  holds({.name = "run queue, full", .preemptions = 3}, [] { owner_and_thieves<2, 3>(1, false); });
  holds({.name = "run queue, one who pops", .preemptions = 3}, [] { owner_and_thieves<2, 3>(1, true); });
}

/// A thief's own queue, from which another thief steals the tasks that it has stolen.
void stolen_again() {
  basic_run_queue<4> first;
  basic_run_queue<4> second;
  jobs<3> work;
  for (std::size_t i = 0; i < 3; ++i) work.push(first, i);
  seam::thread other("other thief", [&] { steal_into_own(second, work); });
  work.run(first.steal_half(second));
  other.join();
  while (task_state* const each = second.pop()) work.run(each);
  while (task_state* const each = first.pop()) work.run(each);
  work.all_have_run();
}

TEST(RunQueue, MayBeRobbedOfItsBooty) { holds({.name = "run queue, stolen again", .preemptions = 3}, stolen_again); }

TEST(Orders, OfTheRunQueue) {
  const auto lives = [] {
    switch (choose(4)) {
      case 0: return owner_and_thieves<2, 3>(1, false);
      case 1: return owner_and_thieves<2, 2>(2, true);
      case 2: return owner_and_thieves<4, 2>(2, false);
      default: return stolen_again();
    }
  };
  // All but the first in the file: the owner's look at the head, before it overwrites what has been taken. It keeps the
  // taker's load from being later than that store: load buffering, which the model does not have.
  const support::leaks_ignored for_what_is_abandoned;
  const std::vector<audited> all = audit({.name = "orders of the run queue"}, lives);
  ASSERT_EQ(all.size(), 9u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].found.failed.has_value(), i != 0) << all[i].weakened.describe();
  }
}

}  // namespace
}  // namespace foliot::model

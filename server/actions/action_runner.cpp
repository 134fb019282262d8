#include "action_runner.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>

#include "server/access/server_tubes.hpp"

namespace foliot::program {

action_runner::action_runner(jobs::broker& by, authority* who, std::size_t largest_job)
    : by_(by), on_{by, who, largest_job, [this] { return ends_.load(seam::relaxed); }} {}

void action_runner::wake() noexcept {
  try {
    static_cast<void>(wakes_.try_send(woken{}));
  } catch (const std::bad_alloc&) {
    // It looks again within longest_pause of its waits.
  }
}

void action_runner::end() noexcept {
  ends_.store(true, seam::relaxed);
  wake();
}

task<> action_runner::keep_on() {
  while (!on_.ends()) {
    bool is_done = false;
    bool has_failed = false;
    const instant begin = runtime::now();
    try {
      auto taking = take_one();
      is_done = co_await taking;
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const runtime::cancelled&) {
      throw;
    } catch (const std::exception&) {
      has_failed =
          true;  // the store does not answer, or memory or room in the broker is missing: later there may be some
    }
    if (has_failed) {
      co_await runtime::sleep(longest_pause);
    } else if (is_done) {
      const duration taken = runtime::now() - begin;
      auto pausing = pause_after(taken);
      co_await pausing;
    } else {
      auto waiting = wait_for_work();
      co_await waiting;
    }
  }
}

task<bool> action_runner::take_one() {
  auto claiming = by_.execute(jobs::claim{.tubes = {std::string(tube_of_actions), std::string(tube_of_stops)}});
  const std::uint64_t begun = records_.begin_look();
  std::deque<jobs::in_flight<jobs::count_tube>> counting;
  for (const std::string_view each : tubes_of_server) counting.emplace_back(by_, jobs::count_tube{std::string(each)});
  // Where others can write, a record may be there right behind each look.
  bool may_exist = by_.has_other_nodes();
  // First: if one of them fails, the claim is given back with its request.
  for (jobs::in_flight<jobs::count_tube>& each : counting) {
    const jobs::count_answer counted = co_await each;
    may_exist = may_exist || counted.counts.all() > 0 || counted.what != jobs::count_answer::kind::done;
  }
  records_.note(begun, may_exist);
  jobs::claim_answer got = co_await claiming;
  if (got.jobs.empty()) co_return false;
  jobs::claimed_job& record = got.jobs.front();
  if (record.job.tube == tube_of_stops) {  // its time is over, and no action has taken it
    auto finishing = by_.execute(jobs::finish{record.token});
    static_cast<void>(co_await finishing);
    co_return true;
  }
  latest_ = std::max(latest_, record.job.priority);
  action_turn turn(on_, std::move(record), latest_);
  auto taking = turn.take();
  co_await taking;
  co_return true;
}

task<> action_runner::wait_for_work() {
  // What another node does, or the time, becomes known by a look alone.
  const duration until_look =
      by_.has_other_nodes() ? duration(std::chrono::seconds(1)) : duration(std::chrono::seconds(10));
  auto what = co_await runtime::select(wakes_.receive(), runtime::after(until_look));
  static_cast<void>(what);
}

task<> action_runner::pause_after(duration turn) {
  const bool is_crowded = by_.counters().queued > many_queued;
  const duration shortest = is_crowded ? duration(std::chrono::milliseconds(50)) : duration::zero();
  co_await runtime::sleep(std::clamp(turn, shortest, longest_pause));
}

}  // namespace foliot::program

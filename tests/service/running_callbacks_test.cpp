// The list of running callbacks alone: which of them are reported, and when a wait for them ends.
#include "running_callbacks.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::test {
namespace {

using detail::running_callback;
using detail::running_callbacks;

/// What the list asks of a timer's record.
struct named {
  [[nodiscard]] detail::shared_name name() const noexcept { return text; }

  detail::shared_name text = std::make_shared<const std::string>("a timer");
};

constexpr duration at_once = duration::nanoseconds(0);
constexpr duration never_within_a_test = duration::nanoseconds(3'600'000'000'000);

class RunningCallbacks : public ::testing::Test {
 protected:
  /// A list whose reports are passed to `tell`.
  template <class Tell>
  detail::shard_options reporting(duration limit, Tell tell) {
    detail::shard_options options{
        monotonic_clock::instance(), seam::clock_id::monotonic, false, 1, false, {}, {}, false, {}};
    options.stalls = {.longer_than = limit, .tell = tell};
    options.on_exception = [this](std::exception_ptr) { ++failures_; };
    return options;
  }

  mutex lock_{lock_rank::engine};
  condition done_;
  named timer_;
  named other_;
  int failures_ = 0;
};

TEST_F(RunningCallbacks, WithNoneThereIsNothingToLookFor) {
  const auto options = reporting(at_once, [](const stall&) { FAIL() << "none is running"; });
  running_callbacks<named> running(options);
  const lock held(lock_);
  EXPECT_TRUE(running.report_overdue(lock_, false).is_never());
}

TEST_F(RunningCallbacks, TheNextLookIsWhenTheFirstIsOverdue) {
  const auto options = reporting(never_within_a_test, [](const stall&) { FAIL() << "none is overdue"; });
  running_callbacks<named> running(options);
  running_callback<named> late(timer_, {}, {}, never_within_a_test + never_within_a_test);
  running_callback<named> soon(other_, {}, {}, never_within_a_test);
  const lock held(lock_);
  running.add(soon);
  running.add(late);
  EXPECT_EQ(running.report_overdue(lock_, false), soon.report_at);
  running.remove(soon);
  EXPECT_EQ(running.report_overdue(lock_, false), late.report_at);
  running.remove(late);
}

TEST_F(RunningCallbacks, AnOverdueOneIsReportedByNameWithoutTheLock) {
  bool is_over = false;
  std::vector<std::string> names;
  const auto options = reporting(at_once, [&](const stall& one) {
    EXPECT_EQ(one.kind, stall_kind::callback_runs);
    EXPECT_EQ(one.waited, duration::zero());
    names.emplace_back(one.name);
    const lock free(lock_);
    is_over = true;
    throw std::runtime_error("from the report");
  });
  running_callbacks<named> running(options);
  running_callback<named> one(timer_, {}, {}, at_once);
  const lock held(lock_);
  running.add(one);
  const instant before = seam::monotonic_now();
  EXPECT_TRUE(running.report_overdue(lock_, is_over).is_never());
  EXPECT_EQ(names, std::vector<std::string>{"a timer"});
  EXPECT_GE(one.report_at - before, before - one.began) << "the next report is due when it has lasted twice as long";
  EXPECT_EQ(failures_, 1) << "the report's exception goes to the handler";
  running.remove(one);
}

TEST_F(RunningCallbacks, AWaitReportsTheCallbackOfItsTimer) {
  bool over = false;
  std::vector<const named*> asked;
  running_callback<named>* expected = nullptr;
  const auto options = reporting(at_once, [&](const stall& one) {
    EXPECT_EQ(one.kind, stall_kind::end_waits);
    EXPECT_EQ(one.fired.deadline, expected->fired.deadline);
    over = true;
  });
  running_callbacks<named> running(options);
  running_callback<named> others(other_, firing{instant::from_nanoseconds(1), {}}, {}, at_once);
  running_callback<named> its(timer_, firing{instant::from_nanoseconds(2), {}}, {}, at_once);
  expected = &its;
  const lock held(lock_);
  running.add(its);
  running.add(others);
  running.wait(lock_, done_, stall_kind::end_waits, &timer_, instant::never(), [&over] { return over; });
  EXPECT_TRUE(over);
  running.remove(others);
  running.remove(its);
}

TEST_F(RunningCallbacks, AWaitEndsAtItsDeadline) {
  const auto options = reporting(never_within_a_test, [](const stall&) { FAIL() << "none is overdue"; });
  running_callbacks<named> running(options);
  const lock held(lock_);
  int looks = 0;
  running.wait(lock_, done_, stall_kind::service_waits, nullptr, seam::monotonic_now(), [&looks] {
    ++looks;
    return false;
  });
  EXPECT_EQ(looks, 1);
}

TEST_F(RunningCallbacks, TheChildOfAForkForgetsThoseOfOtherThreads) {
  const auto options = reporting(never_within_a_test, [](const stall&) {});
  running_callbacks<named> running(options);
  running_callback<named> mine(timer_, {}, {}, never_within_a_test + never_within_a_test);
  const lock held(lock_);
  running.add(mine);
  std::optional<running_callback<named>> gone;
  std::thread([&] { gone.emplace(other_, firing{}, std::source_location{}, never_within_a_test); }).join();
  running.add(*gone);
  EXPECT_EQ(running.report_overdue(lock_, false), gone->report_at);
  running.forget_other_threads();
  EXPECT_EQ(running.report_overdue(lock_, false), mine.report_at);
  running.remove(mine);
}

}  // namespace
}  // namespace foliot::test

// The entries of goim's log alone: which an operation gathers, and when they are written. timer_log_test.cpp has the
// log of a service.
#include "lineage/goim_log.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/queue/goim_heap.hpp>

namespace foliot::test {
namespace {

using detail::goim_log;

/// What the log asks of a timer's record.
struct named : goim_heap::node_type {
  explicit named(const char* given) : text(std::make_shared<const std::string>(given)) {}
  [[nodiscard]] detail::shared_name name() const noexcept { return text; }

  detail::shared_name text;
};

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

class GoimLog : public ::testing::Test {
 protected:
  GoimLog() {
    options.log = [this](const timer_log_entry& entry) {
      events.push_back(entry.what);
      names.emplace_back(entry.name);
      last = entry;
      if (throws) throw std::runtime_error("from the log");
    };
    options.on_exception = [this](std::exception_ptr) { ++failures; };
  }
  ~GoimLog() override {
    heap.stop(first);
    heap.stop(second);
  }
  std::vector<timer_event> took() { return std::exchange(events, {}); }

  virtual_clock clock{at(10)};
  detail::shard_options options{clock, seam::clock_id::monotonic, true, 1, false, {}, {}, false, {}};
  goim_heap heap;
  named first{"first"};
  named second{"second"};
  std::vector<timer_event> events;
  std::vector<std::string> names;
  timer_log_entry last;
  bool throws = false;
  int failures = 0;
};

using enum timer_event;

TEST_F(GoimLog, GathersUntilItIsWritten) {
  goim_log log(options);
  EXPECT_TRUE(log.wanted());
  heap.start(first, at(100));
  log.started(first, std::nullopt);
  EXPECT_EQ(took(), (std::vector<timer_event>{}));
  log.write();
  EXPECT_EQ(took(), (std::vector{alarm_moved, added}));
  EXPECT_EQ(names, (std::vector<std::string>{"", "first"}));
  EXPECT_EQ(last.index, 0);
  EXPECT_EQ(last.timer, &first);
  log.write();
  EXPECT_EQ(took(), (std::vector<timer_event>{})) << "each entry is written once";
}

TEST_F(GoimLog, ATimerThatIsNotTheEarliestMovesNoAlarm) {
  heap.start(first, at(100));
  heap.start(second, at(200));
  {
    goim_log log(options);
    log.started(second, at(150));
  }
  EXPECT_EQ(took(), (std::vector{removed, added})) << "it was queued before, and is again";
  EXPECT_EQ(last.index, 1);
}

TEST_F(GoimLog, OfAStopThatFindsATimerAndOneThatDoesNot) {
  heap.start(first, at(100));
  goim_log log(options);
  log.stopping(first);
  log.stopping(second);
  log.ending(second);
  log.write();
  EXPECT_EQ(took(), (std::vector{removed, not_there})) << "an end without a pending timer is no event";
}

TEST_F(GoimLog, OfAnExpiryTheDeadlineIsTheOneThatCame) {
  goim_log log(options);
  log.expired(first, at(5));
  log.calling(first, at(5));
  log.write();
  EXPECT_EQ(took(), (std::vector{removed, expired}));
  EXPECT_EQ(last.deadline, at(5));
}

TEST_F(GoimLog, OfAnAlarmTheDelayIsFromNow) {
  goim_log log(options);
  log.all_fired(at(25));
  log.write();
  EXPECT_EQ(took(), (std::vector{alarm_set}));
  EXPECT_EQ(last.delay, duration::nanoseconds(15));
  log.all_fired(instant::never());
  log.write();
  EXPECT_EQ(took(), (std::vector{none_left, alarm_set}));
}

TEST_F(GoimLog, AnExceptionOfTheLogDoesNotKeepTheNextEntryBack) {
  throws = true;
  heap.start(first, at(100));
  goim_log log(options);
  log.started(first, std::nullopt);
  log.write();
  EXPECT_EQ(took(), (std::vector{alarm_moved, added}));
  EXPECT_EQ(failures, 2);
}

TEST_F(GoimLog, WithoutALogNothingIsGathered) {
  options.log = {};
  heap.start(first, at(100));
  goim_log log(options);
  EXPECT_FALSE(log.wanted());
  log.started(first, std::nullopt);
  log.all_fired(at(100));
  log.write();
  EXPECT_EQ(took(), (std::vector<timer_event>{}));
}

}  // namespace
}  // namespace foliot::test

// No exception comes out of the C interface: the n-th allocation of a whole life fails, for n = 0, 1, 2, … until none
// does, and each failure is a status.
#include <foliot/foliot.h>

#include <gtest/gtest.h>

#include "support/allocations.hpp"

namespace foliot::test {
namespace {

TEST(CFaults, TheNthAllocationOfALifeFails) {
  struct tally {
    int fired = 0;
    int released = 0;
  };
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    tally counts;
    foliot_virtual_clock* time = nullptr;
    foliot_service* service = nullptr;
    foliot_timer* timer = nullptr;
    foliot_ticker* ticker = nullptr;
    foliot_status status = FOLIOT_OK;
    const auto fire = [](void* to, const foliot_firing*) { ++static_cast<tally*>(to)->fired; };
    const auto release = [](void* to) { ++static_cast<tally*>(to)->released; };
    int started = 0;
    {
      const failing_allocations fail(n);
      foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
      status = foliot_virtual_clock_create(0, &time);
      options.virtual_time = time;
      if (status == FOLIOT_OK) status = foliot_service_create(&options, &service);
      if (status == FOLIOT_OK) status = foliot_timer_create(service, fire, &counts, release, &timer);
      if (status == FOLIOT_OK) status = foliot_timer_reset(timer, FOLIOT_SECOND, nullptr);
      if (status == FOLIOT_OK) ++started;
      if (status == FOLIOT_OK) status = foliot_ticker_create(service, FOLIOT_SECOND, fire, &counts, release, &ticker);
      if (status == FOLIOT_OK) ++started;
      if (status == FOLIOT_OK) status = foliot_virtual_clock_advance(time, FOLIOT_SECOND, nullptr);
      any_failed = fail.failed();
    }
    EXPECT_EQ(status, any_failed ? FOLIOT_NO_MEMORY : FOLIOT_OK) << n << ": " << foliot_error_message();
    if (any_failed) {
      EXPECT_STREQ(foliot_error_message(), "foliot: out of memory");
    }
    EXPECT_EQ(counts.released, 0) << "what was not made has released nothing";
    if (time != nullptr) foliot_virtual_clock_advance_to(time, FOLIOT_SECOND, 0, nullptr);
    EXPECT_EQ(counts.fired, started);
    const int made = (timer != nullptr ? 1 : 0) + (ticker != nullptr ? 1 : 0);
    foliot_timer_destroy(timer);
    foliot_ticker_destroy(ticker);
    EXPECT_EQ(counts.released, made);
    foliot_service_destroy(service);
    foliot_virtual_clock_destroy(time);
  }
  EXPECT_GT(n, 5u);
}

// The engines are listed at the first call that has the memory for them, and for ever.
TEST(CFaults, TheNthAllocationOfTheFirstSearchForAnEngineFails) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    const std::size_t before = live_bytes();
    const foliot_engine* found = nullptr;
    foliot_status status = FOLIOT_OK;
    {
      const failing_allocations fail(n);
      status = foliot_engine_find("goim", &found);
      any_failed = fail.failed();
    }
    EXPECT_EQ(status, any_failed ? FOLIOT_NO_MEMORY : FOLIOT_OK);
    EXPECT_EQ(found == nullptr, any_failed);
    if (any_failed) {
      EXPECT_EQ(live_bytes(), before) << "a list that was not completed must be freed";
    }
  }
}

TEST(CFaults, TheNthAllocationOfALoopFails) {
  struct tally {
    int fired = 0;
    int released = 0;
  };
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    tally counts;
    foliot_loop* loop = nullptr;
    foliot_loop_timer* timer = nullptr;
    foliot_loop_ticker* ticker = nullptr;
    foliot_status status = FOLIOT_OK;
    const auto fire = [](void* to, const foliot_firing*) { ++static_cast<tally*>(to)->fired; };
    const auto release = [](void* to) { ++static_cast<tally*>(to)->released; };
    std::size_t pending = 0;
    {
      const failing_allocations fail(n);
      foliot_loop_options options = FOLIOT_LOOP_OPTIONS_INIT;
      options.descriptor = true;
      status = foliot_loop_create(&options, &loop);
      if (status == FOLIOT_OK) status = foliot_loop_timer_create(loop, fire, &counts, release, &timer);
      if (status == FOLIOT_OK) status = foliot_loop_timer_reset(timer, 0, nullptr);
      if (status == FOLIOT_OK) ++pending;
      if (status == FOLIOT_OK) {
        status = foliot_loop_ticker_create(loop, 3600 * FOLIOT_SECOND, fire, &counts, release, &ticker);
      }
      if (status == FOLIOT_OK) ++pending;
      if (status == FOLIOT_OK) status = foliot_loop_expire(loop, 0, nullptr, nullptr);
      any_failed = fail.failed();
    }
    EXPECT_EQ(status, any_failed ? FOLIOT_NO_MEMORY : FOLIOT_OK) << n << ": " << foliot_error_message();
    EXPECT_EQ(counts.released, 0) << "what was not made has released nothing";
    if (loop != nullptr) {
      EXPECT_EQ(foliot_loop_expire(loop, 0, nullptr, nullptr), FOLIOT_OK);
    }
    EXPECT_EQ(counts.fired, pending > 0 ? 1 : 0);
    EXPECT_EQ(foliot_loop_pending(loop), pending == 2 ? 1u : 0u);
    const int made = (timer != nullptr ? 1 : 0) + (ticker != nullptr ? 1 : 0);
    foliot_loop_timer_destroy(timer);
    foliot_loop_ticker_destroy(ticker);
    EXPECT_EQ(counts.released, made);
    foliot_loop_destroy(loop);
  }
  EXPECT_GT(n, 5u);
}

}  // namespace
}  // namespace foliot::test

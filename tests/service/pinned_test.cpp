// What is particular to timers in the user's object: where they lie, that they allocate nothing, and that they may be
// destroyed inside their own callback. What they have in common with handles is in timer_test.cpp, lifetime_test.cpp
// and races_test.cpp, which run for both.
#include <foliot/service/pinned_timer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/queue/foliot_queue.hpp>
#include <foliot/service/timer_batch.hpp>

#include "fixture.hpp"
#include "service/shard_record.hpp"
#include "support/allocations.hpp"
#include "support/fork.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

template <std::size_t Size>
struct closure_of_size {
  std::array<char, Size> bytes{};
  void operator()() const {}
};

static_assert(sizeof(pinned_timer<closure_of_size<1>>) == 96);
static_assert(sizeof(pinned_timer<closure_of_size<16>>) == 96);
static_assert(sizeof(pinned_timer<closure_of_size<32>>) == 96);
static_assert(sizeof(pinned_timer<closure_of_size<33>>) == 144);
static_assert(alignof(pinned_timer<closure_of_size<16>>) == 16, "coroutine frames and malloc() have no more");
static_assert(!std::is_copy_constructible_v<pinned_timer<closure_of_size<1>>>);
static_assert(!std::is_move_constructible_v<pinned_timer<closure_of_size<1>>>);
static_assert(!pinned_timer_function<void()> && !pinned_timer_function<int>);

using foliots_record = detail::pinned_record<foliot_queue, detail::timer_word, detail::fixed_home>;
static_assert(sizeof(foliots_record) == detail::pinned_layout::record_room);

constexpr std::size_t line_of(std::uintptr_t address) { return address / 64; }

/// The 48 bytes: flags, owner, word, node.
TEST(PinnedLayout, WhatAStartTouchesLiesOnOneCacheLineAtEachAddress) {
  alignas(64) std::array<std::byte, 256> room{};
  for (std::size_t at = 0; at <= 128; at += detail::pinned_layout::alignment) {
    const detail::pinned_layout place(room.data() + at, true);
    const auto first = reinterpret_cast<std::uintptr_t>(place.record()) + 16;
    EXPECT_EQ(line_of(first), line_of(first + 47)) << at;
    EXPECT_EQ(detail::pinned_layout::record_first(reinterpret_cast<std::uintptr_t>(room.data() + at)),
              place.record() == room.data() + at);
    // The closure is in the rest of the 96 bytes.
    const bool behind = place.closure() == place.record() + detail::pinned_layout::record_room;
    EXPECT_EQ(place.closure(), room.data() + at + (behind ? 64 : 0));
    EXPECT_EQ(place.record(), room.data() + at + (behind ? 0 : 32));
    EXPECT_EQ(place.record() + place.to_closure().bytes(), place.closure());
    const detail::pinned_layout large(room.data() + at, false);
    EXPECT_EQ(large.closure(), room.data() + at + 96);
    EXPECT_EQ(large.record() + large.to_closure().bytes(), large.closure());
  }
}

TEST(PinnedLayout, TheMembersThatAStartTouchesAreInThe48Bytes) {
  virtual_clock clock;
  timer_service timers(clock);
  alignas(64) std::array<std::byte, 96> room{};
  static constexpr detail::pinned_operations none{nullptr, nullptr};
  class no_engine final : public detail::engine {
    void pin(detail::pinned_layout, const detail::pinned_operations&, const std::optional<instant>&) override {}
    bool unpin(detail::timer_record&) noexcept override { return false; }
    detail::timer_record* make(timer_callback, duration) override { return nullptr; }
    void set_location(detail::timer_record&, std::source_location) noexcept override {}
    void set_name(detail::timer_record&, std::string_view) override {}
    reset_result reset(detail::timer_record&, instant) override { return {}; }
    reset_result reset(detail::timer_record&, duration, duration) override { return {}; }
    reset_result restart(detail::timer_record&, duration) override { return {}; }
    stop_result stop(detail::timer_record&) noexcept override { return {}; }
    stop_result stop_and_wait(detail::timer_record&) noexcept override { return {}; }
    void destroy(detail::timer_record*) noexcept override {}
    void detach(detail::timer_record*) noexcept override {}
    void run_posted(detail::timer_record&) noexcept override {}
    void drop_posted(detail::timer_record&) noexcept override {}
    bool pending(const detail::timer_record&) const noexcept override { return false; }
    std::uint64_t skipped(const detail::timer_record&) const noexcept override { return 0; }
    const foliot::clock& time() const noexcept override { return monotonic_clock::instance(); }
    instant next_deadline() override { return instant::never(); }
    expiry run_due(instant, budget) override { return {}; }
  } engine;
  const detail::pinned_layout place(room.data(), true);
  auto* const made =
      std::construct_at(reinterpret_cast<foliots_record*>(place.record()), engine, none, place.to_closure());
  const auto is_hot = [&](const void* member, std::size_t size) {
    const auto* const at = static_cast<const std::byte*>(member);
    return at >= place.record() + 16 && at + size <= place.record() + 64;
  };
  EXPECT_TRUE(is_hot(&made->word(), sizeof(detail::timer_word)));
  EXPECT_TRUE(is_hot(static_cast<timer_node*>(made), sizeof(timer_node)));
  EXPECT_TRUE(is_hot(&made->kind_, 1));
  EXPECT_TRUE(is_hot(&made->running_, 1));
  EXPECT_EQ(static_cast<const void*>(static_cast<detail::timer_record*>(made)), place.timer());
  // A timer whose 48 bytes are on one line has no other line fetched; the last byte is on the last line.
  EXPECT_TRUE(is_hot(made->prefetched().first, 1));
  EXPECT_EQ(made->prefetched().last, place.record() + 63);
  std::destroy_at(made);
}

/// Each pinned timer at each address works.
TEST(PinnedLayout, TimersAtEachAddressFire) {
  virtual_clock clock;
  timer_service timers(clock);
  const auto life = [&]<class Function>(Function function, int& fired) {
    using kind = pinned_timer<Function>;
    alignas(64) std::array<std::byte, 64 + sizeof(kind)> room{};
    for (std::size_t at = 0; at < 64; at += alignof(kind)) {
      auto* const t = new (room.data() + at) kind(timers, 1ms, function);
      clock.advance(1ms);
      t->reset(1ms);
      clock.advance(1ms);
      EXPECT_EQ(t->stop(), stop_result::idle);
      std::destroy_at(t);
    }
    EXPECT_EQ(fired, 8);
  };
  int fired = 0;
  life([&fired] { ++fired; }, fired);
  fired = 0;
  life([&fired, large = std::array<char, 100>{}] { fired += 1 + large[0]; }, fired);
}

std::vector<std::string> engines_that_can() {
  std::vector<std::string> can;
  for (const std::string_view each : timer_service::engines()) {
    if (has_pinned_timers(std::string(each))) can.emplace_back(each);
  }
  return can;
}

TEST(PinnedEngines, AreThoseWhoseRecordsFit) {
  EXPECT_EQ(engines_that_can(), (std::vector<std::string>{"foliot", "global-heap", "bucket-heaps", "quad-heap-lazy",
                                                          "goim", "goim-heap", "epoll-heap"}));
}

std::string refusal_of(service_options options) {
  timer_service timers(std::move(options));
  const auto captured = std::make_shared<int>(0);
  try {
    const pinned_timer t(timers, 1ms, [captured] {});
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(captured.use_count(), 1) << "the closure must be destroyed";
    EXPECT_EQ(timers.counters().started, 0u);
    return error.what();
  }
  return "";
}

TEST(PinnedTimer, ItsEndLetsADrainEnd) {
  timer_service timers;
  std::optional<pinned_timer<std::function<void()>>> pending(std::in_place, timers, 1h, [] {});
  std::optional<pinned_timer<std::function<void()>>> stopped(std::in_place, timers, 1h, [] {});
  stopped->stop();
  std::size_t dropped = 1;
  std::thread drains([&] { dropped = timers.drain(1h); });
  pinned_timer asks(timers, [] {});
  while (asks.reset(1h) != reset_result::closed) asks.stop();  // until the drain has begun
  stopped.reset();
  pending.reset();
  drains.join();
  EXPECT_EQ(dropped, 0U);
}

TEST(PinnedEngines, OthersSaySo) {
  EXPECT_EQ(refusal_of(with_engine("red-black-tree")),
            "foliot: a pinned timer cannot be made: the timers of this engine are too large: choose the engine "
            "'foliot', or make a foliot::timer");
  service_options on_executor;
  on_executor.executor = [](posted_callback job) { job(); };
  const std::string reason =
      "foliot: a pinned timer cannot be made: a service with an executor or a log uses its timers after their end: "
      "make a foliot::timer";
  EXPECT_EQ(refusal_of(std::move(on_executor)), reason);
  service_options with_log = with_engine("goim");
  with_log.log = [](const timer_log_entry&) {};
  EXPECT_EQ(refusal_of(std::move(with_log)), reason);
}

class Pinned : public virtual_suite {
 protected:
  int fired = 0;
  std::shared_ptr<int> capture = std::make_shared<int>(0);
  [[nodiscard]] bool captured() const { return capture.use_count() > 1; }
};

INSTANTIATE_TEST_SUITE_P(, Pinned, ::testing::ValuesIn(engines_that_can()), engine_as_name);

TEST_P(Pinned, NothingIsAllocatedInItsWholeLife) {
  timers.reserve(1);
  {
    pinned_timer first(timers, [] {});
  }
  clock.advance(0ns);  // the clock allocates for the number of its services
  const allocation_count allocations;
  for (int round = 0; round < 3; ++round) {
    pinned_timer small(timers, 1ms, [this] { ++fired; });
    small.reset(2ms);
    small.stop();
    small.reset(1ms);
    clock.advance(1ms);
    small.stop_and_wait();
    pinned_timer large(timers, timers.now() + 1ms, [this, bytes = std::array<char, 1000>{}] { fired += 1 + bytes[7]; });
    clock.advance(1ms);
  }
  EXPECT_EQ(allocations.so_far(), 0u);
  EXPECT_EQ(fired, 6);
}

TEST_P(Pinned, ANullFunctionIsRefused) {
  void (*null)() = nullptr;
  EXPECT_THROW(static_cast<void>(pinned_timer(timers, 1s, null)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pinned_timer(timers, timer_callback())), std::invalid_argument);
  EXPECT_EQ(timers.counters().started, 0u);
}

/// A timer whose bytes are overwritten as soon as it is destroyed: nothing must use them after that.
template <class Function>
class in_raw_memory {
 public:
  in_raw_memory() = default;
  template <class... Arguments>
  void make(Arguments&&... arguments) {
    timer_ = new (room_.data()) pinned_timer<Function>(std::forward<Arguments>(arguments)...);
  }
  void destroy() {
    std::destroy_at(std::exchange(timer_, nullptr));
    std::memset(room_.data(), 0xDB, room_.size());
  }
  pinned_timer<Function>* operator->() { return timer_; }

 private:
  alignas(pinned_timer<Function>) std::array<std::byte, sizeof(pinned_timer<Function>)> room_{};
  pinned_timer<Function>* timer_ = nullptr;
};

TEST_P(Pinned, MayBeDestroyedInItsOwnCallback) {
  in_raw_memory<std::function<void()>> object;
  object.make(timers, 1ms, [&, held = capture] {
    object.destroy();
    EXPECT_TRUE(captured()) << "the closure lives as long as the callback runs";
    ++*held;
    ++fired;
  });
  clock.advance(1s);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(captured());
  EXPECT_EQ(timers.counters().fired, 1u);
  EXPECT_EQ(timers.counters().pending, 0u);
}

TEST_P(Pinned, MayBeDestroyedInItsOwnCallbackAfterItWasArmedAgain) {
  in_raw_memory<std::function<void()>> object;
  object.make(timers, 1ms, [&, held = capture] {
    ++fired;
    EXPECT_EQ(object->reset(1ms), reset_result::running);
    object.destroy();
  });
  clock.advance(1s);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(captured());
  EXPECT_EQ(timers.counters().stopped, 1u);
}

TEST_P(Pinned, MayBeMadeAgainInItsPlaceInItsOwnCallback) {
  in_raw_memory<std::function<void()>> object;
  const auto again = [&, held = capture](const auto& self) -> void {
    ++fired;
    object.destroy();
    if (fired < 3) object.make(timers, 1ms, [self] { self(self); });
  };
  object.make(timers, 1ms, [again] { again(again); });
  clock.advance(1s);
  EXPECT_EQ(fired, 3);
}

TEST_P(Pinned, MayBeDestroyedAfterItWasClosedInItsOwnCallback) {
  in_raw_memory<std::function<void()>> object;
  object.make(timers, 1ms, [&, held = capture] {
    EXPECT_EQ(object->stop_and_wait(), stop_result::running);
    EXPECT_EQ(object->reset(1ms), reset_result::closed);
    object.destroy();
    ++*held;
  });
  clock.advance(1s);
  EXPECT_EQ(*capture, 1);
  EXPECT_FALSE(captured());
}

/// The closure owns the object that has the timer.
TEST_P(Pinned, MayBeDestroyedByTheDestructorOfItsClosure) {
  struct session {
    struct close {
      std::shared_ptr<session> self;
      bool from_inside;
      void operator()() const {
        if (from_inside) self->idle->stop_and_wait();
      }
    };
    std::optional<pinned_timer<close>> idle;
    std::shared_ptr<int> capture;
  };
  for (const bool from_inside : {true, false}) {
    auto owned = std::make_shared<session>();
    owned->capture = capture;
    owned->idle.emplace(timers, 1ms, session::close{owned, from_inside});
    auto& idle = *owned->idle;
    const std::weak_ptr<session> watch = owned;
    owned.reset();
    EXPECT_FALSE(watch.expired());
    clock.advance(1ms);
    if (!from_inside) idle.stop_and_wait();
    EXPECT_TRUE(watch.expired());
    EXPECT_FALSE(captured());
  }
}

TEST_P(Pinned, MayBeDestroyedByTheDestructorOfItsClosureWhenTheServiceEnds) {
  struct session {
    struct close {
      std::shared_ptr<session> self;
      void operator()() const {}
    };
    std::optional<pinned_timer<close>> idle;
    std::shared_ptr<int> capture;
  };
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  auto owned = std::make_shared<session>();
  owned->capture = capture;
  owned->idle.emplace(*short_lived, 1ms, session::close{owned});
  owned.reset();
  EXPECT_TRUE(captured());
  EXPECT_EQ(short_lived->shut_down(), 1u);
  EXPECT_FALSE(captured());
}

TEST_P(Pinned, WhatACallbackThrowsIsReportedAlsoIfItHasDestroyedTheTimer) {
  std::vector<std::string> reported;
  in_raw_memory<std::function<void()>> object;
  bool destroys_in_handler = false;
  service_options chosen = options();
  chosen.on_exception = [&](const callback_failure& failure) {
    try {
      std::rethrow_exception(failure.error);
    } catch (const std::exception& error) {
      reported.emplace_back(error.what());
    }
    EXPECT_EQ(failure.armed_at.line(), 0u);
    EXPECT_EQ(failure.name, "");
    if (destroys_in_handler) object.destroy();
  };
  timer_service careful(clock, std::move(chosen));
  object.make(careful, 1ms, [&, held = capture] {
    if (!destroys_in_handler) object.destroy();
    throw std::runtime_error("lost");
  });
  clock.advance(1ms);
  EXPECT_FALSE(captured());
  destroys_in_handler = true;
  object.make(careful, 1ms, [held = capture] { throw std::runtime_error("again"); });
  clock.advance(1ms);
  EXPECT_FALSE(captured());
  EXPECT_EQ(reported, (std::vector<std::string>{"lost", "again"}));
}

TEST_P(Pinned, ASlowCallbackIsReportedAlsoIfItHasDestroyedTheTimer) {
  int slow = 0;
  in_raw_memory<std::function<void()>> object;
  bool destroys_in_report = false;
  service_options chosen = options();
  chosen.slow_callback = {.longer_than = 1ms, .tell = [&](const slow_callback& one) {
                            ++slow;
                            EXPECT_EQ(one.armed_at.line(), 0u);
                            if (destroys_in_report) object.destroy();
                          }};
  timer_service careful(clock, std::move(chosen));
  object.make(careful, 1ms, [&, held = capture] {
    clock.stall(2ms);
    if (!destroys_in_report) object.destroy();
  });
  clock.advance(1ms);
  EXPECT_FALSE(captured());
  destroys_in_report = true;
  object.make(careful, 1ms, [&, held = capture] { clock.stall(2ms); });
  clock.advance(1ms);
  EXPECT_FALSE(captured());
  EXPECT_EQ(slow, 2);
}

TEST_P(Pinned, MayOutliveItsService) {
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  pinned_timer pending(*short_lived, 1ms, [held = capture] { ++*held; });
  pinned_timer idle(*short_lived, [held = capture] { ++*held; });
  short_lived.reset();
  clock.advance(1s);
  EXPECT_EQ(*capture, 0);
  EXPECT_EQ(pending.stop(), stop_result::idle);
  EXPECT_EQ(pending.reset(1ms), reset_result::closed);
  EXPECT_EQ(idle.reset_at(instant{}), reset_result::closed);
}

TEST_P(Pinned, WhatComesAfterTheEndOfItsServiceIsRefused) {
  timers.shut_down();
  pinned_timer delayed(timers, 1ms, [held = capture] { ++*held; });
  pinned_timer due(timers, instant{}, [held = capture] { ++*held; });
  pinned_timer idle(timers, [held = capture] { ++*held; });
  EXPECT_EQ(timers.counters().refused, 2u);
  EXPECT_EQ(idle.reset(1ms), reset_result::closed);
  for (auto* const each : std::initializer_list<detail::pinned_timer_base*>{&delayed, &due, &idle}) {
    EXPECT_FALSE(each->pending());
    EXPECT_EQ(each->stop(), stop_result::idle);
    EXPECT_EQ(each->reset_at(instant{}), reset_result::closed);
  }
  EXPECT_EQ(timers.counters().refused, 6u);
  clock.advance(1s);
  EXPECT_EQ(*capture, 0);
}

TEST_P(Pinned, MayDestroyItsServiceAndItself) {
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  in_raw_memory<std::function<void()>> object;
  object.make(*short_lived, 1ms, [&, held = capture] {
    short_lived.reset();
    object.destroy();
    ++*held;
  });
  clock.advance(1s);
  EXPECT_EQ(*capture, 1);
  EXPECT_FALSE(captured());
}

TEST_P(Pinned, ABatchHasThemBesideHandles) {
  virtual_clock time;
  timer_service both(time, options());
  std::vector<int> fired;
  pinned_timer first(both, [&fired] { fired.push_back(1); });
  timer second(both, [&fired] { fired.push_back(2); });
  pinned_timer third(both, [&fired] { fired.push_back(3); });
  const std::vector<timer_ref> all{third, second, first};
  for (const timer_ref& each : all) each.prefetch();
  EXPECT_EQ(reset_all(all, 1ms).done, 3u);
  time.advance(1ms);
  std::ranges::sort(fired);
  EXPECT_EQ(fired, (std::vector{1, 2, 3}));
  EXPECT_EQ(reset_all(all, 1ms).done, 3u);
  EXPECT_EQ(stop_all(all), 3u);
  time.advance(1h);
  EXPECT_EQ(fired.size(), 3u);
}

TEST_P(Pinned, MemoryComesBackWithItsService) {
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {  // in the first round threads and libraries allocate memory that they keep
    {
      virtual_clock own;
      timer_service alone(own, options());
      pinned_timer t(alone, 1ms, [] {});
      own.advance(1ms);
      t.reset(1h);
    }
    if (before == 0) before = live_bytes();
    EXPECT_EQ(live_bytes(), before);
  }
}

TEST_P(Pinned, AFailedStartLeavesNoTimer) {
  std::size_t failures = 0;
  for (std::size_t n = 0; n < 20; ++n) {
    virtual_clock own;
    timer_service alone(own, options());
    std::optional<failing_allocations> fail(std::in_place, n);
    try {
      pinned_timer t(alone, own.now() + 1ms, [held = capture] {});
      fail.reset();
      EXPECT_TRUE(t.pending());
    } catch (const std::bad_alloc&) {
      ++failures;
      fail.reset();
      EXPECT_EQ(alone.counters().started, 0u);
    }
    EXPECT_FALSE(captured());
  }
  EXPECT_GT(failures, 0u);
}

// ---------------------------------------------------------------- threads

class PinnedRaces : public threaded_suite {};

INSTANTIATE_TEST_SUITE_P(, PinnedRaces, ::testing::ValuesIn(engines_that_can()), engine_as_name);

#if defined(FOLIOT_SANITIZED)
constexpr int pinned_rounds = 200;
#else
constexpr int pinned_rounds = 1000;
#endif

void linger(timer_service& timers, int round) {
  const instant until = timers.now() + std::chrono::microseconds(round * 7 % 150);
  while (timers.now() < until) {
  }
}

/// The callback may destroy the timer only when no call of another thread is under way.
TEST_P(PinnedRaces, DestroyInsideItsCallbackAgainstOtherTimers) {
  std::atomic<int> done = 0;
  struct object {
    struct end {
      std::unique_ptr<object>* self;
      std::atomic<bool>* armed;
      std::atomic<int>* done;
      void operator()() const {
        while (!*armed) std::this_thread::yield();  // until the reset that started it has returned
        auto* const counted = done;
        self->reset();
        ++*counted;
      }
    };
    object(timer_service& timers, const end& function) : timer(timers, function) {}
    pinned_timer<end> timer;
  };
  std::vector<std::atomic<bool>> armed(static_cast<std::size_t>(pinned_rounds));
  std::vector<std::unique_ptr<object>> all(static_cast<std::size_t>(pinned_rounds));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = std::make_unique<object>(timers, typename object::end{&all[i], &armed[i], &done});
    all[i]->timer.reset(0ns);
    armed[i] = true;
  }
  while (done < pinned_rounds) std::this_thread::yield();
  EXPECT_EQ(timers.counters().fired, static_cast<std::uint64_t>(pinned_rounds));
}

TEST_P(PinnedRaces, DestroyAgainstAResetFromItsCallback) {
  for (int i = 0; i < pinned_rounds; ++i) {
    auto target = std::make_unique<int>(0);
    std::optional<pinned_timer<std::function<void()>>> t;
    t.emplace(timers, [&t, raw = target.get()] {
      ++*raw;
      t->reset(0ns);
    });
    t->reset(duration::nanoseconds(i % 5 * 20'000));
    linger(timers, i);
    t->stop_and_wait();  // and not the destructor alone: the callback uses the timer until it is closed
    t.reset();
    target.reset();
  }
}

TEST_P(PinnedRaces, StopByAnotherThreadAgainstFireAndReset) {
  for (int i = 0; i < pinned_rounds; ++i) {
    std::atomic<int> ran = 0;
    pinned_timer t(timers, duration::nanoseconds(i % 5 * 10'000), [&ran] { ++ran; });
    int stopped = 0;
    int started = 1;
    std::thread other([&] {
      linger(timers, i);
      stopped += t.stop() == stop_result::stopped;
    });
    started += t.reset(duration::nanoseconds(i % 3 * 20'000)) != reset_result::superseded;
    other.join();
    while (t.pending()) std::this_thread::yield();
    t.stop_and_wait();
    EXPECT_EQ(started, ran + stopped);
  }
}

TEST_P(PinnedRaces, TheEndOfTheServiceAgainstDestroy) {
  for (int i = 0; i < pinned_rounds / 5; ++i) {
    std::optional<timer_service> short_lived(std::in_place, options());
    const auto held = std::make_shared<int>(0);
    std::optional<pinned_timer<std::function<void()>>> t;
    t.emplace(*short_lived, duration::nanoseconds(i % 5 * 10'000), [held] { ++*held; });
    std::thread other([&] { short_lived->shut_down(); });
    t.reset();
    EXPECT_EQ(held.use_count(), 1);
    other.join();
  }
}

TEST_P(PinnedRaces, InTheChildOfAForkNobodyWaitsForACallbackOfTheParent) {
  std::latch inside(1);
  std::latch go_on(1);
  std::optional<pinned_timer<std::function<void()>>> t;
  t.emplace(timers, 0ns, [&, kept = std::make_shared<int>(1)] {
    inside.count_down();
    go_on.wait();
    EXPECT_EQ(*kept, 1);
  });
  inside.wait();
  expect_in_child([&] {
    static_cast<void>(t->stop_and_wait());
    t.reset();
    timers.shut_down();
    return true;
  });
  go_on.count_down();
  EXPECT_NE(t->stop_and_wait(), stop_result::stopped);
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not support new threads in the child
/// The first new thread of the child may have the stack and the address of the thread whose callback ran.
TEST_P(PinnedRaces, InTheChildOfAForkANewThreadIsNotTakenForOneOfTheParent) {
  std::latch inside(1);
  std::latch go_on(1);
  std::optional<pinned_timer<std::function<void()>>> t;
  t.emplace(timers, 0ns, [&, kept = std::make_shared<int>(1)] {
    inside.count_down();
    go_on.wait();
    EXPECT_EQ(*kept, 1);
  });
  inside.wait();
  expect_in_child([&] {
    bool unchanged = false;
    std::thread([&] {
      std::array<volatile std::uint64_t, 1000> of_stack;
      for (volatile std::uint64_t& each : of_stack) each = 0;
      t.reset();
      unchanged = std::ranges::all_of(of_stack, [](std::uint64_t each) { return each == 0; });
    }).join();
    timers.shut_down();
    return unchanged;
  });
  go_on.count_down();
  EXPECT_NE(t->stop_and_wait(), stop_result::stopped);
}

TEST_P(PinnedRaces, InTheChildOfAForkAThreadWaitsForTheCallbackThatForked) {
  std::optional<pinned_timer<std::function<void()>>> t;
  std::atomic<bool> over = false;
  std::latch done(1);
  int status = -1;
  t.emplace(timers, [&, kept = std::make_shared<int>(1)] {
    if (const pid_t child = fork(); child != 0) {
      EXPECT_EQ(waitpid(child, &status, 0), child);
      return done.count_down();
    }
    alarm(250);
    std::thread([&] {
      t.reset();
      _exit(over ? 0 : 1);
    }).detach();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    over = *kept == 1;
  });
  t->reset(0ns);
  done.wait();
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace foliot::test

// What is true of memory_store alone.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/memory_store.hpp>

#include "support/allocations.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

TEST(MemoryStore, IdsBeginWithOne) {
  memory_store store;
  EXPECT_EQ(execute_one(store, put{.tube = "a", .body = ""}).id, 1U);
  EXPECT_EQ(execute_one(store, put{.tube = "a", .body = ""}).id, 2U);
}

TEST(MemoryStore, RefusesPutsBeyondItsBounds) {
  using enum put_answer::kind;
  constexpr std::uint64_t one = memory_store::job_overhead + 4;  // the tube and the body
  memory_store few({}, {.jobs = 2});
  memory_store small({}, {.bytes = 2 * one});
  for (memory_store* store : {&few, &small}) {
    EXPECT_EQ(execute_one(*store, put{.tube = "a", .body = "123"}).what, inserted);
    EXPECT_EQ(execute_one(*store, put{.tube = "a", .key = "k", .body = "12"}).what, inserted);
    EXPECT_EQ(execute_one(*store, put{.tube = "a", .body = ""}).what, no_space);
    EXPECT_EQ(execute_one(*store, put{.tube = "a", .key = "k", .body = "xy", .existing = on_existing::replace}).what,
              replaced);
    EXPECT_EQ(execute_one(*store, count_all{}).counts.all(), 2U);
    EXPECT_EQ(execute_one(*store, cancel{job_id{1}}).what, change_answer::kind::done);
    EXPECT_EQ(execute_one(*store, put{.tube = "a", .body = "456"}).what, inserted);
    EXPECT_TRUE(store->check());
  }
  EXPECT_EQ(execute_one(small, put{.tube = "a", .key = "k", .body = "xyz", .existing = on_existing::replace}).what,
            no_space);
  EXPECT_EQ(execute_one(small, count_all{}).counts.all(), 2U) << "the job that was to be replaced is there";
}

TEST(MemoryStore, TellsWhetherThereIsRoom) {
  memory_store store({}, {.jobs = 1});
  EXPECT_TRUE(store.execute({}).has_room);
  const job_id id = execute_one(store, put{.tube = "a", .body = "x"}).id;
  EXPECT_FALSE(store.execute({}).has_room);
  execute_one(store, cancel{id});
  EXPECT_TRUE(store.execute({}).has_room);
}

TEST(MemoryStore, CountsFieldsAndHistoriesForItsBounds) {
  using holder = holder_answer::kind;
  job_fields two_bytes;
  ASSERT_TRUE(two_bytes.set(first_own_tag, "12"));
  constexpr std::uint64_t one = memory_store::job_overhead + 1 + 2 * 6;  // the tube, the fields and the history
  const put both{.tube = "a", .key = {}, .body = "", .fields = two_bytes, .history = two_bytes};
  memory_store small({}, {.bytes = 2 * one});
  EXPECT_EQ(execute_one(small, both).what, put_answer::kind::inserted);
  EXPECT_EQ(execute_one(small, put{.tube = "a", .body = "", .fields = two_bytes}).what, put_answer::kind::inserted);
  EXPECT_EQ(execute_one(small, both).what, put_answer::kind::no_space);

  const reservation held = execute_one(small, claim_job{2}).jobs.at(0).token;
  job_fields too_many = two_bytes;
  ASSERT_TRUE(too_many.set(first_own_tag, "123"));
  EXPECT_EQ(execute_one(small, release{held, std::nullopt, 0ms, too_many}).what, holder::no_space);
  EXPECT_EQ(execute_one(small, bury{held, std::nullopt, too_many}).what, holder::no_space);
  const job unchanged = execute_one(small, peek{job_id{2}}).job.value();
  EXPECT_EQ(unchanged.state, job_state::reserved);
  EXPECT_EQ(unchanged.history, job_fields());
  EXPECT_EQ(execute_one(small, bury{held, std::nullopt, two_bytes}).what, holder::done);
  EXPECT_TRUE(small.check());

  const reservation again = execute_one(small, claim_job{2}).jobs.at(0).token;
  EXPECT_EQ(execute_one(small, release{again, std::nullopt, 0ms, job_fields()}).what, holder::done) << "a shorter one";
  EXPECT_EQ(execute_one(small, put{.tube = "b", .body = ""}).what, put_answer::kind::no_space) << "6 bytes are free";
  EXPECT_TRUE(small.check());
  EXPECT_EQ(execute_one(small, cancel{job_id{1}}).what, change_answer::kind::done);
  EXPECT_EQ(execute_one(small, both).what, put_answer::kind::inserted);
  EXPECT_TRUE(small.check());
}

once once_of(unsigned key, milliseconds lifetime = 1h) {
  sha256 digest{};
  digest[0] = static_cast<std::byte>(key);
  digest[1] = static_cast<std::byte>(key >> 8U);
  return {digest, sha256{}, lifetime};
}

TEST(MemoryStore, RefusesWhatItHasNoRoomToRemember) {
  using enum put_answer::kind;
  virtual_clock time;
  virtual_wall_clock wall(time);
  constexpr std::uint64_t one = memory_store::job_overhead + 2;
  memory_store small({&wall, &time}, {.bytes = 2 * one + memory_store::once_overhead});
  put what{.tube = "a", .key = "k", .body = "", .once = once_of(1)};
  const job_id first = execute_one(small, what).id;
  what.once = once_of(2);
  EXPECT_EQ(execute_one(small, what).what, kept) << "there is room for that and no other job";
  EXPECT_TRUE(small.check());
  EXPECT_EQ(execute_one(small, put{.tube = "a", .key = "l", .body = ""}).what, no_space);
  what.once = once_of(3);
  EXPECT_EQ(execute_one(small, what).what, no_space);
  const put_all all{{{.tube = "a", .key = "k", .body = ""}}, once_of(4)};
  EXPECT_EQ(execute_one(small, all).why, (put_answer{no_space}));
  EXPECT_EQ(execute_one(small, count_all{}).counts.ready, 1U);
  what.once = once_of(1);
  EXPECT_EQ(execute_one(small, what), (put_answer{inserted, first, 0, true})) << "none is forgotten early";

  time.advance(1h);
  EXPECT_TRUE(small.execute({}).has_room);
  EXPECT_EQ(execute_one(small, claim{.tubes = {"a"}, .once = once_of(5)}).jobs.size(), 1U);
  EXPECT_TRUE(small.check());
}

TEST(MemoryStore, AFullOneIsEmptiedByClaimsThatHappenOnce) {
  using kind = claim_answer::kind;
  virtual_clock time;
  virtual_wall_clock wall(time);
  constexpr unsigned all = 100;
  memory_store small({&wall, &time}, {.bytes = all * (memory_store::job_overhead + 1)});
  for (unsigned i = 0; i < all; ++i) {
    EXPECT_EQ(execute_one(small, put{.tube = "a", .body = ""}).what, put_answer::kind::inserted);
  }
  EXPECT_EQ(execute_one(small, put{.tube = "a", .body = ""}).what, put_answer::kind::no_space);
  unsigned key = 0;
  const auto claim_next = [&] { return execute_one(small, claim{.tubes = {"a"}, .once = once_of(++key)}); };
  std::vector<reservation> held;
  claim_answer got = claim_next();
  for (; got.what == kind::done; got = claim_next()) held.push_back(got.jobs.at(0).token);
  EXPECT_EQ(got.what, kind::no_space);
  EXPECT_GE(held.size(), 5U);
  EXPECT_LT(held.size(), 50U) << "what is remembered has a bound, too";
  for (const reservation& each : held) EXPECT_EQ(execute_one(small, finish{each}).what, holder_answer::kind::done);
  for (std::size_t left = all - held.size(); left > 0; --left) {
    got = claim_next();
    ASSERT_EQ(got.jobs.size(), 1U);
    EXPECT_EQ(execute_one(small, finish{got.jobs[0].token}).what, holder_answer::kind::done);
  }
  EXPECT_EQ(execute_one(small, count_all{}).counts.all(), 0U);
  EXPECT_TRUE(small.check());
}

TEST(MemoryStore, ForgetsInBoundedTurns) {
  virtual_clock time;
  virtual_wall_clock wall(time);
  memory_store store({&wall, &time});
  std::vector<operation> batch;
  for (unsigned key = 0; key < 2100; ++key) {
    batch.emplace_back(put{.tube = "a", .key = "k", .body = "", .once = once_of(key, 1ms)});
  }
  store.execute(batch);
  EXPECT_EQ(store.next().due, utc_time(1ms));
  time.advance(5ms);
  for (int turn = 0; turn < 2; ++turn) {
    store.execute({});
    EXPECT_EQ(store.next().due, utc_time(1ms)) << "there is more to forget";
  }
  store.execute({});
  EXPECT_EQ(store.next().due, utc_time::max());
  execute_one(store, put{.tube = "a", .body = "", .once = once_of(1, 1ms)});
  EXPECT_EQ(store.next().due, utc_time(1005ms)) << "not more often than once in a second";
  EXPECT_TRUE(store.check());
}

/// A store whose next() were too early would be asked again and again.
TEST(MemoryStore, KnowsItsNextChangeExactly) {
  virtual_clock time(instant::from_nanoseconds(5'000'000));
  virtual_wall_clock wall(time);
  memory_store store{{&wall, &time}};
  execute_one(store, put{.tube = "a", .body = "", .due = 10ms, .ttr = 3ms});
  EXPECT_EQ(store.next(), (next_change{utc_time(15ms), instant::never()}));
  execute_one(store, pause{"a", 20ms});
  EXPECT_EQ(store.next(), (next_change{utc_time(15ms), instant::from_nanoseconds(25'000'000)}));
  execute_one(store, claim_job{1});
  EXPECT_EQ(store.next(), (next_change{utc_time::max(), instant::from_nanoseconds(8'000'001)}));
}

/// A batch without memory throws std::bad_alloc, and the store is of no use afterwards: it says so, and answers
/// nothing.
TEST(MemoryStore, HasFailedAfterALackOfMemory) {
  const auto batch = [] {
    return std::vector<operation>{put{.tube = "a", .key = "k", .body = std::string(100, 'x')}, claim{{"a"}},
                                  put{.tube = "b", .body = "", .once = once_of(1)}, pause{"b", 1h}, list_tubes{}};
  };
  bool failed = true;
  std::size_t n = 0;
  for (; failed; ++n) {
    memory_store store;
    std::vector<operation> operations = batch();
    failed = false;
    {
      const test::failing_allocations none_after(n);
      try {
        store.execute(operations);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
    if (failed) {
      EXPECT_THROW(execute_one(store, count_all{}), store_failure);
    } else {
      EXPECT_EQ(execute_one(store, count_all{}).counts.all(), 2U);
    }
  }
  EXPECT_GT(n, 5U);
}

}  // namespace
}  // namespace foliot::jobs

// Litmus tests: the checker finds exactly the outcomes that C++ allows for small programs.
//
// Each program runs without a bound on preemptions, so that the sets of outcomes are exact, and again with a bound that
// is never reached, with which the checker does not prune: pruning must lose no outcome.
#include <set>
#include <string>

#include "check.hpp"

namespace foliot::model {
namespace {

using std::to_string;
using integer = seam::atomic<int>;
using outcome_set = std::set<std::string>;

constexpr order relaxed = order::relaxed;
constexpr order acquire = order::acquire;
constexpr order release = order::release;
constexpr order acq_rel = order::acq_rel;
constexpr order seq_cst = order::seq_cst;

outcome_set all_of(const char* name, const std::function<std::string()>& body) {
  const outcome_set seen = outcomes({.name = name, .preemptions = unlimited}, body);
  EXPECT_EQ(seen, outcomes({.name = name, .preemptions = unlimited - 1}, body)) << "pruning must lose no outcome";
  return seen;
}

void fence(order o) {
  if (o != relaxed) seam::atomic_thread_fence(o);
}

// Message passing: the values that a thread reads of the flag, and then of the data.

outcome_set message_passing(order store, order load, order store_fence, order load_fence) {
  return all_of("message passing", [=] {
    integer data{0};
    integer flag{0};
    seam::thread writer("writer", [&] {
      data.store(1, relaxed);
      fence(store_fence);
      flag.store(1, store);
    });
    const int seen = flag.load(load);
    fence(load_fence);
    const int read = data.load(relaxed);
    writer.join();
    return to_string(seen) + to_string(read);
  });
}

TEST(Litmus, MessagePassing) {
  const outcome_set sound{"00", "01", "11"};
  const outcome_set broken{"00", "01", "10", "11"};
  EXPECT_EQ(message_passing(release, acquire, relaxed, relaxed), sound);
  EXPECT_EQ(message_passing(seq_cst, seq_cst, relaxed, relaxed), sound);
  EXPECT_EQ(message_passing(relaxed, relaxed, release, acquire), sound);
  EXPECT_EQ(message_passing(relaxed, acquire, release, relaxed), sound);
  EXPECT_EQ(message_passing(release, relaxed, relaxed, acquire), sound);
  EXPECT_EQ(message_passing(relaxed, acquire, relaxed, relaxed), broken);
  EXPECT_EQ(message_passing(release, relaxed, relaxed, relaxed), broken);
  EXPECT_EQ(message_passing(relaxed, relaxed, acquire, acquire), broken) << "a fence of the wrong kind";
  EXPECT_EQ(message_passing(relaxed, relaxed, release, release), broken) << "a fence of the wrong kind";
}

// Store buffering: each thread stores, then loads the other thread's variable.

outcome_set store_buffering(order store, order load, order first_fence, order second_fence) {
  return all_of("store buffering", [=] {
    integer x{0};
    integer y{0};
    int seen_x = 0;
    seam::thread other("other", [&] {
      y.store(1, store);
      fence(second_fence);
      seen_x = x.load(load);
    });
    x.store(1, store);
    fence(first_fence);
    const int seen_y = y.load(load);
    other.join();
    return to_string(seen_x) + to_string(seen_y);
  });
}

TEST(Litmus, StoreBuffering) {
  const outcome_set sound{"01", "10", "11"};
  const outcome_set broken{"00", "01", "10", "11"};
  EXPECT_EQ(store_buffering(seq_cst, seq_cst, relaxed, relaxed), sound);
  EXPECT_EQ(store_buffering(relaxed, relaxed, seq_cst, seq_cst), sound);
  EXPECT_EQ(store_buffering(release, acquire, relaxed, relaxed), broken);
  EXPECT_EQ(store_buffering(release, seq_cst, relaxed, relaxed), broken) << "seq_cst on one side is not enough";
  EXPECT_EQ(store_buffering(seq_cst, acquire, relaxed, relaxed), broken) << "seq_cst on one side is not enough";
  EXPECT_EQ(store_buffering(relaxed, relaxed, seq_cst, relaxed), broken) << "one fence is not enough";
  EXPECT_EQ(store_buffering(relaxed, relaxed, acq_rel, acq_rel), broken);
  EXPECT_EQ(store_buffering(seq_cst, seq_cst, seq_cst, relaxed), sound) << "a fence and operations meet in one order";
}

/// A seq_cst fence on one side and seq_cst operations on the other.
TEST(Litmus, StoreBufferingOfAFenceAndOperations) {
  const outcome_set seen = all_of("store buffering, mixed", [] {
    integer x{0};
    integer y{0};
    int seen_x = 0;
    seam::thread other("other", [&] {
      y.store(1, relaxed);
      fence(seq_cst);
      seen_x = x.load(relaxed);
    });
    x.store(1, seq_cst);
    const int seen_y = y.load(seq_cst);
    other.join();
    return to_string(seen_x) + to_string(seen_y);
  });
  EXPECT_EQ(seen, (outcome_set{"01", "10", "11"}));
}

// Coherence: all threads see the stores to one location in the same order, with any memory orders.

TEST(Litmus, TwoLoadsOfOnePlaceDoNotGoBack) {
  const outcome_set seen = all_of("read-read coherence", [] {
    integer x{0};
    seam::thread writer("writer", [&] {
      x.store(1, relaxed);
      x.store(2, relaxed);
    });
    const int first = x.load(relaxed);
    const int second = x.load(relaxed);
    writer.join();
    return to_string(first) + to_string(second);
  });
  EXPECT_EQ(seen, (outcome_set{"00", "01", "02", "11", "12", "22"}));
}

TEST(Litmus, AThreadReadsItsOwnStoreOrALaterOne) {
  const outcome_set seen = all_of("write-read coherence", [] {
    integer x{0};
    seam::thread writer("writer", [&] { x.store(1, relaxed); });
    x.store(2, relaxed);
    const int read = x.load(relaxed);
    writer.join();
    return to_string(read) + to_string(x.load(relaxed));
  });
  EXPECT_EQ(seen, (outcome_set{"11", "21", "22"}));
}

TEST(Litmus, WhatHappenedBeforeIsNotUnread) {
  const auto seen = [](order store, order load) {
    return all_of("coherence by way of another", [=] {
      integer x{0};
      integer flag{0};
      int read = -1;
      seam::thread writer("writer", [&] { x.store(1, relaxed); });
      seam::thread teller("teller", [&] {
        const int told = x.load(relaxed);
        flag.store(1 + told, store);
      });
      const int told = flag.load(load);
      read = x.load(relaxed);
      writer.join();
      teller.join();
      return to_string(told) + to_string(read);
    });
  };
  EXPECT_EQ(seen(release, acquire), (outcome_set{"00", "01", "10", "11", "21"}));
  EXPECT_EQ(seen(relaxed, relaxed), (outcome_set{"00", "01", "10", "11", "20", "21"}));
}

// Independent reads of independent writes: do two readers agree on which store came first?

outcome_set independent_reads(order store, order load, order between) {
  return all_of("independent reads", [=] {
    integer x{0};
    integer y{0};
    std::string a;
    std::string b;
    seam::thread first("x", [&] { x.store(1, store); });
    seam::thread second("y", [&] { y.store(1, store); });
    seam::thread reader("reader", [&] {
      a = to_string(x.load(load));
      fence(between);
      a += to_string(y.load(load));
    });
    b = to_string(y.load(load));
    fence(between);
    b += to_string(x.load(load));
    first.join();
    second.join();
    reader.join();
    return a + b;
  });
}

TEST(Litmus, IndependentReadsOfIndependentWrites) {
  EXPECT_FALSE(independent_reads(seq_cst, seq_cst, relaxed).contains("1010"));
  EXPECT_FALSE(independent_reads(relaxed, relaxed, seq_cst).contains("1010"));
  EXPECT_FALSE(independent_reads(release, acquire, seq_cst).contains("1010"));
  EXPECT_TRUE(independent_reads(release, acquire, relaxed).contains("1010"));
  EXPECT_TRUE(independent_reads(relaxed, relaxed, acq_rel).contains("1010"));
}

TEST(Litmus, WriteToReadCausality) {
  const auto seen = [](order middle_load, order middle_store, order last) {
    return all_of("write to read causality", [=] {
      integer x{0};
      integer y{0};
      seam::thread writer("writer", [&] { x.store(1, relaxed); });
      seam::thread middle("middle", [&] {
        if (x.load(middle_load) == 1) y.store(1, middle_store);
      });
      const int seen_y = y.load(last);
      const int seen_x = x.load(relaxed);
      writer.join();
      middle.join();
      return to_string(seen_y) + to_string(seen_x);
    });
  };
  EXPECT_FALSE(seen(relaxed, release, acquire).contains("10"));
  EXPECT_TRUE(seen(relaxed, relaxed, acquire).contains("10"));
  EXPECT_TRUE(seen(relaxed, release, relaxed).contains("10"));
}

// Release sequences: a thread that reads a read-modify-write of a released value synchronises with the release.

outcome_set release_sequence(const std::function<void(integer&)>& middle, bool by_another) {
  return all_of("release sequence", [=] {
    integer data{0};
    integer flag{0};
    seam::thread writer("writer", [&] {
      data.store(1, relaxed);
      flag.store(1, release);
      if (!by_another) middle(flag);
    });
    seam::thread other("other", [&] {
      if (by_another && flag.load(relaxed) == 1) middle(flag);
    });
    const int seen = flag.load(acquire);
    const int read = data.load(relaxed);
    writer.join();
    other.join();
    return to_string(seen) + to_string(read);
  });
}

TEST(Litmus, ReleaseSequences) {
  const auto add = [](integer& flag) { flag.fetch_add(1, relaxed); };
  const auto store = [](integer& flag) { flag.store(2, relaxed); };
  EXPECT_FALSE(release_sequence(add, true).contains("20"));
  EXPECT_FALSE(release_sequence(add, false).contains("20"));
  EXPECT_TRUE(release_sequence(store, true).contains("20"));
  EXPECT_TRUE(release_sequence(store, false).contains("20")) << "since C++20, not even by the same thread";
}

// Read-modify-writes are atomic.

TEST(Litmus, ReadModifyWritesAreWhole) {
  const outcome_set seen = all_of("counting", [] {
    integer count{0};
    const auto add = [&] { count.fetch_add(1, relaxed); };
    seam::thread one("one", add);
    seam::thread two("two", add);
    add();
    one.join();
    two.join();
    return to_string(count.load(relaxed));
  });
  EXPECT_EQ(seen, outcome_set{"3"});
}

TEST(Litmus, ALoadAndAStoreAreNot) {
  const outcome_set seen = all_of("counting in two steps", [] {
    integer count{0};
    const auto add = [&] { count.store(count.load(seq_cst) + 1, seq_cst); };
    seam::thread one("one", add);
    add();
    one.join();
    return to_string(count.load(seq_cst));
  });
  EXPECT_EQ(seen, (outcome_set{"1", "2"}));
}

TEST(Litmus, CompareExchange) {
  const auto seen = [](bool weak) {
    return all_of("compare_exchange", [=] {
      integer x{0};
      seam::thread other("other", [&] { x.store(1, relaxed); });
      int expected = 0;
      const bool done = weak ? x.compare_exchange_weak(expected, 2, relaxed, relaxed)
                             : x.compare_exchange_strong(expected, 2, relaxed, relaxed);
      other.join();
      return to_string(done) + to_string(expected) + to_string(x.load(relaxed));
    });
  };
  EXPECT_EQ(seen(false), (outcome_set{"011", "101"}));
  EXPECT_EQ(seen(true), (outcome_set{"001", "011", "101"}));
}

}  // namespace
}  // namespace foliot::model

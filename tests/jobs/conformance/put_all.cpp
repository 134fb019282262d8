// The conformance suite case by case: puts of which all happen, or none.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using kind = put_all_answer::kind;
using put_kind = put_answer::kind;

put keyed(std::string key, on_existing existing) {
  return {.tube = "a", .key = std::move(key), .body = "new", .due = 1h, .existing = existing};
}

TEST_P(JobStore, PutsAllInTheirOrder) {
  put_all all;
  for (int i = 0; i < 1000; ++i) {
    const bool is_delayed = i % 10 == 1;
    all.puts.push_back({.tube = i % 10 == 2 ? "b" : "a",
                        .key = i % 10 == 3 ? "key " + std::to_string(i) : "",
                        .body = std::to_string(i),
                        .due = is_delayed ? milliseconds(1h) : milliseconds(0)});
  }
  const put_all_answer done = run(all);
  ASSERT_EQ(done.what, kind::done);
  ASSERT_EQ(done.puts.size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(done.puts[i].what, put_kind::inserted);
    EXPECT_TRUE(i == 0 || done.puts[i].id > done.puts[i - 1].id);
  }
  EXPECT_EQ(run(count_tube{"a"}).counts.ready, 800U);
  EXPECT_EQ(run(count_tube{"a"}).counts.delayed, 100U);
  EXPECT_EQ(run(count_tube{"b"}).counts.ready, 100U);
  EXPECT_EQ(run(claim{{"a"}}).jobs.at(0).job.body, "0");
  EXPECT_EQ(run(peek{job_key{"a", "key 993"}}).job.value().id, done.puts[993].id);
}

TEST_P(JobStore, PutsNoneIfOneIsRefused) {
  const job_id there = run(put{.tube = "a", .key = "there", .body = "old", .due = 1h}).id;
  const job_id replaced = run(put{.tube = "a", .key = "replaced", .body = "old", .due = 1h}).id;
  const job_id reserved = run(put{.tube = "a", .key = "reserved", .body = "old"}).id;
  ASSERT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
  put expecting = keyed("there", on_existing::replace);
  expecting.expected = 1;
  put missing = keyed("missing", on_existing::replace);
  missing.expected = 1;
  const std::vector<std::pair<put, put_answer>> refused{
      {keyed("there", on_existing::refuse), {put_kind::exists, there}},
      {keyed("reserved", on_existing::replace), {put_kind::reserved, reserved}},
      {expecting, {put_kind::other_version, there, run(peek{there}).version}},
      {missing, {put_kind::other_version, 0, 0}},
  };
  for (const auto& [wrong, why] : refused) {
    for (std::size_t place = 0; place < 4; ++place) {
      put_all all{{keyed("replaced", on_existing::replace),
                   keyed("other", on_existing::keep),
                   {.tube = "new tube", .body = "new"}}};
      all.puts.insert(all.puts.begin() + static_cast<std::ptrdiff_t>(place), wrong);
      all.puts.push_back(keyed("reserved", on_existing::refuse));  // not the first one that is refused
      const put_all_answer done = run(all);
      EXPECT_EQ(done.what, kind::refused);
      EXPECT_EQ(done.place, place);
      EXPECT_EQ(done.why, why);
      EXPECT_TRUE(done.puts.empty());
      EXPECT_EQ(run(count_all{}).counts.all(), 3U);
      EXPECT_EQ(run(peek{job_key{"a", "replaced"}}).job.value().id, replaced);
      EXPECT_EQ(run(peek{replaced}).job.value().body, "old");
      EXPECT_FALSE(run(peek{job_key{"a", "other"}}).job);
      EXPECT_EQ(run(list_tubes{}).tubes, std::vector<std::string>{"a"});
    }
  }
}

TEST_P(JobStore, PutsAllIfOneIsKeptOrReplaces) {
  const job_id kept = run(put{.tube = "a", .key = "kept", .body = "old", .due = 1h}).id;
  const job_id old = run(put{.tube = "a", .key = "replaced", .body = "old", .due = 1h}).id;
  put expecting = keyed("replaced", on_existing::replace);
  expecting.expected = run(peek{old}).version;
  const put_all_answer done =
      run(put_all{{keyed("kept", on_existing::keep), expecting, keyed("n", on_existing::refuse)}});
  ASSERT_EQ(done.what, kind::done);
  ASSERT_EQ(done.puts.size(), 3U);
  EXPECT_EQ(done.puts[0], (put_answer{put_kind::kept, kept}));
  EXPECT_EQ(done.puts[1].what, put_kind::replaced);
  EXPECT_EQ(done.puts[2].what, put_kind::inserted);
  EXPECT_FALSE(run(peek{old}).job);
  EXPECT_EQ(run(peek{kept}).job.value().body, "old");
  EXPECT_EQ(run(peek{job_key{"a", "replaced"}}).job.value().body, "new");
  EXPECT_EQ(run(count_tube{"a"}).counts.all(), 3U);
}

TEST_P(JobStore, ARefusedPutOfAllLeavesTheRestOfItsBatch) {
  std::vector<operation> batch{put{.tube = "a", .key = "k", .body = "first"},
                               put_all{{{.tube = "a", .body = "no"}, keyed("k", on_existing::refuse)}},
                               claim{{"a"}, 2},
                               put_all{{keyed("k", on_existing::replace)}},
                               put_all{{{.tube = "b", .body = "x"}, {.tube = "b", .body = "y"}}},
                               put_all{{{.tube = "b", .body = "no"}, keyed("k", on_existing::refuse)}},
                               count_tube{"b"}};
  last_ = store_->execute(batch);
  check();
  const std::vector<answer>& got = last_.answers;
  ASSERT_EQ(got.size(), batch.size());
  const job_id first = std::get<put_answer>(got[0]).id;
  EXPECT_EQ(std::get<put_all_answer>(got[1]).place, 1U);
  EXPECT_EQ(std::get<put_all_answer>(got[1]).why, (put_answer{put_kind::exists, first}));
  ASSERT_EQ(std::get<claim_answer>(got[2]).jobs.size(), 1U);
  EXPECT_EQ(std::get<claim_answer>(got[2]).jobs[0].job.id, first);
  EXPECT_EQ(std::get<put_all_answer>(got[3]).why, (put_answer{put_kind::reserved, first}));
  EXPECT_EQ(std::get<put_all_answer>(got[4]).what, kind::done);
  EXPECT_EQ(std::get<put_all_answer>(got[5]).what, kind::refused);
  EXPECT_EQ(std::get<count_answer>(got[6]).counts.ready, 2U);
  EXPECT_EQ(run(finish{std::get<claim_answer>(got[2]).jobs[0].token}).what, holder_answer::kind::done);
}

TEST_P(ReopenedJobStore, KeepsAllThatWerePutTogetherOrNone) {
  for (std::uint64_t call = 1; call <= 6; ++call) {
    const std::string tube = "tube " + std::to_string(call);
    put_all all;
    for (int i = 0; i < 100; ++i) {
      all.puts.push_back({.tube = tube, .body = std::string(static_cast<std::size_t>(100 * i), 'x'), .due = 1h});
    }
    ASSERT_EQ(run(put_all{{{.tube = tube, .body = "before"}}}).what, kind::done);
    if (!store_.disk().fail_call(call)) return;
    operation only(all);
    bool is_known = true;
    try {
      static_cast<void>(store_->execute(std::span(&only, 1)));
    } catch (const store_failure&) {
      is_known = false;
    }
    store_.reopen(ending::crash);
    const std::uint64_t count = run(count_tube{tube}).counts.all();
    if (is_known) {
      EXPECT_EQ(count, 101U);
    } else {
      EXPECT_TRUE(count == 1 || count == 101) << count;
    }
    check();
  }
}

}  // namespace
}  // namespace foliot::jobs::conformance

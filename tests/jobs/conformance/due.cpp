// The conformance suite case by case: the pages of list_due, which a plain model of them checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/limits.hpp>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using ids = std::vector<job_id>;

ids ids_of(const due_answer& page) {
  ids all;
  for (const due_job& each : page.jobs) all.push_back(each.id);
  return all;
}

/// The delayed jobs that there should be, by their ids.
using delayed_jobs = std::map<job_id, due_job>;

/// What a page should have: every job is looked at, and all of them are sorted.
std::vector<due_job> expected_page(const delayed_jobs& all, const list_due& what) {
  std::vector<due_job> page;
  for (const auto& [id, it] : all) {
    const bool is_behind = std::pair(it.due, id) > std::pair(what.from, what.after);
    if (is_behind && it.tube.starts_with(what.prefix)) page.push_back(it);
  }
  std::ranges::sort(page, {}, [](const due_job& it) { return std::pair(it.due, it.id); });
  if (page.size() > what.count) page.resize(what.count);
  return page;
}

TEST_P(JobStore, WhatIsDueNextIsListedInOrderWithItsTubeAndTime) {
  const utc_time now = store_.utc();
  const job_id later = run(put{.tube = "b", .body = "", .due = 20ms}).id;
  const job_id first = run(put{.tube = "a", .body = "", .due = now + 10ms}).id;
  const job_id second = run(put{.tube = "c", .body = "", .due = now + 10ms}).id;
  EXPECT_EQ(run(list_due{}).jobs, (std::vector<due_job>{{first, "a", job_state::delayed, now + 10ms},
                                                        {second, "c", job_state::delayed, now + 10ms},
                                                        {later, "b", job_state::delayed, now + 20ms}}));
}

TEST_P(JobStore, NothingIsDueLaterThatIsReadyReservedOrBuried) {
  run(put{.tube = "a", .body = "ready"});
  run(put{.tube = "b", .body = "reserved"});
  run(put{.tube = "b", .body = "buried"});
  run(claim{{"b"}});
  run(bury{run(claim{{"b"}}).jobs.at(0).token});
  const job_id delayed = run(put{.tube = "a", .body = "", .due = 10ms}).id;
  const job_id taken = run(put{.tube = "a", .body = "", .due = 5ms}).id;
  EXPECT_EQ(ids_of(run(list_due{})), (ids{taken, delayed}));
  const reservation token = run(claim_job{taken}).jobs.at(0).token;
  EXPECT_EQ(ids_of(run(list_due{})), ids{delayed});
  run(release{.token = token, .due = 20ms});
  EXPECT_EQ(ids_of(run(list_due{})), (ids{delayed, taken}));
  run(pause{"a", 1s});
  EXPECT_EQ(ids_of(run(list_due{})), (ids{delayed, taken})) << "a pause does not delay a job";
  store_.pass(10ms);
  EXPECT_EQ(ids_of(run(list_due{})), ids{taken});
  run(cancel{taken});
  EXPECT_EQ(run(list_due{}), due_answer{});
}

TEST_P(JobStore, PagesOfJobsThatAreDueTogetherLoseAndRepeatNone) {
  ids all;
  for (int i = 0; i < 7; ++i) all.push_back(run(put{.tube = i % 2 == 0 ? "a" : "b", .body = "", .due = 10ms}).id);
  for (const std::uint32_t count : {1U, 2U, 3U, 7U, 8U}) {
    ids listed;
    list_due next{.count = count};
    for (;;) {
      const due_answer page = run(next);
      EXPECT_LE(page.jobs.size(), count);
      for (const due_job& each : page.jobs) listed.push_back(each.id);
      if (page.jobs.size() < count) break;
      next.from = page.jobs.back().due;
      next.after = page.jobs.back().id;
    }
    EXPECT_EQ(listed, all) << "pages of " << count;
  }
}

TEST_P(JobStore, APageBeginsAtItsTime) {
  const utc_time now = store_.utc();
  const job_id first = run(put{.tube = "a", .body = "", .due = now + 10ms}).id;
  const job_id second = run(put{.tube = "a", .body = "", .due = now + 11ms}).id;
  EXPECT_EQ(ids_of(run(list_due{.from = now + 10ms})), (ids{first, second}));
  EXPECT_EQ(ids_of(run(list_due{.from = now + 10ms, .after = first})), ids{second});
  EXPECT_EQ(ids_of(run(list_due{.from = now + 10ms, .after = second})), ids{second});
  EXPECT_EQ(ids_of(run(list_due{.from = now + 10ms, .after = ~job_id{0}})), ids{second});
  EXPECT_EQ(ids_of(run(list_due{.from = now + 11ms})), ids{second});
  EXPECT_EQ(ids_of(run(list_due{.from = now + 12ms})), ids{});
}

TEST_P(JobStore, APrefixMayBeEmptyAWholeNameOrOneThatNoTubeHas) {
  const auto put_into = [this](const char* tube) { return run(put{.tube = tube, .body = "", .due = 10ms}).id; };
  const job_id mail = put_into("mail");
  const job_id fast = put_into("mail.fast");
  const job_id slow = put_into("mail.slow");
  const job_id other = put_into("mais");
  const job_id before = put_into("a");
  const auto with = [this](const char* prefix) { return ids_of(run(list_due{.prefix = prefix})); };
  EXPECT_EQ(with(""), (ids{mail, fast, slow, other, before}));
  EXPECT_EQ(with("mai"), (ids{mail, fast, slow, other}));
  EXPECT_EQ(with("mail"), (ids{mail, fast, slow}));
  EXPECT_EQ(with("mail."), (ids{fast, slow}));
  EXPECT_EQ(with("mail.slow"), ids{slow});
  EXPECT_EQ(with("mail.slower"), ids{});
  EXPECT_EQ(with("z"), ids{});
}

TEST_P(JobStore, AJobIsListedByItsNewDueTime) {
  const job_id one = run(put{.tube = "a", .body = "", .due = 10ms}).id;
  const job_id two = run(put{.tube = "a", .body = "", .due = 20ms}).id;
  run(reschedule{one, 30ms});
  EXPECT_EQ(ids_of(run(list_due{})), (ids{two, one}));
  run(fire_now{two});
  EXPECT_EQ(ids_of(run(list_due{})), ids{one});
}

TEST_P(JobStore, ABatchListsWhatItHasPut) {
  std::vector<operation> batch{put{.tube = "a", .body = "", .due = 10ms}, list_due{},
                               put{.tube = "b", .body = "", .due = 5ms}, list_due{}};
  const execution done = store_->execute(batch);
  const auto id = [&](std::size_t place) { return std::get<put_answer>(done.answers.at(place)).id; };
  EXPECT_EQ(ids_of(std::get<due_answer>(done.answers.at(1))), ids{id(0)});
  EXPECT_EQ(ids_of(std::get<due_answer>(done.answers.at(3))), (ids{id(2), id(0)}));
}

TEST_P(JobStore, AClockThatIsSetMovesWhatIsDueAndNotItsOrder) {
  const utc_time now = store_.utc();
  const job_id near = run(put{.tube = "a", .body = "", .due = now + 10ms}).id;
  const job_id far = run(put{.tube = "a", .body = "", .due = now + 1h}).id;
  store_.step_wall(-1h);
  EXPECT_EQ(ids_of(run(list_due{})), (ids{near, far}));
  const job_id early = run(put{.tube = "a", .body = "", .due = 1ms}).id;
  EXPECT_EQ(ids_of(run(list_due{})), (ids{early, near, far}));
  store_.step_wall(1h + 10ms);
  settle();
  EXPECT_EQ(ids_of(run(list_due{})), ids{far});
}

/// Random jobs and pages against the model. Many share a due time, and some tubes have more jobs than a page.
void agree_with_the_model(open_store& store, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  const std::vector<std::string> tubes{"a", "ab", "abc", "b", "ba", "mail", "mail.x", "mail.y"};
  const std::vector<std::string> prefixes{"", "a", "ab", "abc", "abcd", "b", "m", "mail", "mail.", "mail.y", "x"};
  const utc_time begin = store.utc();
  delayed_jobs model;
  for (int round = 0; round < 20; ++round) {
    std::vector<operation> puts;
    for (std::uint64_t i = below(60); i > 0; --i) {
      puts.emplace_back(
          put{.tube = tubes[below(tubes.size())], .body = "", .due = begin + 1h + milliseconds(below(12))});
    }
    const std::vector<operation> asked = puts;  // a store moves the texts out of the operations
    const execution done = store->execute(puts);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const put& what = std::get<put>(asked[i]);
      const job_id id = std::get<put_answer>(done.answers[i]).id;
      model[id] = {id, what.tube, job_state::delayed, std::get<utc_time>(what.due)};
    }
    for (std::uint64_t i = below(10); i > 0 && !model.empty(); --i) {
      const auto ended = std::next(model.begin(), static_cast<std::ptrdiff_t>(below(model.size())));
      execute_one(*store, cancel{ended->first});
      model.erase(ended);
    }
    for (int look = 0; look < 12; ++look) {
      list_due what{.prefix = prefixes[below(prefixes.size())], .count = static_cast<std::uint32_t>(1 + below(40))};
      if (below(3) != 0) what.from = begin + 1h + milliseconds(below(13));
      if (below(2) != 0 && !model.empty()) {
        what.after = std::next(model.begin(), static_cast<std::ptrdiff_t>(below(model.size())))->first;
      }
      ASSERT_EQ(execute_one(*store, what).jobs, expected_page(model, what))
          << "seed " << seed << ", round " << round << ": prefix '" << what.prefix << "', after " << what.after;
    }
  }
}

TEST_P(JobStore, RandomPagesAgreeWithTheModel) {
  for (const std::uint64_t seed : {1U, 2U}) {
    open_store store(GetParam());
    ASSERT_NO_FATAL_FAILURE(agree_with_the_model(store, seed));
    EXPECT_TRUE(store->check());
  }
}

}  // namespace
}  // namespace foliot::jobs::conformance

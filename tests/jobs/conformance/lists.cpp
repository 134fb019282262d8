// The conformance suite case by case: pages of tubes and of jobs, that each list has in its order, whatever is beside
// it.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance.hpp"
#include "show.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using ids = std::vector<job_id>;
using names = std::vector<std::string>;

ids ids_of(const jobs_answer& page) {
  ids all;
  for (const listed_job& each : page.jobs) all.push_back(each.job.id);
  return all;
}

/// The jobs of all pages of a list.
ids all_pages(job_store& of, list_jobs what) {
  ids all;
  for (;;) {
    const jobs_answer page = execute_one(of, what);
    for (const job_id each : ids_of(page)) all.push_back(each);
    if (!page.next) return all;
    EXPECT_LT(what.after, *page.next) << "each page comes behind the one before";
    what.after = *page.next;
  }
}

TEST_P(JobStore, TubesAreListedInPagesByName) {
  for (const char* const tube : {"b", "ab", "a", "abc", "ba"}) run(put{.tube = tube, .body = "", .due = 1h});
  run(pause{"empty", 1h});
  const tubes_answer first = run(list_tubes{.count = 2});
  EXPECT_EQ(first.tubes, (names{"a", "ab"}));
  EXPECT_EQ(first.next, "ab");
  const tubes_answer second = run(list_tubes{.after = first.next, .count = 2});
  EXPECT_EQ(second.tubes, (names{"abc", "b"}));
  const tubes_answer last = run(list_tubes{.after = second.next, .count = 2});
  EXPECT_EQ(last.tubes, names{"ba"});
  EXPECT_EQ(last.next, "");
  EXPECT_EQ(run(list_tubes{.after = "aa", .count = 2}).tubes, (names{"ab", "abc"})) << "no such tube is needed";
  EXPECT_EQ(run(list_tubes{.after = "ba", .count = 2}), tubes_answer{});
  EXPECT_EQ(run(list_tubes{.prefix = "ab", .count = 9}).tubes, (names{"ab", "abc"}));
  EXPECT_EQ(run(list_tubes{.prefix = "ab", .after = "ab", .count = 9}).tubes, names{"abc"});
  EXPECT_EQ(run(list_tubes{.prefix = "ab", .after = "a", .count = 9}).tubes, (names{"ab", "abc"}));
  EXPECT_EQ(run(list_tubes{.prefix = "ab", .after = "b", .count = 9}).tubes, names{});
  EXPECT_EQ(run(list_tubes{.prefix = "b", .count = 9}).tubes, (names{"b", "ba"}));
  EXPECT_EQ(run(list_tubes{.prefix = "c", .count = 9}).tubes, names{});
}

TEST_P(JobStore, APageOfTubesHasTheirCounts) {
  run(put{.tube = "a", .body = "", .priority = 5});
  run(put{.tube = "a", .body = "", .priority = 5000});
  run(put{.tube = "a", .body = "", .due = 1h});
  run(put{.tube = "b", .body = ""});
  run(put{.tube = "c", .body = ""});
  run(claim{{"b"}});
  run(bury{run(claim{{"c"}}).jobs.at(0).token});
  run(pause{"c", 1h});
  const tubes_answer page = run(list_tubes{.count = 10, .with_counts = true});
  ASSERT_EQ(page.tubes, (names{"a", "b", "c"}));
  ASSERT_EQ(page.counts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(page.counts[i], run(count_tube{page.tubes[i]})) << page.tubes[i];
  EXPECT_EQ(page.counts[0].counts, (job_counts{.urgent = 1, .ready = 2, .delayed = 1}));
  EXPECT_EQ(page.counts[1].counts.reserved, 1U);
  EXPECT_NE(page.counts[2].paused_until, instant::never());
  EXPECT_TRUE(run(list_tubes{.count = 10}).counts.empty());
}

TEST_P(JobStore, JobsOfATubeAreListedInTheOrderOfTheirState) {
  const job_id late = run(put{.tube = "a", .body = "x", .due = 20ms}).id;
  const job_id soon = run(put{.tube = "a", .key = "k", .body = "x", .due = 10ms}).id;
  const job_id last = run(put{.tube = "a", .body = "x", .priority = 7}).id;
  const job_id first = run(put{.tube = "a", .body = "x", .priority = 3}).id;
  const job_id taken = run(put{.tube = "a", .body = "x", .priority = 1, .ttr = 5s}).id;
  run(put{.tube = "b", .body = "x"});
  const job_id old_grave = run(put{.tube = "a", .body = "x", .priority = 2}).id;
  const job_id new_grave = run(put{.tube = "a", .body = "x", .priority = 0}).id;
  run(bury{run(claim_job{old_grave}).jobs.at(0).token});
  run(bury{run(claim_job{new_grave}).jobs.at(0).token});
  const claimed_job held = run(claim{{"a"}}).jobs.at(0);
  EXPECT_EQ(held.job.id, taken);
  const auto in = [this](job_state state) { return ids_of(run(list_jobs{.tube = "a", .which = state})); };
  EXPECT_EQ(in(job_state::delayed), (ids{soon, late}));
  EXPECT_EQ(in(job_state::ready), (ids{first, last}));
  EXPECT_EQ(in(job_state::reserved), ids{taken});
  EXPECT_EQ(in(job_state::buried), (ids{old_grave, new_grave}));
  for (const job_state state : {job_state::delayed, job_state::ready, job_state::reserved, job_state::buried}) {
    SCOPED_TRACE(show(state));
    const list_jobs one_by_one{.tube = "a", .which = state, .count = 1};
    EXPECT_EQ(all_pages(*store_, one_by_one), in(state));
  }
  const listed_job seen = run(list_jobs{.tube = "a", .which = job_state::reserved}).jobs.at(0);
  EXPECT_EQ(seen.job.expires, held.job.expires);
  EXPECT_EQ(seen.job.body, "") << "lists have no bodies";
  EXPECT_EQ(seen.version, run(peek{taken}).version);
  EXPECT_EQ(run(list_jobs{.tube = "a", .which = job_state::delayed}).jobs.at(0).job.key, "k");
  run(finish{held.token});
  EXPECT_EQ(in(job_state::reserved), ids{});
  EXPECT_EQ(ids_of(run(list_jobs{.tube = "none"})), ids{});
}

TEST_P(JobStore, AllJobsAreListedByTheirIds) {
  const job_id one = run(put{.tube = "a.x", .body = "", .due = 1h}).id;
  const job_id two = run(put{.tube = "b", .body = "", .priority = 9}).id;
  const job_id three = run(put{.tube = "a.y", .body = ""}).id;
  const job_id four = run(put{.tube = "a.x", .body = "", .ttr = 1s}).id;
  run(claim_job{two});
  run(claim_job{four});
  EXPECT_EQ(ids_of(run(list_jobs{})), (ids{one, two, three, four}));
  EXPECT_EQ(all_pages(*store_, list_jobs{.count = 2}), (ids{one, two, three, four}));
  EXPECT_EQ(ids_of(run(list_jobs{.after = {77, one}, .count = 2})), (ids{two, three})) << "the rank does not count";
  EXPECT_EQ(ids_of(run(list_jobs{.prefixes = {"a."}})), (ids{one, three, four}));
  EXPECT_EQ(ids_of(run(list_jobs{.prefixes = {"a.y", "b"}})), (ids{two, three}));
  EXPECT_EQ(ids_of(run(list_jobs{.prefixes = {}})), ids{}) << "none is none, and not all";
  EXPECT_EQ(ids_of(run(list_jobs{.tube = "a.x"})), (ids{one, four}));
  EXPECT_EQ(ids_of(run(list_jobs{.tube = "a."})), ids{}) << "the name of a tube is no prefix";
  EXPECT_EQ(ids_of(run(list_jobs{.which = job_state::reserved})), (ids{two, four}));
  EXPECT_EQ(ids_of(run(list_jobs{.prefixes = {"a"}, .which = job_state::reserved})), ids{four});
  store_.pass(1001ms);
  settle();
  EXPECT_EQ(ids_of(run(list_jobs{.which = job_state::reserved})), ids{two});
  run(cancel{one});
  run(cancel{three});
  EXPECT_EQ(ids_of(run(list_jobs{.after = {0, one}})), (ids{two, four})) << "the job of the place has gone";
  EXPECT_EQ(ids_of(run(list_jobs{.after = {0, ~job_id{0}}})), ids{});
}

TEST_P(JobStore, ABatchListsTheJobsThatItHasChanged) {
  const job_id old = run(put{.tube = "a", .body = "", .due = 1h}).id;
  const job_id gone = run(put{.tube = "a", .body = "", .due = 1h}).id;
  std::vector<operation> batch{fire_now{old},
                               cancel{gone},
                               put{.tube = "a", .body = "", .priority = 9},
                               list_jobs{.tube = "a"},
                               list_jobs{.tube = "a", .which = job_state::ready},
                               list_jobs{.tube = "a", .which = job_state::delayed}};
  const execution done = store_->execute(batch);
  const job_id made = std::get<put_answer>(done.answers.at(2)).id;
  EXPECT_EQ(ids_of(std::get<jobs_answer>(done.answers.at(3))), (ids{old, made}));
  EXPECT_EQ(ids_of(std::get<jobs_answer>(done.answers.at(4))), (ids{old, made}));
  EXPECT_EQ(ids_of(std::get<jobs_answer>(done.answers.at(5))), ids{});
  EXPECT_EQ(std::get<jobs_answer>(done.answers.at(3)).jobs.at(0).job.state, job_state::ready);
}

/// A page by ids reads a bounded number of jobs: those of one tube are not searched for among all.
TEST_P(JobStore, APageReadsABoundedNumberOfOtherJobs) {
  std::vector<operation> puts;
  for (std::uint32_t i = 0; i < most_searched + 5; ++i) puts.emplace_back(put{.tube = "many", .body = ""});
  puts.emplace_back(put{.tube = "few", .body = ""});
  const execution done = store_->execute(puts);
  const auto id_of = [&](std::size_t place) { return std::get<put_answer>(done.answers.at(place)).id; };
  const jobs_answer first = execute_one(*store_, list_jobs{.tube = "few"});
  EXPECT_EQ(ids_of(first), ids{});
  ASSERT_TRUE(first.next);
  EXPECT_EQ(first.next->id, id_of(most_searched - 1));
  const jobs_answer second = execute_one(*store_, list_jobs{.tube = "few", .after = *first.next});
  EXPECT_EQ(ids_of(second), ids{id_of(most_searched + 5)});
  EXPECT_FALSE(second.next);
  EXPECT_EQ(all_pages(*store_, list_jobs{.prefixes = {"f"}}), ids{id_of(most_searched + 5)});
  EXPECT_EQ(ids_of(execute_one(*store_, list_jobs{.tube = "few", .which = job_state::ready})),
            ids{id_of(most_searched + 5)})
      << "where the tube has an order of its own nothing else is read";
  EXPECT_EQ(all_pages(*store_, list_jobs{.tube = "many", .which = job_state::ready, .count = most_listed}).size(),
            most_searched + 5);
}

}  // namespace
}  // namespace foliot::jobs::conformance

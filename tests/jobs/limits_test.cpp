// What validate() accepts and refuses, at every bound; and that execute_one() asks it.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/memory_store.hpp>

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

std::string refusal(const operation& what, const job_limits& limits = {}) {
  return validate(what, limits).value_or("accepted");
}

TEST(Limits, Names) {
  EXPECT_EQ(refusal(kick{""}), "tube name must not be empty");
  EXPECT_EQ(refusal(kick{"a"}), "accepted");
  EXPECT_EQ(refusal(kick{"a", 1, job_state::delayed}), "accepted");
  EXPECT_EQ(refusal(kick{"a", 1, job_state::reserved}), "kick must ask for buried or delayed jobs, got reserved");
  EXPECT_EQ(refusal(kick{std::string(200, 'a')}), "accepted");
  EXPECT_EQ(refusal(kick{std::string(201, 'a')}), "tube name must have at most 200 bytes, got 201");
  EXPECT_EQ(refusal(kick{std::string("a\0b", 3)}), "tube name must not contain a zero byte");
  EXPECT_EQ(refusal(kick{"\xff \n\x01"}), "accepted");
  EXPECT_EQ(refusal(cancel{job_key{"a", ""}}), "key must not be empty");
  EXPECT_EQ(refusal(cancel{job_key{"", "k"}}), "tube name must not be empty");
  EXPECT_EQ(refusal(cancel{job_key{"a", std::string(200, 'k')}}), "accepted");
  EXPECT_EQ(refusal(cancel{job_key{"a", std::string(201, 'k')}}), "key must have at most 200 bytes, got 201");
}

TEST(Limits, EveryOperationWithANameIsChecked) {
  const std::string bad = "tube name must not be empty";
  for (const operation& each :
       {operation(put{.tube = "", .body = ""}), operation(claim{{"a", ""}}), operation(kick{""}),
        operation(cancel{job_key{"", "k"}}), operation(reschedule{job_key{"", "k"}, 0ms}),
        operation(fire_now{job_key{"", "k"}}), operation(pause{"", 1s}), operation(peek{job_key{"", "k"}}),
        operation(peek_first{""}), operation(count_tube{""}), operation(clear_tube{""}),
        operation(put_all{{{.tube = "a", .body = ""}, {.tube = "", .body = ""}}})}) {
    EXPECT_EQ(refusal(each), bad) << each.index();
  }
  EXPECT_EQ(refusal(claim{{}}), "claim must name at least one tube");
}

TEST(Limits, Lifetimes) {
  const auto of = [](milliseconds lifetime) { return once(sha256{}, sha256{}, lifetime); };
  const put in_all{.tube = "a", .body = ""};
  for (const milliseconds good : {milliseconds(1), longest_time}) {
    EXPECT_EQ(refusal(put{.tube = "a", .body = "", .once = of(good)}), "accepted");
    EXPECT_EQ(refusal(put_all{{in_all}, of(good)}), "accepted");
    EXPECT_EQ(refusal(claim{.tubes = {"a"}, .once = of(good)}), "accepted");
  }
  const std::string bad = "lifetime of once must be from 1 ms to 4294967295000 ms, got ";
  EXPECT_EQ(refusal(put{.tube = "a", .body = "", .once = of(0ms)}), bad + "0 ms");
  EXPECT_EQ(refusal(put_all{{in_all}, of(-1ms)}), bad + "-1 ms");
  EXPECT_EQ(refusal(claim{.tubes = {"a"}, .once = of(longest_time + 1ms)}), bad + "4294967295001 ms");
  const put with_its_own{.tube = "a", .body = "", .once = of(1h)};
  EXPECT_EQ(refusal(put_all{{in_all, with_its_own}}), "put in a put_all must have no once: the put_all has it");
}

TEST(Limits, PutsThatExpectAVersion) {
  const std::string bad = "put that expects a version must have a key, and replace the job that has it";
  put what{.tube = "a", .key = "k", .body = "", .existing = on_existing::replace, .expected = 1};
  EXPECT_EQ(refusal(what), "accepted");
  what.expected = ~job_version{0};
  EXPECT_EQ(refusal(what), "accepted");
  what.existing = on_existing::keep;
  EXPECT_EQ(refusal(what), bad);
  what.existing = on_existing::refuse;
  EXPECT_EQ(refusal(what), bad);
  what.expected = 0;
  EXPECT_EQ(refusal(what), "accepted");
  EXPECT_EQ(refusal(put{.tube = "a", .body = "", .existing = on_existing::replace, .expected = 1}), bad);
}

TEST(Limits, PutsOfHolders) {
  const std::string bad = "put with a holder must have a key, and replace the job that has it";
  const put good{.tube = "a", .key = "k", .body = "", .existing = on_existing::replace, .holder = reservation{.id = 7}};
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_EQ(refusal(put_all{{good}}), "accepted");
  for (const on_existing other : {on_existing::keep, on_existing::refuse}) {
    put wrong = good;
    wrong.existing = other;
    EXPECT_EQ(refusal(wrong), bad);
    EXPECT_EQ(refusal(put_all{{wrong}}), bad);
  }
  put wrong = good;
  wrong.key.clear();
  EXPECT_EQ(refusal(wrong), bad);
  wrong = good;
  wrong.holder = reservation{};
  EXPECT_EQ(refusal(wrong), "accepted") << "a store says what a token is worth";
  wrong.expected = 1;
  EXPECT_EQ(refusal(wrong), "put with a holder must expect no version: its reservation says which job is meant");
  wrong = good;
  wrong.once = once({}, {}, 1h);
  EXPECT_EQ(refusal(wrong), "put with a holder must have no once: a reservation ends once");
  EXPECT_EQ(refusal(put_all{{good}, wrong.once}),
            "put_all with a once must have no put with a holder: a reservation ends once");
}

TEST(Limits, PutsOfWhichAllHappenOrNone) {
  const put one{.tube = "a", .body = ""};
  EXPECT_EQ(refusal(put_all{}), "put_all must have from 1 to 1000 puts, got 0");
  EXPECT_EQ(refusal(put_all{std::vector(1000, one)}), "accepted");
  EXPECT_EQ(refusal(put_all{std::vector(1001, one)}), "put_all must have from 1 to 1000 puts, got 1001");
  put other{.tube = "a", .key = "k", .body = ""};
  EXPECT_EQ(refusal(put_all{{one, other, one}}), "accepted");
  EXPECT_EQ(refusal(put_all{{other, one, other}}), "put_all must have each key of a tube once, got 'k' of 'a' twice");
  put in_another_tube = other;
  in_another_tube.tube = "b";
  EXPECT_EQ(refusal(put_all{{other, in_another_tube}}), "accepted");
  other.expected = 1;
  EXPECT_EQ(refusal(put_all{{one, other}}),
            "put that expects a version must have a key, and replace the job that has it");
  EXPECT_EQ(refusal(put_all{{one, put{.tube = "a", .body = std::string(65'536, 'x')}}}),
            "body must have at most 65535 bytes, got 65536");

  const job_limits wide{.max_body = largest_body};
  const put half{.tube = "a", .body = std::string(8U << 20U, 'x')};
  put more = half;
  more.body += 'x';
  EXPECT_EQ(refusal(put_all{{half, half}}, wide), "accepted");
  EXPECT_EQ(refusal(put_all{{half, more}}, wide),
            "several puts of one put_all must bring at most 16777216 bytes, got 16777217");
  EXPECT_EQ(refusal(put_all{{put{.tube = "a", .body = std::string((16U << 20U) + 1, 'x')}}}, wide), "accepted");
}

TEST(Limits, PagesOfWhatIsDueNext) {
  EXPECT_EQ(refusal(list_due{}), "accepted");
  EXPECT_EQ(refusal(list_due{.prefix = std::string(200, 'a'), .count = 1000}), "accepted");
  EXPECT_EQ(refusal(list_due{.prefix = std::string(201, 'a')}), "prefix must have at most 200 bytes, got 201");
  EXPECT_EQ(refusal(list_due{.prefix = std::string("a\0", 2)}), "prefix must not contain a zero byte");
  EXPECT_EQ(refusal(list_due{.count = 0}), "page must have from 1 to 1000 jobs, got 0");
  EXPECT_EQ(refusal(list_due{.count = 1001}), "page must have from 1 to 1000 jobs, got 1001");
  EXPECT_EQ(refusal(list_due{.from = utc_time(-1ms)}).substr(0, 8), "due time");
}

TEST(Limits, PagesOfTubesAndJobs) {
  EXPECT_EQ(refusal(list_tubes{.prefix = "a", .after = "b", .count = 1000, .with_counts = true}), "accepted");
  EXPECT_EQ(refusal(list_tubes{.count = 1001}), "page must have from 1 to 1000 tubes, got 1001");
  EXPECT_EQ(refusal(list_tubes{.with_counts = true}), "list of all tubes has no counts: ask for pages");
  EXPECT_EQ(refusal(list_tubes{.prefix = "a"}), "list of all tubes has no prefix: ask for pages");
  EXPECT_EQ(refusal(list_tubes{.after = "a"}), "list of all tubes begins at the first one: ask for pages");
  EXPECT_EQ(refusal(list_tubes{.prefix = std::string(201, 'a')}), "prefix must have at most 200 bytes, got 201");
  EXPECT_EQ(refusal(list_tubes{.after = std::string(201, 'a')}),
            "name behind which a page begins must have at most 200 bytes, got 201");
  EXPECT_EQ(refusal(list_jobs{}), "accepted");
  EXPECT_EQ(refusal(list_jobs{.tube = "a", .which = job_state::buried, .after = {7, ~job_id{0}}, .count = 1000}),
            "accepted");
  EXPECT_EQ(refusal(list_jobs{.which = job_state::reserved}), "accepted");
  EXPECT_EQ(refusal(list_jobs{.which = job_state::ready}),
            "list of jobs in one state, but for the reserved ones, must name a tube");
  EXPECT_EQ(refusal(list_jobs{.tube = std::string(201, 'a')}), "tube name must have at most 200 bytes, got 201");
  EXPECT_EQ(refusal(list_jobs{.prefixes = {"a", std::string("b\0", 2)}}), "prefix must not contain a zero byte");
  EXPECT_EQ(refusal(list_jobs{.after = {std::uint64_t{1} << 63U, 1}}),
            "rank of a place must be at most 9223372036854775807");
  EXPECT_EQ(refusal(list_jobs{.count = 0}), "page must have from 1 to 1000 jobs, got 0");
  EXPECT_EQ(refusal(list_jobs{.count = 1001}), "page must have from 1 to 1000 jobs, got 1001");
}

TEST(Limits, AnyIdAndAnyTokenMayBeAskedFor) {
  constexpr job_id highest = std::numeric_limits<job_id>::max();
  const reservation token{0, 0, 0};
  for (const operation& each :
       {operation(claim_job{0}), operation(finish{token}), operation(release{token}), operation(abandon{token}),
        operation(bury{token}), operation(touch{token}), operation(kick_job{highest}), operation(cancel{job_id{0}}),
        operation(peek{highest}), operation(count_all{}), operation(list_tubes{})}) {
    EXPECT_EQ(refusal(each), "accepted") << each.index();
  }
}

TEST(Limits, Lengths) {
  const auto put_with = [](due_at due, milliseconds ttr) {
    return put{.tube = "a", .body = "", .due = due, .ttr = ttr};
  };
  EXPECT_EQ(refusal(put_with(0ms, 1ms)), "accepted");
  EXPECT_EQ(refusal(put_with(longest_time, longest_time)), "accepted");
  EXPECT_EQ(refusal(put_with(-1ms, 1ms)), "delay must be from 0 ms to 4294967295000 ms, got -1 ms");
  EXPECT_EQ(refusal(put_with(longest_time + 1ms, 1ms)),
            "delay must be from 0 ms to 4294967295000 ms, got 4294967295001 ms");
  EXPECT_EQ(refusal(put_with(0ms, 0ms)), "TTR must be from 1 ms to 4294967295000 ms, got 0 ms");
  EXPECT_EQ(refusal(put_with(0ms, longest_time + 1ms)),
            "TTR must be from 1 ms to 4294967295000 ms, got 4294967295001 ms");
  EXPECT_EQ(refusal(pause{"a", 0ms}), "accepted");
  EXPECT_EQ(refusal(pause{"a", -1ms}), "pause must be from 0 ms to 4294967295000 ms, got -1 ms");
  EXPECT_EQ(refusal(release{{}, std::nullopt, -1ms}), "delay must be from 0 ms to 4294967295000 ms, got -1 ms");
  EXPECT_EQ(refusal(reschedule{job_id{1}, -1ms}), "delay must be from 0 ms to 4294967295000 ms, got -1 ms");
}

TEST(Limits, DueTimesAreThoseThatTheWallClockCanShow) {
  const utc_time latest = std::chrono::floor<milliseconds>(wall_clock::to_sys(instant::latest()));
  EXPECT_EQ(refusal(reschedule{job_id{1}, utc_time{}}), "accepted");
  EXPECT_EQ(refusal(reschedule{job_id{1}, latest}), "accepted");
  EXPECT_EQ(refusal(reschedule{job_id{1}, utc_time{-1ms}}),
            "due time must be from 0 ms to 9223372036854 ms after 1970, got -1 ms");
  EXPECT_EQ(refusal(reschedule{job_id{1}, latest + 1ms}),
            "due time must be from 0 ms to 9223372036854 ms after 1970, got 9223372036855 ms");
}

TEST(Limits, Bodies) {
  const auto put_with = [](std::size_t size) { return put{.tube = "a", .body = std::string(size, 'x')}; };
  EXPECT_EQ(refusal(put_with(0)), "accepted");
  EXPECT_EQ(refusal(put_with(65'535)), "accepted");
  EXPECT_EQ(refusal(put_with(65'536)), "body must have at most 65535 bytes, got 65536");
  EXPECT_EQ(refusal(put_with(11), {.max_body = 10}), "body must have at most 10 bytes, got 11");
  EXPECT_EQ(refusal(put_with(65'536), {.max_body = std::numeric_limits<std::size_t>::max()}), "accepted");
}

TEST(Limits, ReservedJobsHaveNoFirst) {
  EXPECT_EQ(refusal(peek_first{"a", job_state::reserved}),
            "peek_first must ask for ready, delayed or buried, got reserved");
}

TEST(Limits, ASingleCallThrowsWhatValidateSays) {
  memory_store store;
  try {
    execute_one(store, kick{""});
    FAIL() << "no exception";
  } catch (const std::invalid_argument& refused) {
    EXPECT_STREQ(refused.what(), "foliot: tube name must not be empty");
  }
  EXPECT_THROW(execute_one(store, put{.tube = "a", .body = "xx"}, job_limits{.max_body = 1}), std::invalid_argument);
}

}  // namespace
}  // namespace foliot::jobs

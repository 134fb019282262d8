// The checker finds each breach in a history that has it, and nothing in one that has none.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "checker.hpp"

namespace foliot::program::worlds {
namespace {

using namespace std::chrono_literals;

/// A history by hand. Each command takes a millisecond, and the next one begins after it; the wall clock began at the
/// same time as the other one.
class written {
 public:
  written() { history_.wall.step(instant{}, duration::zero()); }

  event& add(std::size_t connection, verb what, jobs::job_id id, std::string answer, jobs::job_id job = 0) {
    event& it = history_.events.emplace_back();
    it.connection = connection;
    it.what = what;
    it.begin = it.front = now();
    pass(1ms);
    it.end = now();
    it.asked = id;
    it.answer = std::move(answer);
    it.job = job == 0 ? id : job;
    it.tube = "mail";
    it.watched = {"mail"};
    it.body = "body";
    return it;
  }
  event& put(jobs::job_id id, jobs::milliseconds delay = {}, jobs::priority urgency = 0) {
    event& it = add(1, verb::put, 0, "INSERTED", id);
    it.delay = delay;
    it.priority = urgency;
    it.ttr = 60s;
    left(id);
    return it;
  }
  event& reserve(std::size_t connection, jobs::job_id id) { return add(connection, verb::reserve, 0, "RESERVED", id); }
  /// A reserve over HTTP, which has brought the job by this token.
  event& reserve_http(std::size_t connection, jobs::job_id id, std::string token) {
    event& it = reserve(connection, id);
    it.by = protocol_of::http;
    it.token = std::move(token);
    it.count = 1;
    return it;
  }
  /// A command over HTTP that shows the token of a reservation.
  event& show(std::size_t connection, verb what, jobs::job_id id, std::string token, std::string answer) {
    event& it = add(connection, what, id, std::move(answer));
    it.by = protocol_of::http;
    it.token = std::move(token);
    return it;
  }
  /// A look over HTTP.
  event& look(jobs::job_id id, jobs::job_version version, std::string state = "ready") {
    event& it = add(4, verb::peek, id, "FOUND");
    it.by = protocol_of::http;
    it.version = version;
    it.state = std::move(state);
    return it;
  }
  /// A change over HTTP that expects a version.
  event& change(verb what, jobs::job_id id, jobs::job_version wanted, std::string answer) {
    event& it = add(5, what, id, std::move(answer));
    it.by = protocol_of::http;
    it.wanted_version = wanted;
    return it;
  }
  event& clear(std::size_t count, std::uint64_t changed) {
    event& it = add(5, verb::clear, 0, "CLEARED");
    it.by = protocol_of::http;
    it.count = count;
    it.changed = changed;
    return it;
  }
  void restart() {
    history_.server_ends.push_back(++history_.order);
    history_.server_starts.push_back(++history_.order);
  }
  /// A page behind no job, with jobs of the tube "mail" that are due so many milliseconds after 1970.
  event& page(const std::vector<std::pair<std::int64_t, jobs::job_id>>& listed, std::size_t count = 10) {
    event& it = add(3, verb::page, 0, "OK");
    it.at = jobs::utc_time{};
    it.count = count;
    for (const auto& [due, id] : listed) {
      it.listed.push_back({id, "mail", jobs::job_state::delayed, jobs::utc_time(jobs::milliseconds(due))});
    }
    return it;
  }
  event& remove(std::size_t connection, jobs::job_id id) {
    history_.left.erase(id);
    return add(connection, verb::remove, id, "DELETED");
  }
  jobs::job& left(jobs::job_id id) {
    jobs::job& it = history_.left[id];
    it.id = id;
    return it;
  }
  void pass(duration length) { time_ += length; }
  history& operator*() { return history_; }

  /// The names of the rules that are broken, each once.
  std::vector<std::string> broken() const {
    std::vector<std::string> rules;
    for (const std::string& each : breaches(history_)) {
      const std::string rule = each.substr(0, each.find(':'));
      if (rules.empty() || rules.back() != rule) rules.push_back(rule);
    }
    return rules;
  }

 private:
  moment now() { return {++history_.order, time_}; }

  history history_;
  instant time_;
};

using rules = std::vector<std::string>;

TEST(HistoryChecker, FindsNothingInASoundHistory) {
  written all;
  all.put(1);
  all.put(2, 20ms);
  all.put(3);
  all.reserve(2, 1);
  all.add(2, verb::touch, 1, "TOUCHED");
  all.add(3, verb::cancel, 1, "IS_RESERVED");
  all.add(3, verb::remove, 1, "NOT_FOUND");
  all.remove(2, 1);
  all.add(3, verb::cancel, 1, "GONE");
  all.pass(30ms);
  all.reserve(3, 2);
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, FindsAMissingAnswer) {
  written all;
  all.put(1).answer = "MISSING";
  (*all).left.clear();
  EXPECT_EQ(all.broken(), rules{"missing"});
}

TEST(HistoryChecker, FindsAnAnswerOfAnotherCommand) {
  written all;
  all.put(1);
  all.add(2, verb::kick_job, 1, "BURIED");
  EXPECT_EQ(all.broken(), rules{"wrong answer"});
}

TEST(HistoryChecker, FindsAnInventedJob) {
  written all;
  all.put(1);
  all.reserve(2, 1).body = "another body";
  EXPECT_EQ(all.broken(), rules{"invented"});
}

TEST(HistoryChecker, FindsAJobOfAnotherTube) {
  written all;
  all.put(1);
  all.reserve(2, 1).watched = {"calls"};
  EXPECT_EQ(all.broken(), rules{"invented"});
}

TEST(HistoryChecker, FindsAnIdThatIsGivenTwice) {
  written all;
  all.put(1);
  all.put(1);
  EXPECT_EQ(all.broken(), rules{"same id"});
}

TEST(HistoryChecker, FindsAnIdThatDoesNotAscend) {
  written all;
  all.put(2);
  all.put(1);
  EXPECT_EQ(all.broken(), rules{"same id"});
}

TEST(HistoryChecker, FindsALostJob) {
  written all;
  all.put(1);
  (*all).left.clear();
  EXPECT_EQ(all.broken(), rules{"lost"});
}

TEST(HistoryChecker, AllowsThatACommandWithoutAnswerEndedAJob) {
  written all;
  all.put(1);
  all.remove(2, 1).end.reset();
  (*all).events.back().answer.clear();
  EXPECT_EQ(all.broken(), rules{});
  all.left(1);
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, FindsAJobThatIsBack) {
  written all;
  all.put(1);
  all.reserve(2, 1);
  all.remove(2, 1);
  all.reserve(3, 1);
  EXPECT_EQ(all.broken(), rules{"back"});
}

TEST(HistoryChecker, FindsAJobThatEndsTwice) {
  written all;
  all.put(1);
  const moment begin = all.remove(2, 1).begin;
  all.add(3, verb::cancel, 1, "CANCELLED").begin = begin;
  EXPECT_EQ(all.broken(), rules{"twice"});
}

TEST(HistoryChecker, FindsTwoJobsWithAKey) {
  written all;
  all.put(1).key = "key";
  all.put(2).key = "key";
  EXPECT_EQ(all.broken(), rules{"same key"});
}

TEST(HistoryChecker, FindsTwoHolders) {
  written all;
  all.put(1);
  all.reserve(2, 1);
  all.reserve(3, 1);
  EXPECT_EQ(all.broken(), rules{"held by two"});
}

TEST(HistoryChecker, AllowsAnotherHolderAfterTheTtr) {
  written all;
  all.put(1).ttr = 5ms;
  all.reserve(2, 1);
  all.pass(5ms);
  all.reserve(3, 1);
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, AllowsAnotherHolderAfterTheEndOfTheConnection) {
  written all;
  all.put(1);
  all.reserve(2, 1);
  (*all).connection_ends[2] = ++(*all).order;
  all.reserve(3, 1);
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, FindsARefusedHolder) {
  written all;
  all.put(1);
  all.reserve(2, 1);
  all.add(2, verb::touch, 1, "NOT_FOUND");
  EXPECT_EQ(all.broken(), rules{"refused"});
}

/// The touch may belong to the second reservation, and the first one may have ended before the command `delete`.
TEST(HistoryChecker, AllowsThatATouchBelongsToALaterReservation) {
  written all;
  all.put(1).ttr = 4ms;
  all.reserve(2, 1);
  all.pass(1ms);
  event& refused = all.add(2, verb::remove, 1, "NOT_FOUND");
  event& again = all.reserve(2, 1);
  event& touched = all.add(2, verb::touch, 1, "TOUCHED");
  again.begin.time = touched.begin.time = refused.begin.time;
  refused.end->time += 4ms;
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, FindsACancelThatAnswersGone) {
  written all;
  all.put(1);
  all.add(2, verb::cancel, 1, "GONE");
  EXPECT_EQ(all.broken(), rules{"lie"});
}

TEST(HistoryChecker, FindsACancelThatAnswersReserved) {
  written all;
  all.put(1);
  all.add(2, verb::cancel, 1, "IS_RESERVED");
  EXPECT_EQ(all.broken(), rules{"lie"});
}

TEST(HistoryChecker, FindsAMillisecondTooEarly) {
  written all;
  all.put(1, 10ms);  // from 0 ms at the earliest
  all.pass(7ms);
  all.reserve(2, 1);  // until 9 ms
  EXPECT_EQ(all.broken(), rules{"early"});
}

TEST(HistoryChecker, AllowsTheWallClockToHaveShownTheTime) {
  written all;
  all.put(1, 1h);
  (*all).wall.step(instant{} + 2ms, 1h);
  (*all).wall.step(instant{} + 3ms, duration::zero());
  all.pass(2ms);
  all.reserve(2, 1);
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, FindsALessUrgentJobBeforeAMoreUrgentOne) {
  written all;
  all.put(1, 0ms, 5);
  all.put(2, 0ms, 4);
  all.pass(1ms);
  all.reserve(2, 1);
  EXPECT_EQ(all.broken(), rules{"out of order"});
}

TEST(HistoryChecker, FindsAYoungerJobBeforeAnOlderOne) {
  written all;
  all.put(1);
  all.put(2);
  all.pass(1ms);
  all.reserve(2, 2);
  EXPECT_EQ(all.broken(), rules{"out of order"});
}

TEST(HistoryChecker, FindsALateJob) {
  written all;
  all.put(1);
  event& waiting = all.add(2, verb::reserve, 0, "TIMED_OUT");
  waiting.end->time += 5ms;
  waiting.job = 0;
  EXPECT_EQ(all.broken(), rules{"late"});
}

/// The jobs 1 and 2 are due after 60 s, at the same time; the job 3 is due after a delay, and the job 4 earlier.
written with_delayed_jobs() {
  written all;
  for (const jobs::job_id id : {1U, 2U}) all.put(id).at = jobs::utc_time(60s);
  all.put(3, 70s);                              // at 70.002 to 70.004 s
  all.put(4).at = jobs::utc_time(50s + 500ms);  // at 50.5 s
  return all;
}

TEST(HistoryChecker, AcceptsPagesOfWhatIsDueNext) {
  written all = with_delayed_jobs();
  all.page({{50'500, 4}, {60'000, 1}, {60'000, 2}, {70'003, 3}});
  all.page({{50'500, 4}, {60'000, 1}}, 2);
  event& behind = all.page({{60'000, 2}, {70'003, 3}});
  behind.at = jobs::utc_time(60s);
  behind.after = 1;
  all.page({}).prefix = "mails";
  all.add(2, verb::kick, 0, "KICKED", 0);
  all.page({});
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HistoryChecker, FindsAWrongPage) {
  using page = std::vector<std::pair<std::int64_t, jobs::job_id>>;
  const std::vector<page> wrong{{{50'500, 4}, {60'000, 1}, {70'003, 3}},                // the last of equal times
                                {{50'500, 4}, {60'000, 2}, {60'000, 1}, {70'003, 3}},   // their order
                                {{50'500, 4}, {60'000, 1}, {60'000, 2}, {70'010, 3}},   // another time
                                {{60'000, 1}, {60'000, 2}, {70'003, 3}},                // the first one
                                {{50'500, 4}, {60'000, 1}, {60'000, 2}},                // the last one
                                {{1, 4}, {60'000, 1}, {60'000, 2}, {70'003, 3}},        // due already
                                {{60'000, 1}, {60'000, 1}, {60'000, 2}, {70'003, 3}}};  // twice
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    written all = with_delayed_jobs();
    all.page(wrong[i]);
    EXPECT_EQ(all.broken(), rules{"wrong page"}) << i;
  }
  written longer = with_delayed_jobs();
  longer.page({{50'500, 4}, {60'000, 1}, {60'000, 2}}, 2);
  EXPECT_EQ(longer.broken(), rules{"wrong page"});
  written other = with_delayed_jobs();
  other.page({{50'500, 4}, {60'000, 1}, {60'000, 2}, {70'003, 3}}).prefix = "calls";
  EXPECT_EQ(other.broken(), rules{"wrong page"});
}

TEST(HistoryChecker, FindsAJobThatHasEndedOnAPage) {
  written all = with_delayed_jobs();
  all.remove(2, 4);
  all.page({{50'500, 4}, {60'000, 1}, {60'000, 2}, {70'003, 3}});
  EXPECT_EQ(all.broken(), rules{"wrong page"});
}

TEST(HistoryChecker, FindsWrongPagesAtTheEnd) {
  for (const bool is_whole : {true, false}) {
    written all = with_delayed_jobs();
    std::vector<jobs::due_job>& listed = (*all).listed[""];
    for (const jobs::job_id id : {4U, 1U, 2U, 3U}) {
      jobs::job& left = all.left(id);
      left.tube = "mail";
      left.state = jobs::job_state::delayed;
      left.due = jobs::utc_time(id == 4 ? 50s : 60s);
      if (is_whole || id != 2) listed.push_back({id, "mail", jobs::job_state::delayed, left.due});
    }
    EXPECT_EQ(all.broken(), is_whole ? rules{} : rules{"wrong page"});
  }
}

TEST(HistoryChecker, FindsWhatIsWrongAtTheEnd) {
  written all;
  all.put(1);
  all.left(1).state = jobs::job_state::reserved;
  EXPECT_EQ(all.broken(), rules{"left"});
}

/// Over HTTP a reservation is held by its token.
TEST(HttpHistoryChecker, AllowsThatAnyConnectionShowsTheToken) {
  written all;
  all.put(1);
  all.reserve_http(2, 1, "1-1-1");
  (*all).connection_ends[2] = ++(*all).order;
  all.show(3, verb::touch, 1, "1-1-1", "TOUCHED");
  all.show(4, verb::release, 1, "1-1-1", "RELEASED");
  all.show(3, verb::remove, 1, "1-1-1", "NOT_FOUND");
  all.reserve_http(3, 1, "1-1-2");
  all.restart();
  all.show(3, verb::touch, 1, "1-1-2", "NOT_FOUND");
  EXPECT_EQ(all.broken(), rules{});
}

TEST(HttpHistoryChecker, FindsTwoHolders) {
  written all;
  all.put(1);
  all.reserve_http(2, 1, "1-1-1");
  (*all).connection_ends[2] = ++(*all).order;  // which ends nothing
  all.reserve(3, 1);
  EXPECT_EQ(all.broken(), rules{"held by two"});
}

TEST(HttpHistoryChecker, FindsAHolderBesideAToken) {
  written all;
  all.put(1);
  all.reserve_http(2, 1, "1-1-1");
  all.remove(2, 1);  // by the same connection, but without the token
  EXPECT_EQ(all.broken(), rules{"held by two"});
}

TEST(HttpHistoryChecker, FindsARefusedToken) {
  for (const bool is_restarted : {false, true}) {
    written all;
    all.put(1);
    all.reserve_http(2, 1, "1-1-1");
    if (is_restarted) all.restart();
    all.show(3, verb::touch, 1, "1-1-1", "NOT_FOUND");
    EXPECT_EQ(all.broken(), is_restarted ? rules{} : rules{"refused"});
  }
}

TEST(HttpHistoryChecker, FindsATokenThatIsGivenTwice) {
  written all;
  all.put(1);
  all.reserve_http(2, 1, "1-1-1");
  all.show(2, verb::release, 1, "1-1-1", "RELEASED");
  all.reserve_http(2, 1, "1-1-1");
  EXPECT_EQ(all.broken(), rules{"same token"});
}

TEST(HttpHistoryChecker, FindsATokenThatIsAcceptedAfterItsEnd) {
  written ended;
  ended.put(1);
  ended.reserve_http(2, 1, "1-1-1");
  ended.show(2, verb::release, 1, "1-1-1", "RELEASED");
  ended.show(3, verb::bury, 1, "1-1-1", "BURIED");
  EXPECT_EQ(ended.broken(), rules{"stale"});
  written restarted;
  restarted.put(1);
  restarted.reserve_http(2, 1, "1-1-1");
  restarted.restart();
  restarted.show(3, verb::bury, 1, "1-1-1", "BURIED");
  EXPECT_EQ(restarted.broken(), rules{"stale"});
}

/// A put over HTTP that happens once; all of its repeats begin where it was sent first.
event& put_once(written& in, jobs::job_id id, std::string key, std::string body) {
  event& it = in.put(id);
  it.by = protocol_of::http;
  it.once = std::move(key);
  it.body = std::move(body);
  in.left(id).body = it.body;
  return it;
}

TEST(HttpHistoryChecker, FindsAPutThatHappensAgain) {
  for (const bool is_same : {true, false}) {
    written all;
    const moment begin = put_once(all, 1, "i/0", "one").begin;
    put_once(all, is_same ? 1 : 2, "i/0", "one").begin = begin;
    EXPECT_EQ(all.broken(), is_same ? rules{} : rules{"once"});
  }
}

TEST(HttpHistoryChecker, FindsTheSecondJobOfAPutWhoseAnswerWasLost) {
  for (const bool is_again : {false, true}) {
    written all;
    event& lost = put_once(all, 1, "i/0", "one");
    lost.end.reset();
    lost.answer.clear();
    lost.job = 0;
    put_once(all, is_again ? 2 : 1, "i/0", "one").begin = lost.begin;
    EXPECT_EQ(all.broken(), is_again ? rules{"once"} : rules{});
  }
}

TEST(HttpHistoryChecker, FindsAReserveThatHappensAgain) {
  for (const char* const second : {"1-1-1", "1-1-2"}) {
    written all;
    all.put(1).ttr = 1ms;
    event& first = all.reserve_http(2, 1, "1-1-1");
    event& again = all.reserve_http(3, 1, second);
    first.once = again.once = "i/0";
    again.begin = first.begin;
    EXPECT_EQ(all.broken(), second == first.token ? rules{} : rules{"once"});
  }
}

/// Only over several databases, and at two nodes, may twins both get jobs.
TEST(HttpHistoryChecker, FindsTwinsThatBothGetJobs) {
  for (const bool are_several : {false, true}) {
    for (const std::size_t node : {1U, 2U}) {
      written all;
      all.put(1);
      all.put(2);
      event& first = all.reserve_http(2, 1, "1-1-1");
      event& twin = all.reserve_http(3, 2, "2-1-1");
      first.once = twin.once = "i/0";
      twin.begin = first.begin;
      first.node = 1;
      twin.node = node;
      (*all).has_several_databases = are_several;
      EXPECT_EQ(all.broken(), are_several && node == 2 ? rules{} : rules{"once"});
    }
  }
}

TEST(HttpHistoryChecker, FindsThatAReservationIsSaidToHaveEnded) {
  for (const bool has_ended : {true, false}) {
    written all;
    all.put(1);
    event& first = all.reserve_http(2, 1, "1-1-1");
    if (has_ended) all.show(3, verb::release, 1, "1-1-1", "RELEASED");
    event& again = all.add(3, verb::reserve, 0, "ENDED");
    again.by = protocol_of::http;
    first.once = again.once = "i/0";
    again.begin = first.begin;
    EXPECT_EQ(all.broken(), has_ended ? rules{} : rules{"once"});
  }
}

/// A node does not give back what it has reserved for a client that has gone, if a client of another node has got it.
TEST(HttpHistoryChecker, FindsThatTheNodeOfAClientThatHasGoneGivesBack) {
  for (const std::size_t node : {1U, 2U}) {
    written all;
    all.put(1);
    event& gone = all.reserve_http(2, 1, "");
    gone.end.reset();
    gone.answer.clear();
    gone.job = 0;
    gone.node = 1;
    gone.given_up = moment{++(*all).order, gone.begin.time};
    event& got = all.reserve_http(3, 1, "1-1-1");
    got.node = node;
    gone.once = got.once = "i/0";
    all.show(4, verb::touch, 1, "1-1-1", "NOT_FOUND");
    EXPECT_EQ(all.broken(), rules{"refused"});
  }
}

TEST(HttpHistoryChecker, FindsSomeJobsOfABatchThatTakesAllOrNone) {
  for (const bool are_all_there : {true, false}) {
    written all;
    for (const jobs::job_id id : {1U, 2U}) {
      event& lost = put_once(all, id, "", id == 1 ? "one" : "two");
      lost.group = 1;
      lost.end.reset();
      lost.answer.clear();
      lost.job = 0;
    }
    if (!are_all_there) (*all).left.erase(2);
    EXPECT_EQ(all.broken(), are_all_there ? rules{} : rules{"together"});
  }
}

TEST(HttpHistoryChecker, FindsTheJobOfARefusedBatch) {
  for (const bool is_there : {false, true}) {
    written all;
    event& refused = put_once(all, 1, "", "one");
    refused.group = 1;
    refused.answer = "NOT_PUT";
    refused.job = 0;
    if (!is_there) (*all).left.erase(1);
    EXPECT_EQ(all.broken(), is_there ? rules{"refused"} : rules{});
  }
}

TEST(HttpHistoryChecker, FindsATokenThatIsAcceptedAfterItsTime) {
  for (const bool is_touched : {false, true}) {
    written all;
    all.put(1).ttr = 5ms;
    all.reserve_http(2, 1, "1-1-1");                                  // until 7 ms
    if (is_touched) all.show(3, verb::touch, 1, "1-1-1", "TOUCHED");  // until 8 ms
    all.pass(is_touched ? 4ms : 6ms);
    all.show(3, verb::bury, 1, "1-1-1", "BURIED");
    EXPECT_EQ(all.broken(), is_touched ? rules{} : rules{"stale"});
  }
}

TEST(HttpHistoryChecker, FindsALateJobBehindAReserveWhoseClientHasGone) {
  for (const bool is_before_put : {true, false}) {
    written all;
    event& gone = all.reserve_http(2, 1, "");
    gone.end.reset();
    gone.answer.clear();
    gone.job = 0;
    gone.given_up = moment{++(*all).order, gone.begin.time};
    event& waiting = all.add(3, verb::reserve, 0, "TIMED_OUT");
    waiting.job = 0;
    const event& put = all.put(1);
    if (!is_before_put) gone.given_up = put.end;
    waiting.end = moment{++(*all).order, put.end->time + 5ms};
    EXPECT_EQ(all.broken(), is_before_put ? rules{"late"} : rules{});
  }
}

TEST(HttpHistoryChecker, FindsAReserveThatBringsTooFew) {
  written all;
  all.put(1);
  all.put(2);
  all.pass(2ms);
  event& few = all.reserve_http(2, 1, "1-1-1");
  few.count = 2;
  EXPECT_EQ(all.broken(), rules{"missed"});
  few.brought = 2;
  event& other = (*all).events.emplace_back(few);
  other.job = 2;
  other.token = "2-1-1";
  EXPECT_EQ(all.broken(), rules{});
  written none;
  none.put(1);
  none.pass(2ms);
  event& missed = none.add(2, verb::reserve, 0, "TIMED_OUT");
  missed.timeout = 0ms;
  EXPECT_EQ(none.broken(), rules{"missed"});
}

TEST(HttpHistoryChecker, FindsAReserveThatDoesNotKeepItsTimeout) {
  for (const auto& [took, rule] : {std::pair{9ms, "impatient"}, std::pair{12ms, "late"}, std::pair{10ms, ""}}) {
    written all;
    event& it = all.add(2, verb::reserve, 0, "TIMED_OUT");
    it.timeout = 10ms;
    it.end->time = it.begin.time + took;
    EXPECT_EQ(all.broken(), *rule == '\0' ? rules{} : rules{rule});
  }
}

TEST(HttpHistoryChecker, FindsAChangeOfAnotherVersion) {
  written all;
  all.put(1);
  all.look(1, 7);
  all.change(verb::reschedule, 1, 7, "RESCHEDULED");
  EXPECT_EQ(all.broken(), rules{});
  written changed;
  changed.put(1);
  changed.look(1, 7);
  changed.reserve_http(2, 1, "1-1-1");
  changed.show(2, verb::bury, 1, "1-1-1", "BURIED");
  changed.change(verb::reschedule, 1, 7, "OTHER_VERSION");
  EXPECT_EQ(changed.broken(), rules{});
  changed.change(verb::reschedule, 1, 7, "RESCHEDULED");
  EXPECT_EQ(changed.broken(), rules{"version"});
}

TEST(HttpHistoryChecker, FindsAVersionThatDoesNotChange) {
  written all;
  all.put(1);
  all.look(1, 7);
  all.reserve_http(2, 1, "1-1-1");
  all.show(2, verb::release, 1, "1-1-1", "RELEASED");
  all.look(1, 7);
  EXPECT_EQ(all.broken(), rules{"version"});
}

TEST(HttpHistoryChecker, FindsAVersionThatChangesByItself) {
  written refused;
  refused.put(1);
  refused.look(1, 7);
  refused.change(verb::cancel, 1, 7, "OTHER_VERSION");
  EXPECT_EQ(refused.broken(), rules{"lie"});
  for (const bool is_kicked : {false, true}) {
    written shown;
    shown.put(1, 1h);
    shown.look(1, 7, "delayed");
    if (is_kicked) shown.add(2, verb::kick, 0, "KICKED", 0);
    shown.look(1, 8, "delayed");
    EXPECT_EQ(shown.broken(), is_kicked ? rules{} : rules{"lie"});
  }
}

TEST(HttpHistoryChecker, AllowsAVersionOnlyWhereItWasAskedFor) {
  written all;
  all.put(1);
  all.change(verb::cancel, 1, 0, "OTHER_VERSION");
  EXPECT_EQ(all.broken(), rules{"wrong answer"});
}

TEST(HttpHistoryChecker, FindsAJobThatIsBackAfterAClear) {
  written all;
  all.put(1);
  all.clear(10, 1);
  (*all).left.clear();
  EXPECT_EQ(all.broken(), rules{});
  all.reserve(2, 1);
  EXPECT_EQ(all.broken(), rules{"back"});
}

TEST(HttpHistoryChecker, AllowsThatAClearLeavesJobs) {
  for (const bool is_held : {false, true}) {
    written all;
    all.put(1);
    if (is_held) all.reserve_http(2, 1, "1-1-1");
    all.clear(is_held ? 10 : 1, 1);  // of another job
    if (!is_held) all.reserve_http(2, 1, "1-1-1");
    all.show(2, verb::remove, 1, "1-1-1", "DELETED");
    (*all).left.clear();
    EXPECT_EQ(all.broken(), rules{}) << is_held;
  }
}

TEST(HttpHistoryChecker, FindsALostJobBehindAClearOfAnotherTube) {
  written all;
  all.put(1);
  event& it = all.clear(10, 1);
  (*all).left.clear();
  EXPECT_EQ(all.broken(), rules{});
  it.tube = "calls";
  EXPECT_EQ(all.broken(), rules{"lost"});
}

}  // namespace
}  // namespace foliot::program::worlds

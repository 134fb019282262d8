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

}  // namespace
}  // namespace foliot::program::worlds

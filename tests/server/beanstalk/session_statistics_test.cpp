// What the statistics of a node show, and what they leave out because the node does not know it.
#include <chrono>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/sleep.hpp>

#include "session_node.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

std::string refusals(int batches, int unavailable) {
  return "foliot-store-refused-batches: " + std::to_string(batches) +
         "\nfoliot-store-refused-operations: 0\nfoliot-store-unavailable: " + std::to_string(unavailable) + "\n";
}

TEST(SessionStatistics, AreShownInAnOutageWithoutWhatOnlyTheStoreKnows) {
  for (const unavailable known : {unavailable::not_executed, unavailable::in_doubt}) {
    with_node([known](node& on) -> task<> {
      co_await prepare(on);
      const std::string before = co_await ask_for_text(on, "stats\r\n");
      EXPECT_NE(before.find("current-jobs-ready: 1\n"), std::string::npos) << before;
      EXPECT_NE(before.find("current-tubes: 1\n"), std::string::npos) << before;
      EXPECT_NE(before.find(refusals(0, 0)), std::string::npos) << before;
      on.store.refuse(known);
      const std::string in_outage = co_await ask_for_text(on, "stats\r\nlist-tube-used\r\n");
      EXPECT_EQ(in_outage.find("current-jobs-"), std::string::npos) << in_outage;
      EXPECT_EQ(in_outage.find("current-tubes"), std::string::npos) << in_outage;
      EXPECT_NE(in_outage.find("cmd-put: 4\n"), std::string::npos) << in_outage;
      EXPECT_NE(in_outage.find(refusals(1, 1)), std::string::npos) << in_outage;
      const std::string used = co_await read_lines(on.client, 1);
      EXPECT_EQ(used, "USING default\r\n");
      on.store.accept();
      const std::string after = co_await ask_for_text(on, "stats\r\n");
      EXPECT_NE(after.find("current-jobs-ready: 1\n"), std::string::npos) << after;
      EXPECT_NE(after.find(refusals(1, 0)), std::string::npos) << after;
      const jobs::broker_counters now = on.jobs.counters();
      EXPECT_NE(after.find("foliot-store-batches: " + std::to_string(now.batches) +
                           "\nfoliot-store-operations: " + std::to_string(now.operations) + "\n"),
                std::string::npos)
          << after;
    });
  }
}

TEST(SessionStatistics, FieldsAreShownToFoliotsOwnCommandAlone) {
  using namespace std::string_literals;
  with_node([](node& on) -> task<> {
    const std::string request = "x-put keep - 0 @4000000000001 1000 1 6 4\r\nx\0\1\0\2\r\n\1\0\0\0\r\n"s;
    const std::string put = co_await ask(on, request, 1);
    EXPECT_EQ(put, "INSERTED 1\r\n");
    const std::string without = co_await ask(on, "x-put keep - 0 @4000000000001 1000 1 0 0\r\nx\r\n", 1);
    EXPECT_EQ(without, "INSERTED 2\r\n");
    const std::string shown = co_await ask_for_text(on, "x-stats-job 1\r\n");
    EXPECT_TRUE(shown.ends_with("ttr-ms: 1000\nfields: 000100020d0a\nhistory: 01000000\n\r\n")) << shown;
    const std::string other = co_await ask_for_text(on, "x-stats-job 2\r\n");
    EXPECT_TRUE(other.ends_with("ttr-ms: 1000\n\r\n")) << other;
    const std::string plain = co_await ask_for_text(on, "stats-job 1\r\n");
    EXPECT_TRUE(plain.ends_with("kicks: 0\n\r\n")) << plain;
    const std::string body = co_await ask(on, "peek 1\r\n", 2);
    EXPECT_EQ(body, "FOUND 1 1\r\nx\r\n");
    const std::string wrong = co_await ask(on, "x-put keep - 0 0 1000 1 4 0\r\nx\0\0\0\0\r\n"s, 1);
    EXPECT_EQ(wrong, "BAD_FORMAT\r\n");
  });
}

TEST(SessionStatistics, ThePageOfWhatIsDueNextIsAList) {
  with_node([](node& on) -> task<> {
    const std::string put = co_await ask(on, "x-put keep - 0 @4000000000001 1000 1\r\nx\r\n", 1);
    EXPECT_EQ(put, "INSERTED 1\r\n");
    const std::string sooner = co_await ask(on, "x-put keep - 0 @4000000000000 1000 1\r\nx\r\n", 1);
    EXPECT_EQ(sooner, "INSERTED 2\r\n");
    const std::string page = co_await ask_for_text(on, "x-due 10 @0 0 -\r\n");
    EXPECT_EQ(page,
              "OK 136\r\n---\n- {id: 2, tube: \"default\", state: delayed, due-ms: 4000000000000}\n"
              "- {id: 1, tube: \"default\", state: delayed, due-ms: 4000000000001}\n\r\n");
    const std::string rest = co_await ask_for_text(on, "x-due 10 @4000000000000 2 def\r\n");
    EXPECT_EQ(rest, "OK 70\r\n---\n- {id: 1, tube: \"default\", state: delayed, due-ms: 4000000000001}\n\r\n");
    const std::string none = co_await ask_for_text(on, "x-due 10 @0 0 other\r\n");
    EXPECT_EQ(none, "OK 4\r\n---\n\r\n");
  });
}

/// From now on counts have seen only some of the jobs.
void cut_counts_short(node& on, jobs::job_counts seen) {
  on.store.after = [seen](jobs::execution& done) {
    for (jobs::answer& each : done.answers) {
      if (auto* const counted = std::get_if<jobs::count_answer>(&each)) {
        counted->counts = seen;
        counted->what = jobs::count_answer::kind::cut_short;
      }
    }
  };
}

TEST(SessionStatistics, ACountThatIsCutShortIsNotShown) {
  with_node([](node& on) -> task<> {
    co_await prepare(on);
    cut_counts_short(on, {.ready = 1});
    const std::string all = co_await ask_for_text(on, "stats\r\n");
    EXPECT_EQ(all.find("current-jobs-"), std::string::npos) << all;
    EXPECT_NE(all.find("current-tubes: 1\n"), std::string::npos) << all;
    const std::string tube = co_await ask_for_text(on, "stats-tube default\r\n");
    EXPECT_NE(tube.find("name: \"default\"\ntotal-jobs: 4\n"), std::string::npos) << tube;
    on.store.after = nullptr;
  });
}

/// A tube with so many jobs is one of those that an operator would pause.
TEST(SessionStatistics, ATubeWhoseCountIsCutShortExists) {
  with_node([](node& on) -> task<> {
    on.put_elsewhere("far");
    for (const jobs::job_counts& seen : {jobs::job_counts{.delayed = 1}, jobs::job_counts{}}) {
      cut_counts_short(on, seen);
      const std::string paused = co_await ask(on, "pause-tube far 5\r\n", 1);
      EXPECT_EQ(paused, "PAUSED\r\n");
      const std::string tube = co_await ask_for_text(on, "stats-tube far\r\n");
      EXPECT_NE(tube.find("name: \"far\"\ntotal-jobs: 0\n"), std::string::npos) << tube;
    }
    on.store.after = nullptr;
  });
}

TEST(SessionStatistics, AKickGoesOnWhereItsCountIsCutShort) {
  with_node([](node& on) -> task<> {
    co_await prepare(on);
    for (int i = 0; i < 2500; ++i) on.put_elsewhere("default", 1h);
    cut_counts_short(on, {.delayed = 1000});
    const std::string delayed = co_await ask(on, "kick 2200\r\n", 1);
    EXPECT_EQ(delayed, "KICKED 2200\r\n");
    cut_counts_short(on, {.buried = 1});
    const std::string buried = co_await ask(on, "kick 2200\r\n", 1);
    EXPECT_EQ(buried, "KICKED 1\r\n");
    on.store.after = nullptr;
  });
}

TEST(SessionStatistics, TimesOfAJobGoByTheClockOfTheStore) {
  with_node([](node& on) -> task<> {  // whose time is not that of this machine
    const std::string put = co_await ask(on, "put 0 100 60 1\r\nx\r\n", 1);
    EXPECT_EQ(put, "INSERTED 1\r\n");
    co_await runtime::sleep(30s);
    const std::string job = co_await ask_for_text(on, "stats-job 1\r\n");
    EXPECT_NE(job.find("\nage: 30\n"), std::string::npos) << job;
    EXPECT_NE(job.find("\ntime-left: 70\n"), std::string::npos) << job;
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk

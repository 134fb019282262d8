// What the statistics of a node show, and what they leave out because the node does not know it.
#include <string>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>

#include "session_node.hpp"

namespace foliot::program::beanstalk {
namespace {

TEST(SessionStatistics, AreShownInAnOutageWithoutWhatOnlyTheStoreKnows) {
  for (const unavailable known : {unavailable::not_executed, unavailable::in_doubt}) {
    with_node([known](node& on) -> task<> {
      co_await prepare(on);
      const std::string before = co_await ask_for_text(on, "stats\r\n");
      EXPECT_NE(before.find("current-jobs-ready: 1\n"), std::string::npos) << before;
      EXPECT_NE(before.find("current-tubes: 1\n"), std::string::npos) << before;
      EXPECT_NE(before.find("foliot-store-refused-batches: 0\nfoliot-store-unavailable: 0\n"), std::string::npos)
          << before;
      on.refuse(known);
      const std::string in_outage = co_await ask_for_text(on, "stats\r\nlist-tube-used\r\n");
      EXPECT_EQ(in_outage.find("current-jobs-"), std::string::npos) << in_outage;
      EXPECT_EQ(in_outage.find("current-tubes"), std::string::npos) << in_outage;
      EXPECT_NE(in_outage.find("cmd-put: 4\n"), std::string::npos) << in_outage;
      EXPECT_NE(in_outage.find("foliot-store-refused-batches: 1\nfoliot-store-unavailable: 1\n"), std::string::npos)
          << in_outage;
      const std::string used = co_await read_lines(on.client, 1);
      EXPECT_EQ(used, "USING default\r\n");
      on.accept();
      const std::string after = co_await ask_for_text(on, "stats\r\n");
      EXPECT_NE(after.find("current-jobs-ready: 1\n"), std::string::npos) << after;
      EXPECT_NE(after.find("foliot-store-refused-batches: 1\nfoliot-store-unavailable: 0\n"), std::string::npos)
          << after;
      const jobs::broker_counters now = on.broker.counters();
      EXPECT_NE(after.find("foliot-store-batches: " + std::to_string(now.batches) +
                           "\nfoliot-store-operations: " + std::to_string(now.operations) + "\n"),
                std::string::npos)
          << after;
    });
  }
}

}  // namespace
}  // namespace foliot::program::beanstalk

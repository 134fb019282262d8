#include <foliot/service/statistics_text.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace foliot::test {
namespace {

service_snapshot some(bool measured) {
  service_snapshot snapshot;
  service_statistics& now = snapshot.statistics;
  now.counters = {.started = 1,
                  .superseded = 2,
                  .stopped = 3,
                  .fired = 4,
                  .skipped = 5,
                  .dropped = 6,
                  .refused = 19,
                  .wake_ups = 7,
                  .wakes_with_work = 8,
                  .wakes_without_work = 9,
                  .pending = 10,
                  .peak_pending = 18'446'744'073'709'551'615u};
  now.shards = 12;
  now.measured = measured;
  if (measured) {
    for (int i = 0; i < 40; ++i) now.lateness.add(duration::nanoseconds(std::int64_t{1} << i), 3);
    now.callback_time.add(duration::nanoseconds(5));
    snapshot.slowest = {{.took = duration::nanoseconds(7), .name = "it's\n\\", .armed_at = "my file.cpp:31"},
                        {.took = duration::nanoseconds(6)}};
  }
  return snapshot;
}

TEST(StatisticsText, ComesBackAsItWas) {
  for (const bool measured : {false, true}) {
    const service_snapshot now = some(measured);
    const auto back = parse_statistics(statistics_text(now));
    ASSERT_TRUE(back) << back.error();
    EXPECT_TRUE(*back == now);
  }
  service_snapshot measured_nothing = some(false);
  measured_nothing.statistics.measured = true;
  EXPECT_TRUE(*parse_statistics(statistics_text(measured_nothing)) == measured_nothing);
}

TEST(StatisticsText, CutShortAnywhereItIsRefused) {
  const std::string text = statistics_text(some(true));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_statistics(text.substr(0, length))) << length;
  }
  EXPECT_EQ(parse_statistics(text.substr(0, text.size() - 4)).error(), "the statistics are cut short");
}

TEST(StatisticsText, WithAnyByteChangedItIsRefusedOrSaysSomethingElse) {
  const service_snapshot now = some(true);
  const std::string text = statistics_text(now);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = '?';
    const auto back = parse_statistics(changed);
    EXPECT_FALSE(back && *back == now) << at;
  }
}

TEST(StatisticsText, SaysWhatIsWrong) {
  EXPECT_EQ(parse_statistics("").error(), "the text does not begin with 'foliot-statistics'");
  EXPECT_EQ(parse_statistics("HTTP/1.1 400\n").error(), "the text does not begin with 'foliot-statistics'");
  EXPECT_EQ(parse_statistics("foliot-statistics 2\nend\n").error(),
            "these statistics are of another version of foliot");
  std::string text = statistics_text(some(true));
  text.replace(text.find("fired 4"), 7, "fired x");
  EXPECT_EQ(parse_statistics(text).error(), "the statistics have a malformed line: 'x'");
  text.replace(text.find("fired x"), 7, "fired \x1b]0;\x07\x9b");
  EXPECT_EQ(parse_statistics(text).error(), "the statistics have a malformed line: '\\x1b]0;\\x07\\x9b'");
  EXPECT_EQ(parse_statistics("foliot-statistics 1\n" + std::string(900'000, 'x') + "\nend\n").error(),
            "the statistics have a malformed line: '" + std::string(60, 'x') + "'...");
  std::string beyond = statistics_text(some(true));
  beyond.replace(beyond.find("callback_time 5 5 5:1"), 21, "callback_time 5 5 1216:1");
  EXPECT_FALSE(parse_statistics(beyond)) << "a bucket that does not exist was accepted";
}

}  // namespace
}  // namespace foliot::test

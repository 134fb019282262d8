#include "top/table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

service_statistics at_first() {
  service_statistics now;
  now.counters.started = 1'000'000;
  now.counters.fired = 10;
  now.counters.pending = 999'990;
  now.shards = 2;
  return now;
}

TEST(TopTable, WithoutAnEarlierLookHasNoRates) {
  const std::string text = statistics_table("x", at_first());
  EXPECT_TRUE(has_line(text, "foliot top of x")) << text;
  EXPECT_TRUE(has_line(text, "pending                        999,990")) << text;
  EXPECT_TRUE(has_line(text, "started                      1,000,000")) << text;
  EXPECT_TRUE(has_line(text, "lateness and callback time are not measured there")) << text;
  EXPECT_EQ(text.find("a second"), std::string::npos);
}

TEST(TopTable, RatesAreThoseSinceTheEarlierLook) {
  const service_statistics then = at_first();
  service_statistics now = then;
  now.counters.started += 5'000;
  now.counters.fired += 1;
  const earlier_look<service_statistics> earlier{then, 2s};
  const std::string text = statistics_table("x", now, &earlier);
  EXPECT_TRUE(has_line(text, "                                 total        a second")) << text;
  EXPECT_TRUE(has_line(text, "started                      1,005,000           2,500")) << text;
  EXPECT_TRUE(has_line(text, "fired                               11             0.5")) << text;
  EXPECT_TRUE(has_line(text, "stopped                              0             0.0")) << text;
}

TEST(TopTable, AfterTheServiceHasBegunAnewThereAreNoRates) {
  service_statistics now = at_first();
  const service_statistics then = now;
  now.counters.fired = 9;
  const earlier_look<service_statistics> earlier{then, 2s};
  EXPECT_EQ(statistics_table("x", now, &earlier), statistics_table("x", now));
  const earlier_look<service_statistics> no_time{then, 0s};
  EXPECT_EQ(statistics_table("x", then, &no_time), statistics_table("x", then));
}

TEST(TopTable, LengthsHaveThreeDigits) {
  const auto shown = [](duration length) {
    service_statistics now;
    now.measured = true;
    now.lateness.add(length);
    const std::string text = statistics_table("x", now);
    const std::size_t line = text.find("\nlateness") + 1;
    const std::string whole = text.substr(line, text.find('\n', line) - line);
    return whole.substr(58);  // the maximum, which is exact
  };
  EXPECT_EQ(shown(0ns), "        0 ns");
  EXPECT_EQ(shown(999ns), "      999 ns");
  EXPECT_EQ(shown(1us), "     1.00 us");
  EXPECT_EQ(shown(9'994ns), "     9.99 us");
  EXPECT_EQ(shown(9'996ns), "     10.0 us");
  EXPECT_EQ(shown(999'499ns), "      999 us");
  EXPECT_EQ(shown(999'500ns), "     1.00 ms");
  EXPECT_EQ(shown(1'500ms), "      1.50 s");
  EXPECT_EQ(shown(2h), "   7200.00 s");
}

}  // namespace
}  // namespace foliot::program

#include "replay/comparison.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/service/timer_service.hpp>
#include <gtest/gtest.h>

#include "replay/summary.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000'000;

/// Generates a log of several batches, whose clients come back after up to three minutes.
template <class Handler>
void each_request(Handler handle) {
  random_stream random(7);
  std::int64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<std::int64_t>(random.below(2 * second));
    handle("client " + std::to_string(random.below(90)), instant::from_nanoseconds(now));
  }
}

std::string row(const ended_session& session) {
  return session.client + " " + std::to_string(session.start.nanoseconds()) + "-" +
         std::to_string(session.last_request.nanoseconds()) + "/" + std::to_string(session.requests) + "@" +
         std::to_string(session.expired.nanoseconds());
}

TEST(Comparison, BeginsWithAnEngineThatIsExactAndHasThemAll) {
  const auto engines = engines_to_compare(30s);
  ASSERT_EQ(engines.size(), session_engines().size());
  EXPECT_EQ(engines.front().name, "foliot");
  for (const compared_engine& each : engines) EXPECT_EQ(each.lateness, session_lateness(each.name, 30s));
}

TEST(Comparison, FindsThatAllEnginesAgree) {
  comparison all(engines_to_compare(45s), 45s, [](ended_session&&) {});
  each_request([&](const std::string& client, instant time) { all.request(client, time); });
  all.finish();
  const auto results = all.results();
  for (const engine_result& each : results) {
    EXPECT_EQ(each.disagreement, "");
    EXPECT_EQ(each.operations(), 20'000 + each.sessions) << each.engine;
    EXPECT_GT(each.spent, duration::zero()) << each.engine;
    if (each.lateness < 1s) {
      EXPECT_EQ(each.sessions, results.front().sessions) << each.engine;
    } else {
      EXPECT_LT(each.sessions, results.front().sessions) << "nothing was joined: the log is too easy";
    }
  }
}

TEST(Comparison, HandsOutTheSessionsOfTheReference) {
  std::vector<std::string> alone;
  const auto tracker =
      make_session_tracker("foliot", 45s, [&](ended_session&& session) { alone.push_back(row(session)); });
  std::vector<std::string> compared;
  comparison all(engines_to_compare(45s), 45s, [&](ended_session&& session) { compared.push_back(row(session)); });
  each_request([&](const std::string& client, instant time) {
    tracker->request(client, time);
    all.request(client, time);
  });
  tracker->finish();
  all.finish();
  EXPECT_EQ(compared, alone);
  EXPECT_EQ(all.reference().sessions(), tracker->sessions());
  EXPECT_EQ(all.reference().timers(), tracker->timers());
}

TEST(Comparison, OfNothing) {
  comparison all(engines_to_compare(45s), 45s, [](ended_session&&) { FAIL(); });
  all.finish();
  for (const engine_result& each : all.results()) {
    EXPECT_TRUE(each.agrees());
    EXPECT_EQ(each.nanoseconds_an_operation(), 0);
  }
}

TEST(ComparisonCanary, AnEngineThatIsLaterThanItSaysDisagrees) {
  comparison two({{"foliot", 0s}, {"linux-wheel", 1ms}, {"goim-heap", 0s}}, 45s, [](ended_session&&) {});
  each_request([&](const std::string& client, instant time) { two.request(client, time); });
  two.finish();
  const auto results = two.results();
  EXPECT_TRUE(
      results[1].disagreement.starts_with("the engine linux-wheel disagrees with foliot about the client 'client "))
      << results[1].disagreement;
  EXPECT_TRUE(results[0].agrees());
  EXPECT_TRUE(results[2].agrees());
}

TEST(ComparisonErrors, WhatTheSinkThrowsComesOut) {
  comparison all(engines_to_compare(45s), 45s, [](ended_session&&) { throw std::runtime_error("the disk is full"); });
  all.request("a", instant{});
  EXPECT_THROW(all.finish(), std::runtime_error);
}

TEST(ComparisonErrors, AnUnknownEngineIsRefused) {
  EXPECT_THROW(comparison({{"sundial", 0s}}, 45s, [](ended_session&&) {}), std::invalid_argument);
}

TEST(ComparisonTable, IsAlignedAndMarksWhoDisagrees) {
  const auto result = [](std::string engine, duration lateness, duration spent, std::string disagreement) {
    service_counters timers;
    timers.started = timers.fired = 2'989;
    timers.superseded = 27'980;
    timers.peak_pending = 1'273;
    return engine_result{std::move(engine), lateness, 2'989, timers, spent, std::move(disagreement)};
  };
  const std::vector<engine_result> results{result("foliot", 0s, 2ms, ""), result("hierarchical-wheel", 1ms, 4ms, ""),
                                           result("linux-wheel", 4h + 39min + 37s + 216ms, 20s, "it does not"),
                                           result("goim-heap", 0s, 0s, ""),
                                           result("processor-heaps-1.14", 0s, 4ms, "")};
  EXPECT_EQ(
      comparison_table(results),
      "engine               ns/operation   operations/s     sessions  peak pending   may be late by  agrees\n"
      "foliot                       58.9     16,979,000        2,989         1,273                -  (reference)\n"
      "hierarchical-wheel          117.8      8,489,500        2,989         1,273              1ms  yes\n"
      "linux-wheel              588962.8          1,698        2,989         1,273     4h39m37.216s  NO\n"
      "goim-heap                     0.0              0        2,989         1,273                -  yes\n"
      "processor-heaps-1.14        117.8      8,489,500        2,989         1,273                -  yes\n");
}

}  // namespace
}  // namespace foliot::program

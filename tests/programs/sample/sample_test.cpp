#include "sample/sample.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "programs/temporary_directory.hpp"
#include "replay/input_file.hpp"
#include "replay/line_reader.hpp"
#include "replay/log_line.hpp"
#include "text/failure.hpp"
#include "text/timestamp.hpp"
#include "text_hash.hpp"

namespace foliot::program {
namespace {

traffic_options small(std::uint64_t seed, std::uint64_t lines = 20'000, std::uint32_t clients = 2'000) {
  return {.seed = seed, .lines = lines, .clients = clients, .start = parse_date("2026-03-02").value()};
}

std::string generated(const traffic_options& options) {
  std::string all;
  generate_traffic(options, [&all](std::string_view line) { all += line; });
  return all;
}

/// Reads a log and gives each request to `use`. Every line has to be well formed.
template <class Use>
void each_request(const std::string& log, Use use) {
  log_parser parser;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = log.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    const std::string_view line = std::string_view(log).substr(begin, end - begin);
    const auto request = parser.parse(line);
    ASSERT_TRUE(request) << line << ": " << to_text(request.error());
    use(*request, line);
    begin = end + 1;
  }
}

TEST(Sample, TheSameSeedMakesTheSameBytes) {
  const std::string one = generated(small(1));
  EXPECT_EQ(one, generated(small(1)));
  EXPECT_NE(one, generated(small(2)));
  // The same on every machine. A change of the model changes this, and must be told in docs/sample.md.
  EXPECT_EQ(text_hash(one), 17103720356830782913U);
}

TEST(Sample, HasExactlyTheLinesThatWereAskedFor) {
  for (const std::uint64_t lines : {1U, 2U, 999U, 20'000U}) {
    for (const std::uint32_t clients : {20U, 1'000U}) {
      const std::string log = generated(small(3, lines, clients));
      EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(log, '\n')), lines);
    }
  }
}

TEST(Sample, IsAWellFormedLogOfAboutADay) {
  const instant midnight = small(4).start;
  instant latest = midnight;
  std::uint64_t late = 0;
  std::set<std::string> clients;
  std::map<std::int64_t, int> by_hour;
  each_request(generated(small(4)), [&](const log_request& request, std::string_view) {
    ASSERT_GE(request.time, midnight);
    late += request.time < latest ? 1U : 0U;
    latest = std::max(latest, request.time);
    clients.insert(std::string(request.client));
    ++by_hour[(request.time - midnight) / duration(std::chrono::hours(1))];
  });
  EXPECT_GT(latest - midnight, duration(std::chrono::hours(20)));
  EXPECT_LT(latest - midnight, duration(std::chrono::hours(30)));
  EXPECT_GT(late, 0U);
  EXPECT_LT(late, 100U);
  EXPECT_GT(clients.size(), 500U);
  EXPECT_LE(clients.size(), 2'000U);
  EXPECT_GT(by_hour[20], 3 * by_hour[4]);
}

TEST(Sample, CanBeInOrder) {
  traffic_options options = small(5);
  options.late_permille = 0;
  instant latest = options.start;
  each_request(generated(options), [&](const log_request& request, std::string_view line) {
    ASSERT_GE(request.time, latest) << line;
    latest = request.time;
  });
}

TEST(Sample, HasEveryKindOfClient) {
  const std::string log = generated(small(6, 200'000, 5'000));
  for (const char* sign : {"uptime-check", "FeedPigeon", "Crawler", "\" 304 -", "\" 404 ", "POST", "2001:db8:", "10.",
                           "192.0.2.", " - member", " - guest "}) {
    EXPECT_NE(log.find(sign), std::string::npos) << sign;
  }
}

TEST(Sample, MonitorsBeatEachMinute) {
  std::map<std::string, instant> last;
  int beats = 0;
  traffic_options options = small(7, 150'000, 3'000);
  options.late_permille = 0;
  each_request(generated(options), [&](const log_request& request, std::string_view line) {
    if (!line.ends_with("\"uptime-check/1.4\"")) return;
    const auto [before, first] = last.try_emplace(std::string(request.client), request.time);
    if (!first) {
      ASSERT_EQ(request.time - before->second, duration(std::chrono::minutes(1)));
    }
    before->second = request.time;
    ++beats;
  });
  EXPECT_GT(beats, 1'000);
}

TEST(Sample, WhatTheSinkThrowsComesOut) {
  EXPECT_THROW(generate_traffic(small(1), [](std::string_view) { throw std::runtime_error("the disk is full"); }),
               std::runtime_error);
}

TEST(Sample, WritesPlainAndGzipFiles) {
  const temporary_directory here;
  const std::string log = generated(small(8));
  sample({.traffic = small(8), .output = here / "a.log"});
  EXPECT_EQ(contents(here / "a.log"), log);
  sample({.traffic = small(8), .output = here / "a.log.gz"});
  input_file file(here / "a.log.gz");
  std::string unpacked(log.size() + 1, '\0');
  std::size_t size = 0;
  while (const std::size_t more = file.read(std::span(unpacked).subspan(size))) size += more;
  unpacked.resize(size);
  EXPECT_TRUE(unpacked == log);
  EXPECT_EQ(here.names(), (std::set<std::string>{"a.log", "a.log.gz"}));
}

TEST(Sample, RefusesMoreLinesThanADayHasRoomFor) { EXPECT_THROW(sample({.traffic = small(1, 1'001, 1)}), failure); }

}  // namespace
}  // namespace foliot::program

// Lines that clients can cause any number of times: one of a kind in ten seconds, with the count of the others.
#include "server/core/server_log.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

/// The lines without their times.
struct lines {
  void operator()(std::string_view line) const { all->emplace_back(line.substr(line.find(' ') + 1)); }
  std::vector<std::string>* all;
};
using texts = std::vector<std::string>;

TEST(ServerLog, WarningsOfOneKindAreCounted) {
  texts seen;
  virtual_clock clock;
  {
    const server_log log(false, clock, lines{&seen});
    for (int i = 0; i < 100; ++i) log.warning("close a connection", "close a connection: " + std::to_string(i));
    log.warning("accept", "cannot accept a connection");
    EXPECT_EQ(seen, (texts{"warning close a connection: 0\n", "warning cannot accept a connection\n"}));
    seen.clear();
    clock.advance(server_log::between_warnings - 1ns);
    log.warning("close a connection", "close a connection: soon");
    EXPECT_EQ(seen, texts{});
    clock.advance(1ns);
    log.warning("close a connection", "close a connection: later");
    EXPECT_EQ(seen, texts{"warning close a connection: later (100 more like it since the last such line)\n"});
    seen.clear();
    clock.advance(1h);
    log.warning("close a connection", "close a connection: last");
    EXPECT_EQ(seen, texts{"warning close a connection: last\n"});
    for (int i = 0; i < 7; ++i) log.warning("close a connection", "close a connection: at the end");
    seen.clear();
  }
  EXPECT_EQ(seen, texts{"warning close a connection: 7 more lines were left out\n"});
}

TEST(ServerLog, ChangesByOperatorsAreWrittenAlsoWhereItIsQuiet) {
  texts seen;
  virtual_clock clock;
  const server_log log(true, clock, lines{&seen});
  log.info("it begins");
  for (int i = 0; i < 2; ++i) log.audit("4f7k2m9q: pause, tube 'a\nb'");
  EXPECT_EQ(seen, texts(2, "audit 4f7k2m9q: pause, tube 'a\\x0ab'\n"));
}

TEST(ServerLog, HasNoSecrets) {
  texts seen;
  virtual_clock clock;
  const server_log log(false, clock, lines{&seen});
  const std::string line = "cannot read 'foliot_4f7k2m9q_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno1IPc3C'";
  log.info(line);
  log.audit(line);
  log.warning(line);
  log.failure(line);
  log.warning("a kind", line);
  ASSERT_EQ(seen.size(), 5U);
  for (const std::string& each : seen) EXPECT_TRUE(each.ends_with(" cannot read 'foliot_4f7k2m9q_…'\n")) << each;
}

TEST(ServerLog, LinesWithoutAKindAreAllWritten) {
  texts seen;
  virtual_clock clock;
  const server_log log(false, clock, lines{&seen});
  for (int i = 0; i < 3; ++i) log.warning("the disk is full");
  EXPECT_EQ(seen.size(), 3U);
  log.failure("a task", "it fails");
  log.failure("a task", "it fails again");
  EXPECT_EQ(seen.size(), 4U);
}

TEST(ServerLog, QuietLeavesOutInformation) {
  texts seen;
  virtual_clock clock;
  const server_log log(true, clock, lines{&seen});
  log.info("the server starts");
  log.warning("a kind", "a warning");
  EXPECT_EQ(seen, texts{"warning a warning\n"});
}

}  // namespace
}  // namespace foliot::program

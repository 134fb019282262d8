// Short histories of every engine in simulated worlds: they are linearizable under every schedule that is tried. Each
// world draws its plan and its schedule from its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <foliot_simulation/world.hpp>

#include "checker.hpp"
#include "simulated.hpp"
#include "support/engines.hpp"

namespace foliot::linearizability {
namespace {

using namespace std::chrono_literals;
using simulation::faults;

constexpr std::uint64_t worlds = 60;

constexpr std::array all_faults{faults{}, faults{.interrupts = true},
                                faults{.interrupts = true, .early_timeouts = true, .drift = duration(2us)}};

using engine_and_race = std::tuple<std::string, race>;
class Simulated : public ::testing::TestWithParam<engine_and_race> {};

auto every_race() {
  std::vector<race> all;
  for (std::size_t i = 0; i < races; ++i) all.push_back(static_cast<race>(i));
  return ::testing::ValuesIn(all);
}

std::string name_of_test(const ::testing::TestParamInfo<engine_and_race>& chosen) {
  std::string engine = std::get<0>(chosen.param);
  std::ranges::replace(engine, '-', '_');
  return engine + "_" + name(std::get<1>(chosen.param));
}

INSTANTIATE_TEST_SUITE_P(, Simulated, ::testing::Combine(test::every_engine(), every_race()), name_of_test);

TEST_P(Simulated, HistoriesAreLinearizable) {
  const race around = std::get<race>(GetParam());
  const setting in = simulated(std::get<std::string>(GetParam()));
  for (const faults& with : all_faults) {
    simulation::explore(worlds, with, [&in, around] {
      const auto wrong = violation(play_one(around, in));
      simulation::require(!wrong, wrong.value_or(""));
    });
  }
}

class Answers : public test::engine_suite {};
INSTANTIATE_TEST_SUITE_P(, Answers, test::every_engine(), test::engine_as_name);

/// Every possible answer occurs, from one thread during an operation of another thread: the races do happen.
TEST_P(Answers, EachOfThemIsSeen) {
  std::map<verb, std::set<std::uint64_t>> seen;
  bool fired_meanwhile = false;
  const setting in = simulated(GetParam());
  const auto note_answers = [&](const history& one) {
    for (const operation& each : one.operations) {
      seen[each.what].insert(each.answer);
      for (const operation& other : one.operations) {
        fired_meanwhile = fired_meanwhile || (other.what == verb::fire && !each.inside && each.what == verb::stop &&
                                              other.begin < each.end && each.begin < other.end);
      }
    }
  };
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    for (std::size_t around = 0; around < races; ++around) {
      ASSERT_FALSE(simulation::run(seed, {}, [&] { note_answers(play_one(static_cast<race>(around), in)); }));
    }
  }
  EXPECT_EQ(seen[verb::reset].size(), 4u);
  EXPECT_EQ(seen[verb::stop].size(), 3u);
  EXPECT_EQ(seen[verb::stop_and_wait].size(), 3u);
  EXPECT_EQ(seen[verb::pending].size(), 2u);
  EXPECT_GE(seen[verb::shut_down].size(), 3u);
  EXPECT_GE(seen[verb::drain].size(), 2u);
  EXPECT_TRUE(fired_meanwhile);
}

}  // namespace
}  // namespace foliot::linearizability

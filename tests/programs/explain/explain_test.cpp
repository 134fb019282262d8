// The recordings of `foliot explain`: each shows a queue that keeps its contract, and where each timer is.
#include "explain.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace foliot::program {
namespace {

using json = nlohmann::ordered_json;

/// How often each timer is in a picture.
class sightings {
 public:
  explicit sightings(const json& picture) {
    for (const json& part : picture["parts"]) {
      if (part["kind"] == "tree") {
        look_at_branch(part["root"]);
      } else if (part["kind"] == "ring") {
        for (const auto& [slot, timers] : part["timers"].items()) {
          EXPECT_LT(std::stoul(slot), part["slots"].get<std::size_t>());
          look_at(timers);
        }
        EXPECT_LT(part["hand"].get<std::size_t>(), part["slots"].get<std::size_t>());
      } else {
        look_at(part["cells"]);
      }
    }
  }
  [[nodiscard]] int of(unsigned timer) const {
    const auto found = seen_.find(timer);
    return found == seen_.end() ? 0 : found->second;
  }

 private:
  void look_at(const json& timers) {
    for (const json& each : timers) {
      if (!each.is_null()) ++seen_[each.get<unsigned>()];
    }
  }
  void look_at_branch(const json& node) {
    if (node.is_null()) return;
    look_at_branch(node["left"]);
    ++seen_[node["timer"].get<unsigned>()];
    look_at_branch(node["right"]);
  }

  std::map<unsigned, int> seen_;
};

/// Whether a queue fires to the nanosecond and in the order of the deadlines.
bool is_exact(const std::string& engine) {
  return engine == "foliot" || engine.find("heap") != std::string::npos || engine == "red-black-tree";
}

/// How late, in milliseconds, a timer with this timeout may fire.
double lateness_of(const std::string& engine, double timeout) {
  if (is_exact(engine)) return 0;
  if (engine == "hashed-wheel") return 8;
  if (engine == "hierarchical-wheel") return 4;
  if (engine == "linux-wheel") return std::max(1.0, timeout / 63 * 8) + 1;
  return 1;
}

class Recordings : public testing::TestWithParam<std::string> {
 protected:
  const json recording_ = recording_of(GetParam());
};

TEST_P(Recordings, EachPendingTimerIsInThePictureOnceAndNoOther) {
  for (const json& load : recording_["loads"]) {
    for (const json& step : load["steps"]) {
      const sightings seen(step["picture"]);
      const auto states = step["states"].get<std::string>();
      ASSERT_EQ(states.size(), load["timers"].get<std::size_t>());
      for (unsigned timer = 1; timer <= states.size(); ++timer) {
        EXPECT_EQ(seen.of(timer), states[timer - 1] == 'p' ? 1 : 0)
            << load["name"] << ", timer " << timer << ": " << step["text"];
      }
    }
  }
}

TEST_P(Recordings, NoTimerFiresEarlyOrLaterThanItsQueuePromises) {
  constexpr double rounding = 0.0011;  // of the times in the recording, which are whole microseconds
  for (const json& load : recording_["loads"]) {
    std::string before(load["timers"].get<std::size_t>(), 'n');
    std::vector<double> started(before.size(), 0);
    double last = -1;
    for (const json& step : load["steps"]) {
      const auto states = step["states"].get<std::string>();
      const double now = step["now"];
      for (const unsigned timer : step["touched"]) {
        if (states[timer - 1] == 'p') started[timer - 1] = now;
      }
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (states[i] != 'f' || before[i] == 'f') continue;
        const double deadline = step["deadlines"][i];
        EXPECT_GE(now, deadline - rounding) << step["text"];
        EXPECT_LE(now, deadline + lateness_of(GetParam(), deadline - started[i]) + rounding) << step["text"];
        if (is_exact(GetParam())) {
          EXPECT_GE(deadline, last - rounding) << step["text"];
          last = deadline;
        }
      }
      before = states;
    }
    EXPECT_EQ(before.find('p'), std::string::npos) << load["name"] << ": a timer has not fired";
    EXPECT_NE(before.find('f'), std::string::npos) << load["name"] << ": no timer has fired";
  }
}

TEST_P(Recordings, HeapsAndTreesAreInOrder) {
  for (const json& load : recording_["loads"]) {
    for (const json& step : load["steps"]) {
      for (const json& part : step["picture"]["parts"]) {
        if (part["kind"] != "heap") continue;
        const json& keys = part["keys"];
        const std::size_t arity = part["arity"];
        for (std::size_t i = 1; i < keys.size(); ++i) {
          EXPECT_GE(keys[i].get<double>(), keys[(i - 1) / arity].get<double>()) << step["text"];
        }
      }
    }
  }
}

TEST_P(Recordings, AreTheSameEachTime) { EXPECT_EQ(recording_, recording_of(GetParam())); }

TEST_P(Recordings, TheClockGoesOnAndEachStepHasASentence) {
  for (const json& load : recording_["loads"]) {
    double last = 0;
    EXPECT_GT(load["steps"].size(), 20U);
    for (const json& step : load["steps"]) {
      EXPECT_GE(step["now"].get<double>(), last);
      last = step["now"];
      const auto text = step["text"].get<std::string>();
      EXPECT_TRUE(text.ends_with('.')) << text;
    }
  }
}

TEST_P(Recordings, ThePageIsOneFileThatNeedsNoOther) {
  const std::string page = page_of(GetParam());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_EQ(page.find('@' + std::string("recording@")), std::string::npos);
  for (const char* const outside : {"src=", "<link", "@import", "url(", "https://"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  // The one address is the name of SVG's namespace.
  std::size_t addresses = 0;
  for (std::size_t at = page.find("http://"); at != std::string::npos; at = page.find("http://", at + 1)) {
    EXPECT_EQ(page.compare(at, 26, "http://www.w3.org/2000/svg"), 0);
    ++addresses;
  }
  EXPECT_EQ(addresses, 1U);
  EXPECT_LT(page.size(), 400'000U);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const explained_engine& each : explained_engines()) all.emplace_back(each.name);
  return all;
}
std::string test_name(const testing::TestParamInfo<std::string>& of) {
  std::string made = of.param;
  for (char& each : made) {
    if (each == '-') each = '_';
  }
  return made;
}
INSTANTIATE_TEST_SUITE_P(Engines, Recordings, testing::ValuesIn(names()), test_name);

TEST(RecordingsOfEngines, ACoarseRingCascades) {
  // A timer of the hierarchical wheel is on several levels before it fires; one of the wheel of Linux on one.
  for (const auto& [engine, most] : {std::pair("hierarchical-wheel", 3U), std::pair("linux-wheel", 1U)}) {
    std::map<unsigned, std::set<std::string>> levels;
    const json recording = recording_of(engine);
    for (const json& load : recording["loads"]) {
      if (load["name"] != "near and far") continue;
      for (const json& step : load["steps"]) {
        for (const json& part : step["picture"]["parts"]) {
          if (part["kind"] != "ring") continue;
          for (const auto& [slot, timers] : part["timers"].items()) {
            for (const unsigned timer : timers) levels[timer].insert(part["name"].get<std::string>());
          }
        }
      }
    }
    std::size_t seen = 0;
    for (const auto& [timer, its] : levels) seen = std::max(seen, its.size());
    EXPECT_EQ(seen, most) << engine;
  }
}

TEST(RecordingsOfEngines, ALaterDeadlineDoesNotMoveATimerOfFoliot) {
  const json recording = recording_of("foliot");
  const json& load = recording["loads"][0];
  ASSERT_EQ(load["name"], "heartbeats");
  std::size_t unmoved = 0;
  for (std::size_t i = 1; i < load["steps"].size(); ++i) {
    const json& step = load["steps"][i];
    if (step["text"].get<std::string>().find("postponed") == std::string::npos) continue;
    if (step["picture"]["parts"] == load["steps"][i - 1]["picture"]["parts"]) ++unmoved;
  }
  EXPECT_GT(unmoved, 20U);
}

TEST(RecordingsOfEngines, AStopLeavesAZombieInTheLazyHeap) {
  const json recording = recording_of("quad-heap-lazy");
  const json& load = recording["loads"][3];
  ASSERT_EQ(load["name"], "requests");
  std::size_t with_zombie = 0;
  for (const json& step : load["steps"]) {
    for (const json& cell : step["picture"]["parts"][0]["cells"]) {
      if (cell.is_null()) ++with_zombie;
    }
  }
  EXPECT_GT(with_zombie, 3U);
}

}  // namespace
}  // namespace foliot::program

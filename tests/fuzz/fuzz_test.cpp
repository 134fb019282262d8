// What the fuzzer stands on: bytes are scripts and scripts are bytes, the corpus is what the seeds say, and
// it reaches what it should.
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "corpus_files.hpp"
#include "flawed_queues.hpp"
#include "one_input.hpp"
#include "queue/conformance/kind_of.hpp"
#include "queue/conformance/random_scripts.hpp"
#include "script_bytes.hpp"
#include "seeds.hpp"

namespace foliot::conformance {
namespace {

using namespace std::chrono_literals;

std::string words(const script& s) {
  std::ostringstream out;
  out << s;
  return out.str();
}

template <class Queue>
std::string found_by_the_seeds() {
  const std::array queue{kind_of<Queue>};
  for (const seed& each : seeds()) {
    if (auto failure = first_failure(each.what, rigour::all, queue)) return *failure;
  }
  return "";
}

TEST(ScriptBytes, SayWhatTheScriptSays) {
  EXPECT_TRUE(rc::check("a script survives being bytes", [] {
    const script s = *arbitrary_script();
    RC_ASSERT(words(decode(encode(s))) == words(s));
  }));
}

TEST(ScriptBytes, AreAlwaysAScript) {
  EXPECT_TRUE(rc::check("any bytes are a script, and one that can be said in bytes", [] {
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
    const script s = decode(bytes);
    RC_ASSERT(timers_in(s) <= timers_in_bytes);
    RC_ASSERT(s.origin <= instant::latest());
    RC_ASSERT(words(decode(encode(s))) == words(s));
  }));
}

TEST(ScriptBytes, AreFewForWhatIsCommon) {
  for (const duration offset : {duration(0ns), duration(10ms - 1ns), duration(3h + 1ns), duration(-5ms),
                                duration::nanoseconds((std::int64_t{1} << 55) - 1)}) {
    EXPECT_LE(encode({{}, {{step::kind::reset, 0, offset}}, {}}).size(), 4u) << offset.count();
  }
}

TEST(ScriptBytes, TakeOneForATie) {
  const script s{{}, {{step::kind::reset, 0, 1ms}, {step::kind::reset, 1, 1ms}, {step::kind::reset, 2, 1ms}}, {}};
  EXPECT_EQ(encode(s).size(), 6u);
}

TEST(ScriptBytes, MissingBytesAreZero) {
  EXPECT_EQ(words(decode({})), words({}));
  const std::vector<std::uint8_t> cut{0, 5};  // reset timer 5, and no offset
  EXPECT_EQ(words(decode(cut)), words({{}, {{step::kind::reset, 5}}, {}}));
}

TEST(ScriptBytes, RefuseWhatTheyCannotSay) {
  EXPECT_THROW(static_cast<void>(encode({{}, {{step::kind::stop, timers_in_bytes}}, {}})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(encode({{}, {{step::kind::expire, 0, 0ns, budgets_in_bytes}}, {}})),
               std::invalid_argument);
}

/// `fuzz_seeds tests/fuzz/corpus` writes them anew. What a fuzzer found may lie there too.
TEST(Corpus, IsWhatTheSeedsSay) {
  std::set<std::string> names;
  for (const seed& each : seeds()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name << " is there twice";
    EXPECT_EQ(contents(std::string(FOLIOT_FUZZ_CORPUS "/") + each.name), encode(each.what)) << each.name;
  }
  for (const auto& file : files_in(FOLIOT_FUZZ_CORPUS)) {
    const std::string name = file.filename().string();
    EXPECT_TRUE(names.contains(name) || name.starts_with("found-"))
        << name << " is no seed; what was found is called found-…";
  }
}

TEST(Canary, TheSeedsReachTheEdgesOfLevels) { EXPECT_NE(found_by_the_seeds<early_at_edges>(), ""); }
TEST(Canary, TheSeedsDoNotShowWhatTheFuzzerMustFind) { EXPECT_EQ(found_by_the_seeds<early_after_a_move>(), ""); }

}  // namespace
}  // namespace foliot::conformance

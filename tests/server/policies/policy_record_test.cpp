// The policy of a tube as JSON: what is read, what is refused with which words, and that a record keeps all of it.
#include "server/policies/policy_record.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/limits.hpp>

#include "server/access/server_tubes.hpp"
#include "server/http/json.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using jobs::tube_policy;

tube_policy read(const std::string& text) {
  const auto made = read_policy(text, "mail");
  EXPECT_TRUE(made) << text << (made ? "" : sentence_of(made.error()));
  return made.value_or(tube_policy{});
}

/// What is wrong: the pointer, and the sentence.
std::pair<std::string, std::string> wrong(const std::string& text) {
  const auto made = read_policy(text, "mail");
  EXPECT_FALSE(made) << text;
  if (made) return {};
  return {made.error().pointer, made.error().detail};
}

TEST(PolicyRecord, HasAllMembers) {
  const tube_policy it = read(R"({"tries":5,"counts_releases":false,"counts_timeouts":true,
      "delay":{"first":"10s","factor":2.5,"most":"1h","jitter":0.25},"dead_letters":"mail-dead","expires":"1d",
      "most_reserved":10,"most_reserved_of_group":1,"most_per_second":100,"burst":20})");
  tube_policy wanted;
  wanted.tries = 5;
  wanted.counts_releases = false;
  wanted.delay = {.listed = {}, .first = 10s, .factor = 2.5, .most = 1h, .jitter = 0.25};
  wanted.dead_letters = "mail-dead";
  wanted.expires = 24h;
  wanted.most_reserved = 10;
  wanted.most_reserved_of_group = 1;
  wanted.most_per_second = 100;
  wanted.burst = 20;
  EXPECT_EQ(it, wanted);
}

TEST(PolicyRecord, HasWhatIsUsualWithoutMembers) {
  EXPECT_EQ(read("{}"), tube_policy());
  EXPECT_EQ(read(R"({"tries":null,"delay":null,"dead_letters":""})"), tube_policy());
}

TEST(PolicyRecord, TakesADelayInThreeForms) {
  EXPECT_EQ(read(R"({"delay":"10s"})").delay.first, 10s);
  EXPECT_EQ(read(R"({"delay":90})").delay.first, 90s);
  EXPECT_EQ(read(R"({"delay":["1s","250ms",60]})").delay.listed, (std::vector<jobs::milliseconds>{1s, 250ms, 60s}));
  const auto rule = read(R"({"delay":{"listed":["1s"],"jitter":1}})").delay;
  EXPECT_EQ(rule.listed, (std::vector<jobs::milliseconds>{1s}));
  EXPECT_EQ(rule.jitter, 1);
  // The usual bound does not cut what is asked for.
  EXPECT_EQ(read(R"({"delay":"48h"})").delay.most, 48h);
  EXPECT_EQ(read(R"({"delay":{"first":"48h","factor":2}})").delay.most, 48h);
}

TEST(PolicyRecord, NamesWhatIsWrongAndWhatWouldBeRight) {
  const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> cases = {
      {R"([])", {"", "a policy must be an object"}},
      {R"({"tries":-1})", {"/tries", "`tries` must be a whole number from 0 to 1000000"}},
      {R"({"tries":1000001})", {"/tries", "`tries` must be a whole number from 0 to 1000000"}},
      {R"({"tries":"5"})", {"/tries", "`tries` must be a whole number from 0 to 1000000"}},
      {R"({"tires":5})", {"/tires", "there is no member `tires` here: did you mean `tries`?"}},
      {R"({"counts_releases":1})", {"/counts_releases", "`counts_releases` must be true or false"}},
      {R"({"delay":"soon"})", {"/delay", "`delay` must be a length of time such as 5m or 1h30m"}},
      {R"({"delay":true})", {"/delay", "`delay` must be a length of time such as \"5m\", or a number of seconds"}},
      {R"({"delay":"9000h"})", {"/delay", "`delay` must be from 0s to "}},
      {R"({"delay":[]})", {"/delay", "an array of 1 to 100 lengths of time"}},
      {R"({"delay":["1s","x"]})", {"/delay/1", "`delay` must be a length of time"}},
      {R"({"delay":{"factor":0.5}})", {"/delay/factor", "`factor` must be a number from 1 to 100"}},
      {R"({"delay":{"factor":1e300}})", {"/delay/factor", "`factor` must be a number from 1 to 100"}},
      {R"({"delay":{"jitter":1.5}})", {"/delay/jitter", "`jitter` must be a number from 0 to 1"}},
      {R"({"delay":{"jitter":-1}})", {"/delay/jitter", "`jitter` must be a number from 0 to 1"}},
      {R"({"delay":{"first":"2h","most":"1h"}})", {"/delay/most", "`most` must not be shorter than `first`, 2h"}},
      {R"({"delay":{"first":"1s","listed":["1s"]}})", {"/delay/listed", "excludes `first`, `factor` and `most`"}},
      {R"({"delay":{"frist":"1s"}})", {"/delay/frist", "did you mean `first`?"}},
      {R"({"dead_letters":"mail"})", {"/dead_letters", "must be another tube than 'mail' itself"}},
      {R"({"dead_letters":"-foliot.actions"})", {"/dead_letters", "not begin with -"}},
      {R"({"dead_letters":"a b"})", {"/dead_letters", "`dead_letters` must have 1 to 200 of the characters"}},
      {R"({"dead_letters":"mail-dead"})", {"/dead_letters", "`dead_letters` needs `tries` from 1 on"}},
      {R"({"dead_letters":7})", {"/dead_letters", "`dead_letters` must be a string"}},
      {R"({"expires":"-1s"})", {"/expires", "`expires` must be"}},
      {R"({"burst":5})", {"/burst", "`burst` needs `most_per_second`"}},
      {R"({"most_per_second":1,"burst":0})", {"/burst", "`burst` must be a whole number from 1 to 1000000"}},
  };
  for (const auto& [text, told] : cases) {
    const auto [pointer, detail] = wrong(text);
    EXPECT_EQ(pointer, told.first) << text;
    EXPECT_TRUE(detail.contains(told.second)) << text << ": " << detail;
  }
  std::string many = "{\"delay\":[\"1s\"";
  for (int i = 0; i < 100; ++i) many += ",\"1s\"";
  EXPECT_EQ(wrong(many + "]}").first, "/delay") << "101 delays";
}

TEST(PolicyRecord, KeepsAPolicyAsItIs) {
  for (const std::string text :
       {R"({})", R"({"tries":5})", R"({"delay":"10s"})", R"({"delay":"48h"})", R"({"delay":["1s","1h"]})",
        R"({"delay":{"first":"10s","factor":1.1,"jitter":0.1}})", R"({"delay":{"first":"1s","factor":2,"most":"5m"}})",
        R"({"tries":1,"dead_letters":"mail-dead","delay":{"listed":["1s","2s"],"jitter":0.5}})",
        R"({"delay":{"first":"48h","factor":3,"most":"96h"}})",
        R"({"counts_timeouts":false,"expires":"1h30m","most_per_second":7,"burst":9})"}) {
    const tube_policy it = read(text);
    const jobs::put record = put_of_policy("mail", it);
    EXPECT_EQ(record.tube, tube_of_policies);
    EXPECT_EQ(record.key, "mail");
    EXPECT_EQ(record.due, jobs::due_at(jobs::latest_due())) << "so that nobody gets it";
    const tube_policy again = read(record.body);
    EXPECT_EQ(put_of_policy("mail", again).body, record.body) << text;
    for (std::uint32_t n = 1; n < 6; ++n) {
      EXPECT_EQ(jobs::delay_behind(again.delay, 7, n), jobs::delay_behind(it.delay, 7, n)) << text << n;
    }
    EXPECT_EQ(http::json_text(json_of(again)), record.body);
  }
  EXPECT_EQ(put_of_policy("mail", read(R"({"burst":1,"most_per_second":2,"tries":0,"delay":0})")).body,
            R"({"most_per_second":2})")
      << "without what is usual";
  EXPECT_EQ(put_of_policy("mail", read(R"({"delay":{"first":1,"factor":2,"jitter":1}})")).body,
            R"({"delay":{"first":"1s","factor":2,"jitter":1}})");
}

}  // namespace
}  // namespace foliot::program

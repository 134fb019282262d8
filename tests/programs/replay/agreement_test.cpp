#include "replay/agreement.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000'000;

instant at_second(std::int64_t since_epoch) { return instant::from_nanoseconds(since_epoch * second); }

/// Sessions with an idle time of ten seconds, all times in seconds.
ended_session session(std::string client, int start, int last, std::uint64_t requests, int late = 0) {
  return {std::move(client), at_second(start), at_second(last), requests, at_second(last + 10 + late)};
}

using sessions = std::vector<ended_session>;

/// One stretch of the log: the sessions that the reference and the engine have ended in it.
struct stretch {
  sessions reference;
  sessions engine;
};

/// The difference; empty if the engine agrees.
std::string difference(duration lateness, const std::vector<stretch>& log) {
  agreement check(lateness);
  for (const stretch& each : log) {
    for (const ended_session& ended : each.reference) check.expect(ended);
    for (const ended_session& ended : each.engine) check.add(ended);
    check.end_stretch();
  }
  check.finish();
  return check.broken() ? check.difference()->client + " " + check.difference()->what : "";
}

std::string difference(duration lateness, sessions reference, sessions engine) {
  return difference(lateness, {{std::move(reference), std::move(engine)}});
}

TEST(Agreement, OfTheSameSessionsInAnyOrderOfClients) {
  const sessions some{session("a", 0, 5, 3), session("b", 1, 5, 2), session("a", 20, 20, 1)};
  EXPECT_EQ(difference(0s, some, some), "");
  EXPECT_EQ(difference(0s, some, {some[1], some[0], some[2]}), "");
  EXPECT_EQ(difference(0s, {}, {}), "");
}

TEST(Agreement, OfSessionsThatExpireAsLateAsIsAllowed) {
  EXPECT_EQ(difference(4s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3, 0)}), "");
  EXPECT_EQ(difference(4s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3, 4)}), "");
}

TEST(Agreement, OfALateSessionThatEndsInALaterStretch) {
  EXPECT_EQ(difference(4s, {{{session("a", 0, 5, 3)}, {}}, {{}, {session("a", 0, 5, 3, 2)}}}), "");
}

TEST(Agreement, OfOneSessionThatTheReferenceHasInParts) {
  // The first expires at 15, the client is back at 18, within four seconds; and again after 28, at 31.
  const sessions parts{session("a", 0, 5, 3), session("a", 18, 18, 1), session("a", 31, 40, 2)};
  EXPECT_EQ(difference(4s, parts, {session("a", 0, 40, 6)}), "");
  EXPECT_EQ(difference(4s, parts, {session("a", 0, 5, 3, 1), session("a", 18, 40, 3)}), "");
  EXPECT_EQ(difference(4s, parts, {session("a", 0, 18, 4, 3), session("a", 31, 40, 2, 4)}), "");
  EXPECT_EQ(difference(4s, parts, {session("a", 0, 5, 3), session("a", 18, 18, 1), session("a", 31, 40, 2)}), "");
}

TEST(Agreement, OfPartsThatEndInStretchesOfTheirOwn) {
  std::vector<stretch> log;
  for (int i = 0; i < 100; ++i) log.push_back({{session("a", 12 * i, 12 * i, 1), session("b", 12 * i, 12 * i, 1)}, {}});
  log.push_back({{}, {session("a", 0, 12 * 99, 100), session("b", 0, 12 * 99, 100, 4)}});
  EXPECT_EQ(difference(4s, log), "");
}

// Canaries: broken engines.

TEST(AgreementCanary, EndsASessionEarly) {
  EXPECT_EQ(difference(4s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3, -1)}),
            "a has ended the session that began at 1970-01-01T00:00:00Z with its expiry at 1970-01-01T00:00:14Z, not "
            "1970-01-01T00:00:15Z to 1970-01-01T00:00:19Z");
  // In the stretch before.
  EXPECT_EQ(difference(4s, {{{}, {session("a", 0, 5, 3)}}, {{session("a", 0, 5, 3)}, {}}}),
            "a has ended a session of 1970-01-01T00:00:00Z to 1970-01-01T00:00:05Z at 1970-01-01T00:00:15Z, where none "
            "was due");
}

TEST(AgreementCanary, EndsASessionTooLate) {
  EXPECT_EQ(difference(0s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3, 1)}),
            "a has ended the session that began at 1970-01-01T00:00:00Z with its expiry at 1970-01-01T00:00:16Z, not "
            "1970-01-01T00:00:15Z");
  EXPECT_NE(difference(4s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3, 5)}), "");
}

TEST(AgreementCanary, JoinsWhatWasTooFarApart) {
  const std::string expected = "a has not ended the session that began at 1970-01-01T00:00:00Z by 1970-01-01T00:00:19Z";
  // At 19, exactly, the session has to be over.
  EXPECT_EQ(difference(4s, {session("a", 0, 5, 3), session("a", 19, 20, 2)}, {session("a", 0, 20, 5)}), expected);
  EXPECT_NE(difference(0s, {session("a", 0, 5, 3), session("a", 15, 20, 2)}, {session("a", 0, 20, 5)}), "");
  // The same if the parts are joined before the engine ends anything.
  EXPECT_EQ(difference(4s, {{{session("a", 0, 5, 3)}, {}},
                            {{session("a", 19, 20, 2)}, {}},
                            {{session("a", 31, 31, 1)}, {}},
                            {{}, {session("a", 0, 31, 6)}}}),
            expected);
}

TEST(AgreementCanary, LosesASession) {
  const sessions reference{session("b", 1, 6, 1), session("a", 0, 5, 3), session("c", 30, 30, 1)};
  EXPECT_EQ(difference(4s, reference, {session("b", 1, 6, 1), session("c", 30, 30, 1)}),
            "a has not ended the session that began at 1970-01-01T00:00:00Z by 1970-01-01T00:00:19Z");
  EXPECT_TRUE(difference(0s, reference, {}).starts_with("a has not ended")) << "it was due first";
}

TEST(AgreementCanary, IsNotWaitedForToTheEndOfTheLog) {
  agreement check(4s);
  for (const ended_session& each : {session("a", 0, 5, 3), session("a", 30, 30, 1), session("a", 60, 60, 1)}) {
    EXPECT_FALSE(check.broken());
    check.expect(each);
    check.end_stretch();
  }
  EXPECT_TRUE(check.broken()) << "it ended neither of the first two in the stretches that they ended in";
}

TEST(AgreementCanary, LosesTheFirstOfTwoSessions) {
  EXPECT_EQ(difference(0s, {session("a", 0, 5, 3), session("a", 30, 30, 1)}, {session("a", 30, 30, 1)}),
            "a has not ended the session that began at 1970-01-01T00:00:00Z by 1970-01-01T00:00:15Z");
}

TEST(AgreementCanary, LosesTheLastOfTwoSessions) {
  EXPECT_EQ(difference(0s, {session("a", 0, 5, 3), session("a", 30, 30, 1)}, {session("a", 0, 5, 3)}),
            "a has not ended the session that began at 1970-01-01T00:00:30Z by 1970-01-01T00:00:40Z");
}

TEST(AgreementCanary, InventsASession) {
  EXPECT_EQ(difference(0s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3), session("x", 0, 5, 3)}).substr(0, 21),
            "x has ended a session");
  EXPECT_NE(difference(0s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 3), session("a", 0, 5, 3)}), "");
}

TEST(AgreementCanary, MiscountsRequests) {
  EXPECT_EQ(difference(0s, {session("a", 0, 5, 3)}, {session("a", 0, 5, 2)}),
            "a has ended the session that began at 1970-01-01T00:00:00Z with a count of requests of 2, not 3");
  EXPECT_NE(difference(4s, {session("a", 0, 5, 3), session("a", 18, 20, 2)}, {session("a", 0, 20, 4)}), "");
}

TEST(AgreementCanary, MovesTheStartOrTheLastRequest) {
  EXPECT_EQ(difference(0s, {session("a", 0, 5, 3)}, {session("a", 1, 5, 3)}),
            "a has ended a session that began at 1970-01-01T00:00:01Z, not one that began at 1970-01-01T00:00:00Z");
  EXPECT_EQ(difference(4s, {session("a", 0, 5, 3)}, {session("a", 0, 6, 3, -1)}),
            "a has ended the session that began at 1970-01-01T00:00:00Z with its last request at 1970-01-01T00:00:06Z, "
            "not 1970-01-01T00:00:05Z");
  EXPECT_NE(difference(4s, {session("a", 0, 5, 3)}, {session("a", 0, 4, 3, 1)}), "");
}

TEST(AgreementCanary, IsToldOfItsFirstDifferenceOnly) {
  EXPECT_TRUE(difference(0s, {{{session("a", 0, 5, 3)}, {session("a", 0, 5, 2)}},
                              {{session("b", 0, 5, 3)}, {session("c", 0, 5, 2)}}})
                  .starts_with("a "));
}

}  // namespace
}  // namespace foliot::program

#include "server/targets/secret_file.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/webhooks/signature.hpp"

namespace foliot::program {
namespace {

const std::string one = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const std::string two = "whsec_p5jXN8AQM9LWM0D4loKWxJekp5jXN8AQM9LWM0D4loI=";

webhooks::unix_seconds at(std::int64_t seconds) { return webhooks::unix_seconds(std::chrono::seconds(seconds)); }

TEST(SecretFile, HasNamedSecrets) {
  const auto read =
      parse_secrets("file", "# of billing\n[secret billing]\npresent = " + one + "\n\n[secret b-2]\r\npresent=" + two +
                                "\r\nprevious = " + one + "\nprevious_until = 2027-01-01T00:00:00Z");
  ASSERT_TRUE(read) << read.error().front();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->at("billing")->count(at(1'700'000'000)), 1U);
  EXPECT_EQ(read->at("b-2")->count(at(1'700'000'000)), 2U) << "both are valid";
  EXPECT_EQ(read->at("b-2")->count(at(1'900'000'000)), 1U) << "the previous one has ended";
  const webhooks::signed_message message{.id = "msg", .timestamp = 1'900'000'000, .body = "x"};
  const webhooks::signing_secrets present(webhooks::signing_secret::parse(two).value());
  EXPECT_EQ(read->at("b-2")->sign(message, at(1'900'000'000)), present.sign(message, at(1'900'000'000)));
}

TEST(SecretFile, APreviousSecretWithoutAnEndStays) {
  const auto read = parse_secrets("file", "[secret a]\npresent = " + one + "\nprevious = " + two + "\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at("a")->count(at(9'000'000'000)), 2U);
}

TEST(SecretFile, AnEmptyOneHasNone) {
  EXPECT_TRUE(parse_secrets("file", "")->empty());
  EXPECT_TRUE(parse_secrets("file", "# nothing\n\n")->empty());
}

/// Each mistake has its line, and no part of a secret.
TEST(SecretFile, MistakesAreToldWithoutSecrets) {
  const std::string good = "[secret a]\npresent = " + one + "\n";
  for (const std::string& text : std::vector<std::string>{
           "present = " + one + "\n", "[secret a b]\npresent = " + one, "[token a]\n", "[secret a]\n", good + good,
           good + "present = " + two, good + one, good + "old = " + two, good + "previous = whsec_MfKQ9r8GKYqrTwjU*",
           good + "previous = MfKQ", good + "previous_until = tomorrow",
           good + "previous_until = 2027-01-01T00:00:00Z"}) {
    const auto read = parse_secrets("file", text);
    ASSERT_FALSE(read) << text;
    for (const std::string& each : read.error()) {
      EXPECT_TRUE(each.starts_with("file:")) << each;
      EXPECT_FALSE(each.contains("MfKQ")) << each;
      EXPECT_FALSE(each.contains("p5jX")) << each;
    }
  }
}

}  // namespace
}  // namespace foliot::program

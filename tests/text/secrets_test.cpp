#include "text/secrets.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

constexpr std::string_view token = "foliot_4f7k2m9q_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno1IPc3C";

TEST(Secrets, OfTokensAreTakenOut) {
  const std::string all(token);
  EXPECT_EQ(without_secrets(all), "foliot_4f7k2m9q_…");
  EXPECT_EQ(without_secrets("cannot read '" + all + "': No such file"),
            "cannot read 'foliot_4f7k2m9q_…': No such file");
  EXPECT_EQ(without_secrets(all + " and " + all + "\n"), "foliot_4f7k2m9q_… and foliot_4f7k2m9q_…\n");
  EXPECT_EQ(without_secrets("/etc/" + all), "/etc/foliot_4f7k2m9q_…");
  EXPECT_EQ(without_secrets(all + "/x"), "foliot_4f7k2m9q_…");
}

TEST(Secrets, OfMistypedTokensAreTakenOutToo) {
  std::string mistyped(token);
  mistyped[30] = '?';
  EXPECT_EQ(without_secrets(mistyped), "foliot_4f7k2m9q_…");
  mistyped[15] = '-';  // behind the id
  EXPECT_EQ(without_secrets(mistyped), "foliot_…");
  EXPECT_EQ(without_secrets(token.substr(0, token.size() - 6)), "foliot_4f7k2m9q_…") << "without its checksum";
  EXPECT_EQ(without_secrets(std::string(token) + "x"), "foliot_4f7k2m9q_…");
}

TEST(Secrets, OfTokensThatAreBrokenInTheirMiddleAreTakenOut) {
  for (const char between : {' ', '\n', '\'', '"', ','}) {
    std::string broken(token);
    broken[30] = between;
    EXPECT_EQ(without_secrets(broken), "foliot_4f7k2m9q_…") << between;
  }
  for (const char* const between : {" ", "\r\n", "\n  "}) {
    const std::string broken = std::string(token.substr(0, 30)) + between + std::string(token.substr(30));
    EXPECT_EQ(without_secrets(broken), "foliot_4f7k2m9q_…") << between;
  }
}

TEST(Secrets, WhatIsNoTokenStaysAsItIs) {
  for (const char* const text : {"", "foliot", "foliot_", "foliot_4f7k2m9q_", "jobs are in foliot-data",
                                 "the schema foliot_test_of_listener_4711", "foliot_a foliot_b",
                                 "foliot_4f7k2m9q is revoked; foliot_4f7k2m9q stays",
                                 "jobs are in foliot_archives_2026; what is acknowledged has been synced",
                                 "cannot connect to database foliot_products_v2: password authentication failed"}) {
    EXPECT_EQ(without_secrets(text), text);
  }
  EXPECT_EQ(without_secrets("foliot_foliot_" + std::string(token.substr(7))), "foliot_…");
}

}  // namespace
}  // namespace foliot::program

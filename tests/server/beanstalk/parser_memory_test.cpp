// The allocations of the parser, and its behaviour without memory.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "event_text.hpp"
#include "server/beanstalk/parser.hpp"
#include "support/allocations.hpp"

namespace foliot::program::beanstalk {
namespace {

TEST(BeanstalkParserMemory, CommandsAllocateNothing) {
  const std::string name(200, 'a');
  const std::string input = "use " + name + "\r\nreserve\r\nrelease 1 2 3\r\nstats-tube " + name +
                            "\r\nx-cancel =" + std::string(128, 'k') + "\r\nfoo\r\n" + std::string(500, 'x') + "\r\n";
  std::string_view left = input;
  parser commands;
  const test::allocation_count allocations;
  std::size_t events = 0;
  while (!left.empty()) {
    const auto [used, what] = commands.parse(left);
    left.remove_prefix(used);
    if (what) ++events;
  }
  EXPECT_EQ(allocations.so_far(), 0u);
  EXPECT_EQ(events, 7u);
}

TEST(BeanstalkParserMemory, APutAllocatesItsBody) {
  const std::string input = "put 1 0 60 5000\r\n" + std::string(5000, 'x') + "\r\n";
  parser commands;
  const test::allocation_count allocations;
  const auto line = commands.parse(input);
  EXPECT_EQ(allocations.so_far(), 0u);
  const auto body = commands.parse(std::string_view(input).substr(line.used));
  EXPECT_TRUE(std::holds_alternative<put>(*body.what));
  EXPECT_EQ(allocations.so_far(), 1u);
}

/// The n-th allocation fails, for n = 0, 1, 2, … until none does.
TEST(BeanstalkParserMemory, WithoutMemoryTheBodyIsDiscarded) {
  const std::string body(20'000, 'x');
  bool failed = true;
  for (std::size_t succeeding = 0; failed; ++succeeding) {
    parser commands;
    ASSERT_TRUE(commands.parse("put 1 0 60 20000\r\n").what);
    std::optional<event> end;
    {
      const test::failing_allocations without(succeeding, 1);
      for (const char& byte : body) ASSERT_FALSE(commands.parse({&byte, 1}).what);
      end = commands.parse("\r\n").what;
      failed = without.failed();
    }
    ASSERT_TRUE(end);
    EXPECT_EQ(event_text::of(*end), failed ? "OUT_OF_MEMORY" : "put 1 0 60000 [" + body + "]");
    EXPECT_EQ(event_text::of(*commands.parse("reserve\r\n").what), "reserve");
    ASSERT_LT(succeeding, 10u);
  }
}

TEST(BeanstalkParserMemory, ADiscardedBodyTakesNoMemory) {
  parser commands;
  ASSERT_TRUE(commands.parse("put 1 0 60 20000\r\n").what);
  const std::string half(10'000, 'x');
  EXPECT_GE(commands.wanted_memory(half.size()), half.size());
  ASSERT_FALSE(commands.parse(half).what);
  EXPECT_GE(commands.body_memory(), half.size());
  EXPECT_EQ(commands.wanted_memory(1), 20'000U);
  commands.discard_body();
  EXPECT_LT(commands.body_memory(), 100U);
  EXPECT_EQ(commands.wanted_memory(half.size()), 0U);
  ASSERT_FALSE(commands.parse(half).what);
  EXPECT_EQ(event_text::of(*commands.parse("\r\n").what), "OUT_OF_MEMORY");
}

}  // namespace
}  // namespace foliot::program::beanstalk

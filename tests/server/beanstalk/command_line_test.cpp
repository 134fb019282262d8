#include "server/beanstalk/command_line.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/names.hpp>

#include "event_text.hpp"

namespace foliot::program::beanstalk {
namespace {

struct row {
  std::string line;
  std::string expected;
};

std::string parsed(std::string_view line) {
  jobs::put announced;
  return event_text::of(parse_line(line, 65'535, announced));
}

/// The put that a line announces.
jobs::put announced_by(std::string_view line) {
  jobs::put announced;
  static_cast<void>(parse_line(line, 65'535, announced));
  return announced;
}

void check(const std::vector<row>& rows) {
  for (const row& each : rows) EXPECT_EQ(parsed(each.line), each.expected) << "of '" << each.line << "'";
}

const std::string bad = "BAD_FORMAT";
const std::string unknown = "UNKNOWN_COMMAND";
const std::string longest_name(200, 'a');

// Each row was tried against beanstalkd 1.12, but for those of reserve-with-timeout that say so.

TEST(BeanstalkLine, EachCommand) {
  check({{"put 1 2 3 4", "put-line 4"},
         {"use a", "use a"},
         {"reserve", "reserve"},
         {"reserve-with-timeout 5", "reserve-with-timeout 5"},
         {"reserve-job 6", "reserve-job 6"},
         {"delete 7", "delete 7"},
         {"release 7 8 9", "release 7 8 9"},
         {"bury 7 8", "bury 7 8"},
         {"touch 7", "touch 7"},
         {"watch a", "watch a"},
         {"ignore a", "ignore a"},
         {"peek 7", "peek 7"},
         {"peek-ready", "peek-ready"},
         {"peek-delayed", "peek-delayed"},
         {"peek-buried", "peek-buried"},
         {"kick 7", "kick 7"},
         {"kick-job 7", "kick-job 7"},
         {"stats", "stats"},
         {"stats-job 7", "stats-job 7"},
         {"stats-tube a", "stats-tube a"},
         {"list-tubes", "list-tubes"},
         {"list-tubes-watched", "list-tubes-watched"},
         {"list-tube-used", "list-tube-used"},
         {"pause-tube a 7", "pause-tube a 7"},
         {"quit", "quit"}});
}

TEST(BeanstalkLine, APrefixWithoutItsSpaceIsNoCommand) {
  for (const char* const line : {"put", "delete", "release", "bury", "touch", "use", "watch", "ignore", "peek", "kick",
                                 "kick-job", "put\t1 0 1 1", "list-tube", "peek-foo", "peek-job 5", "put-x"}) {
    EXPECT_EQ(parsed(line), unknown) << line;
  }
  for (const char* const line : {"", " ", "\n", "QUIT", "Put 1 0 1 1", " use a", "foo"}) {
    EXPECT_EQ(parsed(line), unknown) << line;
  }
}

TEST(BeanstalkLine, APrefixThatIsACommandIsFollowedWrongly) {
  for (const char* const line : {"reservex",
                                 "reserve x",
                                 "reserve ",
                                 "reserve-with-timeout",
                                 "reserve-with-timeout\t0",
                                 "reserve-job",
                                 "statsx",
                                 "stats ",
                                 "stats-job",
                                 "stats-tube",
                                 "peek-readyx",
                                 "peek-ready ",
                                 "peek-delayedx",
                                 "peek-buriedx",
                                 "list-tubesx",
                                 "list-tubes ",
                                 "list-tubes-x",
                                 "list-tubes-watchedx",
                                 "list-tube-usedx",
                                 "put ",
                                 "delete ",
                                 "use ",
                                 "peek ",
                                 "kick ",
                                 "pause-tube",
                                 "pause-tube ",
                                 "stats-tube "}) {
    EXPECT_EQ(parsed(line), bad) << line;
  }
}

TEST(BeanstalkLine, QuitMayBeFollowedByAnything) { check({{"quitx", "quit"}, {"quit 1", "quit"}}); }

TEST(BeanstalkLine, NumbersHaveSpacesBeforeThemAndNoSign) {
  check({{"delete  5", "delete 5"},
         {"delete 0", "delete 0"},
         {"delete 005", "delete 5"},
         {"delete 18446744073709551615", "delete 18446744073709551615"},
         {"delete 18446744073709551616", bad},
         {"delete 99999999999999999999999", bad},
         {"delete -1", bad},
         {"delete +1", bad},
         {"delete 5x", bad},
         {"delete 5 ", bad},
         {"delete \t5", bad},
         {"delete x", bad},
         {"reserve-job  99", "reserve-job 99"},
         {"reserve-job 99x", bad},
         {"peek 5abc", bad},
         {"touch 99x", bad},
         {"touch 99 ", bad},
         {"kick-job 99x", bad},
         {"kick-job 99 ", bad},
         {"kick-job x", bad},
         {"stats-job x", bad},
         {"stats-job 99x", bad}});
}

TEST(BeanstalkLine, Release) {
  check({{"release  99  1  1", "release 99 1 1"},
         {"release 99 4294967295 4294967295", "release 99 4294967295 4294967295"},
         {"release 99", bad},
         {"release 99 1", bad},
         {"release 99 1 1x", bad},
         {"release 99 1 1 ", bad},
         {"release 99x 1 1", bad},
         {"release 99 4294967296 1", bad},
         {"release 99 1 4294967296", bad}});
}

TEST(BeanstalkLine, Bury) {
  check({{"bury 99 1", "bury 99 1"},
         {"bury 99", bad},
         {"bury 99 1x", bad},
         {"bury 99 1 ", bad},
         {"bury x 1", bad},
         {"bury 99 x", bad},
         {"bury 99 4294967296", bad}});
}

TEST(BeanstalkLine, KickTakesWhatStrtoulTakes) {
  check({{"kick 5abc", "kick 5"},
         {"kick  5", "kick 5"},
         {"kick \t\v\f\n5", "kick 5"},
         {"kick +5", "kick 5"},
         {"kick -1", "kick 4294967295"},
         {"kick 4294967296", "kick 0"},
         {"kick 18446744073709551615", "kick 4294967295"},
         {"kick -18446744073709551615", "kick 1"},
         {"kick 18446744073709551616", bad},
         {"kick -18446744073709551616", bad},
         {"kick x", bad},
         {"kick -", bad},
         {"kick - 5", bad},
         {"kick", unknown}});
}

TEST(BeanstalkLine, ReserveWithTimeoutIsFollowedByAnything) {
  check({{"reserve-with-timeout 0", "reserve-with-timeout 0"},
         {"reserve-with-timeout  0", "reserve-with-timeout 0"},
         {"reserve-with-timeout 0abc", "reserve-with-timeout 0"},
         {"reserve-with-timeout 0 0", "reserve-with-timeout 0"},
         {"reserve-with-timeout 2147483647", "reserve-with-timeout 2147483647"}});
}

/// Here 1.12 waits 0 seconds, or for ever if the number is negative; it also accepts more than 31 bits.
TEST(BeanstalkLine, ReserveWithTimeoutWantsANumberOf31Bits) {
  for (const char* const number : {"", " ", "x", "+0", "-0", "-1", "\t0", "2147483648", "4294967296"}) {
    EXPECT_EQ(parsed(std::string("reserve-with-timeout ") + number), bad) << number;
  }
}

TEST(BeanstalkLine, TubeNames) {
  for (const std::string command : {"use ", "watch ", "ignore ", "stats-tube "}) {
    check({{command + "a", command + "a"},
           {command + "a-b+c/d;e.f$g_h(i)", command + "a-b+c/d;e.f$g_h(i)"},
           {command + longest_name, command + longest_name},
           {command + longest_name + "a", bad},
           {command + " a", bad},
           {command + "a ", bad},
           {command + "a b", bad},
           {command + "-a", bad},
           {command + "-", bad},
           {command + "a:b", bad},
           {command + "a\n", bad},
           {command + "\xc3\xa4", bad}});
  }
}

TEST(BeanstalkLine, PauseTubeSkipsSpacesBeforeTheName) {
  check({{"pause-tubedefault 0", "pause-tube default 0"},
         {"pause-tube  default  0", "pause-tube default 0"},
         {"pause-tube default 4294967295", "pause-tube default 4294967295"},
         {"pause-tube default 4294967296", bad},
         {"pause-tube default", bad},
         {"pause-tube default0", bad},
         {"pause-tube default 0x", bad},
         {"pause-tube default 0 ", bad},
         {"pause-tube a:b 0", bad},
         {"pause-tube\tdefault 0", bad},
         {"pause-tube " + longest_name + " 0", "pause-tube " + longest_name + " 0"}});
}

/// beanstalkd checks these names after it has counted the command.
TEST(BeanstalkLine, PauseTubeOfAWrongNameCounts) {
  check({{"pause-tube -a 0", bad + ", counted"}, {"pause-tube " + longest_name + "a 0", bad + ", counted"}});
}

TEST(BeanstalkLine, Put) {
  check({{"put  1  0  1  1", "put-line 1"},
         {"put 1 0 1 0", "put-line 0"},
         {"put 4294967295 4294967295 4294967295 65535", "put-line 65535"},
         {"put 4294967296 0 1 1", bad},
         {"put 0 4294967296 1 1", bad},
         {"put 0 0 4294967296 1", bad},
         {"put 0 0 1 4294967296", bad},
         {"put 0 0 1 99999999999999999999999", bad},
         {"put 1", bad},
         {"put 1 2 3", bad},
         {"put -1 0 1 1", bad},
         {"put +1 0 1 1", bad},
         {"put \t1 0 1 1", bad},
         {"put 1\t0 1 1", bad},
         {"put 1,0 1 1", bad},
         {"put 0x1 0 1 1", bad}});
}

TEST(BeanstalkLine, PutIsTooBigBeforeItIsFollowedWrongly) {
  check({{"put 0 0 1 65536", "put-line 65536, too big"},
         {"put 0 0 1 65536x", "put-line 65536, too big"},
         {"put 0 0 1 4294967295", "put-line 4294967295, too big"},
         {"put 1 0 1 1x", bad + ", counted"},
         {"put 1 0 1 1 ", bad + ", counted"}});
}

TEST(BeanstalkLine, PutAnnouncesItsJob) {
  jobs::put expected;
  expected.priority = 1;
  expected.due = jobs::milliseconds(2000);
  expected.ttr = jobs::milliseconds(3000);
  EXPECT_EQ(announced_by("put 1 2 3 4"), expected);
  EXPECT_EQ(announced_by("put 1 2 0 4").ttr, jobs::milliseconds(1000)) << "a TTR of zero becomes a second";
  for (const char* const line : {"put 9 9 9 9x", "put 9 9 9 65536", "put 9 9 9"}) {
    EXPECT_EQ(announced_by(line), jobs::put()) << line;
  }
}

TEST(BeanstalkLine, AZeroIsBadFormat) {
  using namespace std::string_literals;
  for (const std::string& line : {"\0"s, "use a\0"s, "use a\0b"s, "foo\0"s}) EXPECT_EQ(parsed(line), bad);
}

TEST(BeanstalkLine, ExtensionsNameJobsByIdOrKey) {
  const std::string longest(jobs::longest_command_key, 'k');
  for (const std::string command : {"x-cancel ", "x-fire ", "x-stats-job "}) {
    check({{command + "7", command + "7"},
           {command + "  7", command + "7"},
           {command + "=7", command + "=7"},
           {command + "=a=b:c", command + "=a=b:c"},
           {command + "=" + longest, command + "=" + longest},
           {command + "=" + longest + "k", bad},
           {command + "18446744073709551616", bad},
           {command, bad},
           {command + "=", bad},
           {command + "=-", bad},
           {command + "7 ", bad},
           {command + "7x", bad},
           {command + "=a b", bad},
           {command + "=\x7f", bad},
           {command + "=\t", bad},
           {command + "key", bad}});
  }
  check({{"x-cancel", unknown}, {"x-", unknown}, {"x-foo 1", unknown}});
}

TEST(BeanstalkLine, Reschedule) {
  check({{"x-reschedule 7 1500", "x-reschedule 7 1500"},
         {"x-reschedule =k @1700000000123", "x-reschedule =k @1700000000123"},
         {"x-reschedule 7 4294967295000", "x-reschedule 7 4294967295000"},
         {"x-reschedule 7 4294967295001", bad},
         {"x-reschedule 7 @9223372036854", "x-reschedule 7 @9223372036854"},
         {"x-reschedule 7 @9223372036855", bad},
         {"x-reschedule 7", bad},
         {"x-reschedule 7 ", bad},
         {"x-reschedule 7 @", bad},
         {"x-reschedule 7 @ 5", bad},
         {"x-reschedule 7 -5", bad},
         {"x-reschedule 7 5 5", bad},
         {"x-reschedule 7 5x", bad}});
}

TEST(BeanstalkLine, ExtendedPut) {
  const std::string put = "x-put keep k 1 2500 3500 ";
  check({{put + "4", "x-put-line 4"},
         {put + "65536", "x-put-line 65536, too big"},
         {put + "4x", bad},
         {put, bad},
         {"x-put replace k 1 @5 1 4", "x-put-line 4"},
         {"x-put refuse - 1 5 1 4", "x-put-line 4"},
         {"x-put other k 1 5 1 4", bad},
         {"x-put keep k 1 5 0 4", bad},
         {"x-put keep k 4294967296 5 1 4", bad},
         {"x-put keep k 1 5 4294967295001 4", bad},
         {"x-put keep " + std::string(jobs::longest_command_key + 1, 'k') + " 1 5 1 4", bad}});
  check({{put + "4 10 20", "x-put-line 34, with 10 20"},
         {put + "4 0 0", "x-put-line 4"},
         {put + "0 8192 8192", "x-put-line 16384, with 8192 8192"},
         {put + "4 8193 0", bad},
         {put + "4 0 8193", bad},
         {put + "4 10", bad},
         {put + "4 10 20 30", bad},
         {put + "4 -1 20", bad},
         {put + "65536 10 20", "x-put-line 65566, too big, with 10 20"},
         {put + "65536 10", "x-put-line 65536, too big"},
         {"put 1 2 3 4 10 20", bad + ", counted"}});
  EXPECT_EQ(announced_by(put + "4"), (jobs::put{"", "k", "", 1, jobs::milliseconds(2500), jobs::milliseconds(3500)}));
  EXPECT_EQ(announced_by("x-put replace - 9 @5 6 4"), (jobs::put{"", "", "", 9, jobs::utc_time(jobs::milliseconds(5)),
                                                                 jobs::milliseconds(6), jobs::on_existing::replace}));
}

TEST(BeanstalkLine, PagesOfWhatIsDueNext) {
  check({{"x-due 1 @0 0 -", "x-due 1 @0 0 -"},
         {"x-due 1000 @9223372036854 18446744073709551615 a", "x-due 1000 @9223372036854 18446744073709551615 a"},
         {"x-due 10 @5 7 mail.", "x-due 10 @5 7 mail."},
         {"x-due 10 @5 7 " + std::string(200, 'a'), "x-due 10 @5 7 " + std::string(200, 'a')},
         {"x-due 10 @5 7 " + std::string(201, 'a'), bad},
         {"x-due 0 @0 0 -", bad},
         {"x-due 1001 @0 0 -", bad},
         {"x-due 10 5 0 -", bad},
         {"x-due 10 @9223372036855 0 -", bad},
         {"x-due 10 @0 -1 -", bad},
         {"x-due 10 @0 0", bad},
         {"x-due 10 @0 0 ", bad},
         {"x-due 10 @0 0 -a", bad},
         {"x-due 10 @0 0 a*", bad},
         {"x-due 10 @0 0 a b", bad},
         {"x-due", unknown}});
  const std::string longest = "x-due 1000 @9223372036854 18446744073709551615 " + std::string(175, 'a');
  EXPECT_LE(longest.size() + 2, 224u);
}

TEST(BeanstalkLine, TheLongestExtensionFits) {
  const std::string line = "x-put replace " + std::string(jobs::longest_command_key, 'k') +
                           " 4294967295 @9223372036854 4294967295000 1073741824 8192 8192";
  EXPECT_LE(line.size() + 2, 224u);
  jobs::put announced;
  EXPECT_EQ(event_text::of(parse_line(line, 1u << 30, announced)), "x-put-line 1073758208, with 8192 8192");
}

TEST(BeanstalkLine, StatisticsCountCommandsNotBodies) {
  jobs::put announced;
  const auto counts = [&](std::string_view line) { return counted(parse_line(line, 10, announced)); };
  EXPECT_EQ(counts("put 1 1 1 1"), verb_of<put_line>);
  EXPECT_EQ(counts("put 1 1 1 11"), verb_of<put_line>);
  EXPECT_EQ(counts("put 1 1 1 1x"), verb_of<put_line>);
  EXPECT_EQ(counts("put 1 1 1"), std::nullopt);
  EXPECT_EQ(counts("pause-tube -a 0"), verb_of<pause_tube>);
  EXPECT_EQ(counts("delete 1"), verb_of<delete_job>);
  EXPECT_EQ(counts("delete x"), std::nullopt);
  EXPECT_EQ(counts("foo"), std::nullopt);
  EXPECT_EQ(counts("x-put keep k 1 1 1 1"), std::nullopt);
  EXPECT_EQ(counts("x-due 1 @0 0 -"), verb_of<list_due>);
  EXPECT_EQ(counts("x-put keep k 1 1 1 1x"), std::nullopt);
  EXPECT_EQ(counted(put()), std::nullopt);
  EXPECT_EQ(counted(body_without_crlf()), std::nullopt);
}

}  // namespace
}  // namespace foliot::program::beanstalk

// The bytes of each operation, and what is refused before it becomes bytes.
#include <foliot/client/commands.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/names.hpp>

namespace foliot::client {
namespace {

using namespace std::chrono_literals;

template <class Operation>
std::string bytes_of(const Operation& what) {
  const auto made = command_for(what, {});
  return made ? made->bytes : "refused: " + made.error().text;
}

/// Whether the operation is refused with a text that has this in it.
template <class Operation>
testing::AssertionResult is_refused(const Operation& what, std::string_view text) {
  const auto made = command_for(what, {});
  if (made) return testing::AssertionFailure() << made->bytes;
  const client_error& error = made.error();
  if (error.what != client_error::kind::bad_request || error.is_in_doubt || !error.text.contains(text))
    return testing::AssertionFailure() << error.text;
  return testing::AssertionSuccess();
}

jobs::put put_of(std::string body) { return {.tube = "t", .body = std::move(body)}; }

TEST(ClientCommands, APutIsPlainIfBeanstalkdCanHaveIt) {
  jobs::put what = put_of("a\r\nb");
  EXPECT_EQ(bytes_of(what), "put 0 0 60 4\r\na\r\nb\r\n");
  what.priority = 4'294'967'295;
  what.due = 90s;
  what.ttr = 2min;
  const auto made = command_for(what, {});
  EXPECT_EQ(made.value().bytes, "put 4294967295 90 120 4\r\na\r\nb\r\n");
  EXPECT_FALSE(made->needs_foliot);
  EXPECT_EQ(made->tube, "t");
  EXPECT_TRUE(made->changes);
  EXPECT_FALSE(made->is_repeatable);
}

TEST(ClientCommands, AnythingElseIsForFoliotAlone) {
  jobs::put what = put_of("xy");
  what.due = 1500ms;
  EXPECT_EQ(bytes_of(what), "x-put keep - 0 1500 60000 2\r\nxy\r\n");
  what.due = jobs::utc_time(1'893'456'000'000ms);
  EXPECT_EQ(bytes_of(what), "x-put keep - 0 @1893456000000 60000 2\r\nxy\r\n");
  what.due = 0ms;
  what.ttr = 1ms;
  EXPECT_EQ(bytes_of(what), "x-put keep - 0 0 1 2\r\nxy\r\n");
  what.key = "k";
  what.existing = jobs::on_existing::replace;
  EXPECT_EQ(bytes_of(what), "x-put replace k 0 0 1 2\r\nxy\r\n");
  ASSERT_TRUE(what.fields.set(jobs::first_own_tag, "abc"));
  EXPECT_EQ(bytes_of(what), std::string("x-put replace k 0 0 1 2 7 0\r\nxy\x80\0\0\x03", 35) + "abc\r\n");
  EXPECT_TRUE(command_for(what, {})->needs_foliot);
}

TEST(ClientCommands, WhatMayBeRepeated) {
  const auto may = [](const auto& what) { return command_for(what, {}).value().is_repeatable; };
  jobs::put what = put_of("x");
  EXPECT_FALSE(may(what));
  what.due = 1ms;
  EXPECT_FALSE(may(what));
  what.key = "k";
  EXPECT_TRUE(may(what));
  what.existing = jobs::on_existing::replace;
  EXPECT_FALSE(may(what)) << "it could replace what another client has put in between";
  what.existing = jobs::on_existing::refuse;
  EXPECT_FALSE(may(what));
  EXPECT_TRUE(may(jobs::cancel{jobs::job_id{1}}));
  EXPECT_FALSE(may(jobs::cancel{jobs::job_key{"t", "k"}}));
  EXPECT_FALSE(may(jobs::reschedule{jobs::job_id{1}, 1s}));
  EXPECT_FALSE(may(jobs::fire_now{jobs::job_id{1}}));
  EXPECT_FALSE(may(jobs::kick{"t"}));
  EXPECT_TRUE(may(reserve{{"t"}}));
  EXPECT_TRUE(may(jobs::peek{jobs::job_id{1}}));
  EXPECT_TRUE(may(jobs::peek{jobs::job_key{"t", "k"}, false}));
  EXPECT_TRUE(may(jobs::count_all{}));
  EXPECT_TRUE(may(jobs::list_due{}));
}

TEST(ClientCommands, OfAReservation) {
  const jobs::reservation token{.id = 7, .opening = 3};
  EXPECT_EQ(bytes_of(jobs::finish{token}), "delete 7\r\n");
  EXPECT_EQ(bytes_of(jobs::touch{token}), "touch 7\r\n");
  EXPECT_EQ(bytes_of(jobs::bury{token, 9}), "bury 7 9\r\n");
  EXPECT_EQ(bytes_of(jobs::release{token, 9, 1001ms}), "release 7 9 2\r\n");
  EXPECT_EQ(command_for(jobs::finish{token}, {})->connection, 3u);
  EXPECT_TRUE(is_refused(jobs::finish{jobs::reservation{.id = 7}}, "reservation of job 7"));
  EXPECT_TRUE(is_refused(jobs::release{token}, "must have a priority"));
  EXPECT_TRUE(is_refused(jobs::release{token, 9, jobs::utc_time(1s)}, "must have a delay"));
  EXPECT_TRUE(is_refused(jobs::release{token, 9, -1ms}, "delay"));
  EXPECT_TRUE(is_refused(jobs::release{token, 9, 1ms, jobs::job_fields()}, "history"));
  EXPECT_TRUE(is_refused(jobs::bury{token}, "must have a priority"));
  EXPECT_TRUE(is_refused(jobs::bury{token, 9, jobs::job_fields()}, "history"));
}

TEST(ClientCommands, OfOtherOperations) {
  EXPECT_EQ(bytes_of(jobs::cancel{jobs::job_id{7}}), "x-cancel 7\r\n");
  EXPECT_EQ(bytes_of(jobs::cancel{jobs::job_key{"t", "k"}}), "x-cancel =k\r\n");
  EXPECT_EQ(command_for(jobs::cancel{jobs::job_key{"t", "k"}}, {})->tube, "t");
  EXPECT_EQ(bytes_of(jobs::reschedule{jobs::job_id{7}, 1500ms}), "x-reschedule 7 1500\r\n");
  EXPECT_EQ(bytes_of(jobs::fire_now{jobs::job_id{7}}), "x-fire 7\r\n");
  EXPECT_EQ(bytes_of(jobs::kick{"t", 5}), "kick 5\r\n");
  EXPECT_EQ(bytes_of(jobs::kick{"t", 1ull << 40}), "kick 4294967295\r\n");
  EXPECT_EQ(bytes_of(jobs::peek{jobs::job_id{7}}), "x-stats-job 7\r\npeek 7\r\n");
  EXPECT_EQ(command_for(jobs::peek{jobs::job_id{7}, false}, {})->for_others, "stats-job 7\r\n");
  EXPECT_EQ(bytes_of(jobs::count_tube{"t"}), "stats-tube t\r\n");
  EXPECT_EQ(bytes_of(jobs::list_due{"mail.", jobs::utc_time(5ms), 3, 10}), "x-due 10 @5 3 mail.\r\n");
  EXPECT_EQ(bytes_of(jobs::list_due{}), "x-due 100 @0 0 -\r\n");
  EXPECT_TRUE(command_for(jobs::cancel{jobs::job_id{7}}, {})->needs_foliot);
  EXPECT_TRUE(command_for(jobs::peek{jobs::job_key{"t", "k"}, false}, {})->needs_foliot);
  EXPECT_TRUE(command_for(jobs::list_due{}, {})->needs_foliot);
  EXPECT_FALSE(command_for(jobs::kick{"t"}, {})->needs_foliot);
  EXPECT_FALSE(command_for(reserve{{"t"}}, {})->needs_foliot);
  EXPECT_EQ(reserve_line(0ms), "reserve-with-timeout 0\r\n");
  EXPECT_EQ(reserve_line(1ms), "reserve-with-timeout 1\r\n");
  EXPECT_EQ(reserve_line(-5s), "reserve-with-timeout 0\r\n");
}

TEST(ClientCommands, WhatTheProtocolCannotSayIsRefused) {
  jobs::put what = put_of("x");
  what.key = "k";
  what.existing = jobs::on_existing::replace;
  what.expected = 3;
  EXPECT_TRUE(is_refused(what, "expected version"));
  what.expected = 0;
  what.holder = jobs::reservation{1, 2, 3};
  EXPECT_TRUE(is_refused(what, "put with a holder"));
  EXPECT_TRUE(is_refused(jobs::cancel{jobs::job_id{7}, 3}, "expected version"));
  EXPECT_TRUE(is_refused(jobs::kick{"t", 1, jobs::job_state::buried}, "one state"));
  EXPECT_TRUE(is_refused(jobs::peek{jobs::job_key{"t", "k"}}, "without the body"));
  EXPECT_TRUE(is_refused(jobs::list_tubes{.count = 10}, "page of tubes"));
  EXPECT_TRUE(is_refused(jobs::list_due{std::string(176, 'x')}, "at most 175"));
  EXPECT_TRUE(is_refused(jobs::list_due{"", {}, 0, 0}, ""));
  EXPECT_TRUE(is_refused(reserve{}, "at least one tube"));
  EXPECT_TRUE(is_refused(reserve{{"t"}, -1ms}, "wait of a reserve"));
  EXPECT_TRUE(is_refused(reserve{{"t"}, 2'147'483'648s}, "wait of a reserve"));
}

TEST(ClientCommands, NoTextOfACallerBecomesACommand) {
  for (const std::string& bad : std::vector<std::string>{"a\r\ndelete 1", "a b", "a\n", std::string("a\0", 2)}) {
    EXPECT_TRUE(is_refused(reserve{{bad}}, "tube name"));
    EXPECT_TRUE(is_refused(jobs::put{.tube = bad, .body = ""}, "tube name"));
    EXPECT_TRUE(is_refused(jobs::put{.tube = "t", .key = bad, .body = ""}, "key"));
    EXPECT_TRUE(is_refused(jobs::cancel{jobs::job_key{"t", bad}}, "key"));
    EXPECT_TRUE(is_refused(jobs::reschedule{jobs::job_key{bad, "k"}, 1s}, "tube name"));
    EXPECT_TRUE(is_refused(jobs::fire_now{jobs::job_key{"t", bad}}, "key"));
    EXPECT_TRUE(is_refused(jobs::peek{jobs::job_key{"t", bad}, false}, "key"));
    EXPECT_TRUE(is_refused(jobs::kick{bad}, "tube name"));
    EXPECT_TRUE(is_refused(jobs::count_tube{bad}, "tube name"));
    EXPECT_TRUE(is_refused(jobs::list_due{bad}, "prefix"));
  }
}

TEST(ClientCommands, TheLongestLineFits) {
  constexpr std::size_t longest_line = 224;
  jobs::put what = put_of(std::string(65'535, 'x'));
  what.key = std::string(jobs::longest_command_key, 'k');
  what.priority = 4'294'967'295;
  what.due = jobs::latest_due();
  what.ttr = jobs::longest_time;
  what.existing = jobs::on_existing::replace;
  ASSERT_TRUE(what.fields.set(jobs::first_own_tag, std::string(8000, 'f')));
  what.history = what.fields;
  EXPECT_LE(bytes_of(what).find("\r\n") + 2, longest_line);
  EXPECT_LE(bytes_of(jobs::list_due{std::string(175, 'x'), jobs::latest_due(), ~jobs::job_id{0}, 1000}).size(),
            longest_line);
}

}  // namespace
}  // namespace foliot::client

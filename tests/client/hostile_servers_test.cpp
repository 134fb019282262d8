// Servers that say what no server may say, or say nothing: each time the client tells that, in bounded memory and time,
// and goes on with another connection.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/client/job_client.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "support/virtual_time.hpp"

namespace foliot::client {
namespace {

using namespace std::chrono_literals;
using runtime::task;
using kind = client_error::kind;

/// A server that answers the first writes of its client with these texts, whatever they are; an empty one is none. Then
/// it closes the connection, or says nothing more.
struct script {
  std::vector<std::string> answers;
  bool closes = true;
};

struct scripted_server {
  std::vector<script> connections;  // the last one is that of all further ones
  std::vector<std::string> heard;   // by each connection
  std::size_t made = 0;
  std::vector<runtime::join_handle<>> sessions;

  [[nodiscard]] endpoint server() {
    return {"the server", {}, [this](instant) { return connect(); }};
  }
  task<connected> connect() {
    auto ends = runtime::stream::pair().value();
    const std::size_t number = made++;
    heard.emplace_back();
    const script& mine = connections[std::min(number, connections.size() - 1)];
    sessions.push_back(runtime::spawn(serve(std::move(ends.second), mine, number), "a session"));
    co_return std::make_unique<transport_over<runtime::stream>>(std::move(ends.first));
  }
  task<> serve(runtime::stream peer, script mine, std::size_t number) {
    std::string buffer(4096, '\0');
    std::size_t answered = 0;
    for (;;) {
      if (answered == mine.answers.size() && mine.closes) co_return;
      auto reading = peer.read_some(std::span<char>(buffer));
      const auto got = co_await reading;
      if (!got || *got == 0) co_return;
      heard[number].append(buffer, 0, *got);
      if (answered == mine.answers.size()) continue;
      auto writing = peer.write_all(mine.answers[answered++]);
      static_cast<void>(co_await writing);
    }
  }
};

const std::string foliot_it_is = "BAD_FORMAT\r\n";

template <class Operation>
struct outcome {
  result_of<Operation> got;
  duration took;
  std::size_t connections = 0;
  std::vector<std::string> heard;
};

/// What the operation comes to at a server whose connections go so.
template <class Operation>
outcome<Operation> ask_at(std::vector<script> connections, Operation what, duration patience = 20s) {
  std::unique_ptr<outcome<Operation>> done;
  foliot::test::on_virtual_time([&]() -> task<> {
    scripted_server server;
    server.connections = std::move(connections);
    {
      client_options options;
      options.server = server.server();
      options.limits.most_received = 1000;
      job_client jobs(options);
      const instant begin = runtime::now();
      auto asking = jobs.ask(std::move(what), patience);
      auto got = co_await asking;
      done = std::make_unique<outcome<Operation>>(
          outcome<Operation>{std::move(got), runtime::now() - begin, server.made, {}});
    }
    for (auto& each : server.sessions) co_await each.join();
    done->heard = server.heard;
  });
  return std::move(*done);
}

jobs::put small_put(std::string key = {}) {
  jobs::put made;
  made.tube = "default";
  made.body = "x";
  made.key = std::move(key);
  return made;
}

TEST(HostileServers, ThatAnswerNonsense) {
  const std::string long_line(1000, 'A');
  for (const std::string& wrong : std::vector<std::string>{
           "HTTP/1.1 400 Bad Request\r\n", "hello\r\n", "\r\n", long_line, "INSERTED\r\n", "INSERTED x\r\n",
           "INSERTED -1\r\n", "INSERTED 18446744073709551616\r\n", "INSERTED 0\r\n", "RESERVED 1 1\r\nx\r\n",
           "OK 99999999999999999999\r\n", "OK 1073741824\r\n", "FOUND 1 4000000000\r\n", "INSERTED 1\r\nINSERTED 2\r\n",
           "INSERTED 1\r\nx", "KEPT 7\r\n", std::string("INSER\0TED 1\r\n", 13)}) {
    SCOPED_TRACE(wrong.substr(0, 60));
    const auto done = ask_at({{{foliot_it_is, wrong}}}, small_put());
    ASSERT_FALSE(done.got);
    EXPECT_EQ(done.got.error().what, kind::bad_answer) << done.got.error().text;
    EXPECT_TRUE(done.got.error().is_in_doubt) << "the put was sent";
    EXPECT_EQ(done.connections, 1u) << "a put without a key is not repeated";
  }
}

TEST(HostileServers, ThatTakeAPutForNoCommand) {
  const auto done = ask_at({{{foliot_it_is, "BAD_FORMAT\r\n"}}}, small_put());
  ASSERT_FALSE(done.got);
  EXPECT_EQ(done.got.error().what, kind::bad_answer);
  EXPECT_FALSE(done.got.error().is_in_doubt) << "it was not executed";
}

TEST(HostileServers, ThatCloseAtEachByteOfAnAnswer) {
  const std::string answer = "INSERTED 17\r\n";
  for (std::size_t said = 0; said < answer.size(); ++said) {
    const std::vector<script> connections = {{{foliot_it_is, answer.substr(0, said)}}, {{foliot_it_is, "KEPT 17\r\n"}}};
    const auto lost = ask_at(connections, small_put());
    ASSERT_FALSE(lost.got) << said;
    EXPECT_EQ(lost.got.error().what, kind::connection_lost);
    EXPECT_TRUE(lost.got.error().is_in_doubt);
    EXPECT_EQ(lost.connections, 1u);
    const auto kept = ask_at(connections, small_put("k"));
    ASSERT_TRUE(kept.got) << said;
    EXPECT_EQ(kept.got->what, jobs::put_answer::kind::kept);
    EXPECT_EQ(kept.heard.at(0), kept.heard.at(1)) << "the same again";
  }
}

TEST(HostileServers, ThatSayNothing) {
  const auto silent_put = ask_at({{{foliot_it_is}, false}}, small_put(), 1h);
  ASSERT_FALSE(silent_put.got);
  EXPECT_EQ(silent_put.got.error().what, kind::connection_lost);
  EXPECT_TRUE(silent_put.got.error().is_in_doubt);
  EXPECT_EQ(silent_put.took, duration(30s)) << "the answer's timeout";
  EXPECT_TRUE(silent_put.got.error().text.contains("has not answered in time")) << silent_put.got.error().text;

  const auto silent_look = ask_at({{{foliot_it_is}, false}}, jobs::count_all{}, 2min);
  ASSERT_FALSE(silent_look.got);
  EXPECT_FALSE(silent_look.got.error().is_in_doubt);
  EXPECT_GT(silent_look.connections, 2u) << "it was asked again";
  EXPECT_LE(silent_look.took, duration(2min));

  const auto mute = ask_at({{{}, false}}, small_put(), 35s);
  ASSERT_FALSE(mute.got);
  EXPECT_FALSE(mute.got.error().is_in_doubt) << "the put was never sent";
  EXPECT_GT(mute.connections, 2u);
  EXPECT_LE(mute.took, duration(35s));
}

/// A connection that carries so many bytes in a second, in each direction.
class slow_transport final : public transport {
 public:
  slow_transport(runtime::stream stream, std::size_t bytes) : stream_(std::move(stream)), bytes_(bytes) {}
  [[nodiscard]] task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override {
    auto waiting = pass_a_second();
    if (!co_await waiting) co_return std::unexpected(make_error_code(runtime::io_errc::deadline_exceeded));
    auto reading = stream_.read_some(into.subspan(0, std::min(into.size(), bytes_)));
    co_return co_await reading;
  }
  [[nodiscard]] task<runtime::or_error<std::size_t>> write_some(std::string_view from) override {
    auto waiting = pass_a_second();
    if (!co_await waiting) co_return std::unexpected(make_error_code(runtime::io_errc::deadline_exceeded));
    auto writing = stream_.write_some(from.substr(0, bytes_));
    co_return co_await writing;
  }
  void set_deadline(instant deadline) override {
    deadline_ = deadline;
    stream_.set_deadline(deadline);
  }
  [[nodiscard]] bool peer_has_ended() const noexcept override { return stream_.peer_has_ended(); }

 private:
  task<bool> pass_a_second() {
    const instant then = runtime::now() + duration(1s);
    co_await runtime::sleep_until(std::min(then, deadline_));
    co_return then < deadline_;
  }

  runtime::stream stream_;
  std::size_t bytes_;
  instant deadline_ = instant::never();
};

TEST(HostileServers, ThatAreSlowAreWaitedForWhileBytesCome) {
  foliot::test::on_virtual_time([]() -> task<> {
    scripted_server server;
    server.connections = {{{foliot_it_is, "INSERTED 1\r\n"}, false}};
    jobs::put large = small_put();
    large.body = std::string(2000, 'x');
    const std::string body(900, 'y');
    {
      client_options options;
      options.server = {"the server", {}, [&server](instant) -> task<connected> {
                          auto ends = runtime::stream::pair().value();
                          const std::size_t number = server.made++;
                          server.heard.emplace_back();
                          server.sessions.push_back(runtime::spawn(
                              server.serve(std::move(ends.second), server.connections.front(), number), "a session"));
                          co_return std::make_unique<slow_transport>(std::move(ends.first), 50);
                        }};
      options.answer_timeout = 3s;  // the put takes 40 s, and its answer comes when its first piece has arrived
      job_client jobs(options);
      auto putting = jobs.ask(large);
      const auto put = co_await putting;
      EXPECT_TRUE(put) << put.error().text;
      EXPECT_EQ(server.heard.at(0).size(), std::string_view("x-fire \r\nput 0 0 60 2000\r\n").size() + 2002);
      jobs.close();
      server.connections = {
          {{foliot_it_is, "WATCHING 2\r\nWATCHING 1\r\n", "RESERVED 1 900\r\n" + body + "\r\n"}, false}};
      auto reserving = jobs.ask(reserve{{"mail"}, 0ms});
      const auto got = co_await reserving;  // in 19 pieces, where the timeout with the server's second is 4 s
      EXPECT_TRUE(got) << got.error().text;
      EXPECT_EQ(got->job.value().body, body);
      EXPECT_EQ(jobs.connections(), 2u);
    }
    for (auto& each : server.sessions) co_await each.join();
  });
}

TEST(HostileServers, ThatForbidATubeKeepTheConnection) {
  foliot::test::on_virtual_time([]() -> task<> {
    scripted_server server;
    server.connections = {{{foliot_it_is, "RESERVED 1 1\r\nx\r\n", "FORBIDDEN\r\nNOT_IGNORED\r\n",
                            "WATCHING 2\r\nFORBIDDEN\r\nWATCHING 1\r\n", "TIMED_OUT\r\n"},
                           false}};
    {
      client_options options;
      options.server = server.server();
      job_client jobs(options);
      auto reserving = jobs.ask(reserve{{"default"}, 0ms});
      const auto held = co_await reserving;
      const jobs::reservation token = held.value().job.value().token;
      auto asking_secret = jobs.ask(reserve{{"secret"}, 0ms});
      const auto secret = co_await asking_secret;
      EXPECT_EQ(secret.error().what, kind::forbidden);
      EXPECT_TRUE(jobs.holds(token));
      auto asking_both = jobs.ask(reserve{{"mail", "secret"}, 0ms});
      const auto both = co_await asking_both;
      EXPECT_EQ(both.error().what, kind::forbidden);
      EXPECT_TRUE(jobs.holds(token));
      auto asking_mail = jobs.ask(reserve{{"mail"}, 0ms});
      const auto mail = co_await asking_mail;
      EXPECT_EQ(mail.value().what, reserve_answer::kind::timed_out);
      EXPECT_EQ(jobs.connections(), 1u);
      EXPECT_TRUE(server.heard.at(0).ends_with("ignore default\r\nreserve-with-timeout 0\r\n"))
          << "it is known what it watches";
    }
    for (auto& each : server.sessions) co_await each.join();
  });
}

TEST(HostileServers, ThatCloseEachConnectionAtOnce) {
  const auto done = ask_at({{{}}}, small_put(), 30s);
  ASSERT_FALSE(done.got);
  EXPECT_EQ(done.got.error().what, kind::unreachable);
  EXPECT_FALSE(done.got.error().is_in_doubt);
  EXPECT_TRUE(done.got.error().text.ends_with("before the operation was sent")) << done.got.error().text;
  EXPECT_LT(done.connections, 40u) << "with pauses";
  jobs::put elsewhere = small_put();
  elsewhere.tube = "mail";
  const auto at_use = ask_at({{{foliot_it_is}}}, elsewhere, 5s);
  ASSERT_FALSE(at_use.got);
  EXPECT_EQ(at_use.got.error().what, kind::unreachable);
  EXPECT_FALSE(at_use.got.error().is_in_doubt);
  const auto at_watch = ask_at({{{foliot_it_is}}}, reserve{{"mail"}, 0ms}, 5s);
  ASSERT_FALSE(at_watch.got);
  EXPECT_EQ(at_watch.got.error().what, kind::unreachable);
}

TEST(HostileServers, ThatUseAnotherTubeGetNoPut) {
  jobs::put what = small_put();
  what.tube = "mail";
  const auto done = ask_at({{{foliot_it_is, "USING default\r\n", "INSERTED 1\r\n"}}}, what);
  ASSERT_FALSE(done.got);
  EXPECT_EQ(done.got.error().what, kind::bad_answer);
  EXPECT_FALSE(done.got.error().is_in_doubt) << "the put was not sent";
  EXPECT_FALSE(done.heard.at(0).contains("put ")) << done.heard.at(0);
}

TEST(HostileServers, ThatWatchOtherTubesGetNoReserve) {
  for (const std::string wrong : {"WATCHING 3\r\nWATCHING 1\r\n", "WATCHING 2\r\nNOT_IGNORED\r\n",
                                  "WATCHING 2\r\nWATCHING 2\r\n", "FORBIDDEN\r\nNOT_IGNORED\r\n"}) {
    const auto done = ask_at({{{foliot_it_is, wrong}}}, reserve{{"mail"}, 0ms});
    ASSERT_FALSE(done.got) << wrong;
    EXPECT_EQ(done.got.error().what, wrong.starts_with("F") ? kind::forbidden : kind::bad_answer);
    EXPECT_FALSE(done.heard.at(0).contains("reserve")) << done.heard.at(0);
  }
}

TEST(HostileServers, ThatAreNotFoliotGetNoCommandThatTheyWouldTakeForSeveral) {
  jobs::put what = small_put("k");
  what.body = "delete 5";
  const auto done = ask_at({{{"UNKNOWN_COMMAND\r\n", "UNKNOWN_COMMAND\r\n"}}}, what);
  ASSERT_FALSE(done.got);
  EXPECT_EQ(done.got.error().what, kind::unknown_command);
  EXPECT_FALSE(done.got.error().is_in_doubt);
  EXPECT_FALSE(done.heard.at(0).contains("delete")) << done.heard.at(0);
  const auto cancelled = ask_at({{{"UNKNOWN_COMMAND\r\n", "CANCELLED 7\r\n"}}}, jobs::cancel{jobs::job_id{7}});
  ASSERT_FALSE(cancelled.got);
  EXPECT_EQ(cancelled.got.error().what, kind::unknown_command);
  const auto seen = ask_at({{{"UNKNOWN_COMMAND\r\n", "NOT_FOUND\r\nNOT_FOUND\r\n"}}}, jobs::peek{jobs::job_id{7}});
  ASSERT_TRUE(seen.got);
  EXPECT_TRUE(seen.heard.at(0).ends_with("\r\nstats-job 7\r\npeek 7\r\n")) << seen.heard.at(0);
  const auto plain = ask_at({{{"UNKNOWN_COMMAND\r\n", "INSERTED 3\r\n"}}}, small_put());
  EXPECT_EQ(plain.got.value().id, 3u);
}

/// Any bytes instead of the answers: the client ends, and what it takes for an answer is one.
TEST(HostileServers, ThatAnswerAtRandom) {
  const std::vector<std::string> pieces = {"INSERTED 1",   "KEPT 2",     "\r\n",       "\r",    "\n",     "OK 3",
                                           "RESERVED 1 2", "BAD_FORMAT", " ",          "-1",    "x",      "---",
                                           "FOUND 7 1",    "TIMED_OUT",  "USING mail", "99999", "BURIED", "WATCHING 1"};
  std::set<bool> seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    random_stream random(seed);
    std::string bytes;
    for (std::uint64_t n = random.below(5); n > 0; --n) bytes += pieces[random.below(pieces.size())];
    if (random.below(2) == 0) bytes += "\r\n";
    const auto done = ask_at({{{foliot_it_is, bytes}}}, small_put("k"), 3s);
    seen.insert(done.got.has_value());
    const bool is_an_answer = std::regex_match(bytes, std::regex("(INSERTED 1|KEPT 2)9*\r\n"));
    EXPECT_EQ(done.got.has_value(), is_an_answer) << seed << ": " << bytes;
    const bool is_refused = bytes.starts_with("BAD_FORMAT\r\n");
    EXPECT_TRUE(done.got || done.got.error().is_in_doubt || is_refused) << seed << ": " << bytes;
  }
  EXPECT_EQ(seen.size(), 2u);
}

}  // namespace
}  // namespace foliot::client

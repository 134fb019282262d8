// Beanstalk clients of a server that asks for access tokens: what comes before x-auth, what it gets, and what a client
// may do behind it.
#include "server/beanstalk/sign_in.hpp"

#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/stream_over.hpp"
#include "session_client.hpp"

namespace foliot::program::beanstalk {
namespace {

using words = std::vector<std::string>;

task<> serve_to_the_end(protocol& by, byte_stream& peer) {
  co_await by.serve(peer);
  co_await peer.close_write();
}

/// A server that asks for access tokens, and clients of it.
class SignIn : public testing::Test {
 protected:
  SignIn() { write(entry_of(token_, scope_set::all(), {""})); }

  [[nodiscard]] static std::string entry_of(const std::string& token, scope_set scopes, words prefixes) {
    access_entry entry;
    entry.given = std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scopes,
                                                 std::move(prefixes), instant::never(), sha256_of(token));
    return text_of(entry);
  }
  void write(std::string_view text) const {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), 0600);
  }
  /// What a server answers to bytes that a client sends at once, before it closes its side.
  std::string answers_to(std::string_view sent, const std::function<void(test::broker_world&)>& prepare = nullptr) {
    std::string answers;
    runtime::run_options options;
    options.processors = 1;
    runtime::run(
        [&]() -> task<> {
          test::broker_world on;
          if (prepare) prepare(on);
          server_state state(on.jobs, 65'535, 1000);
          watched_tokens tokens(path_, log_);
          protocol served(state, tokens, log_);
          auto ends = runtime::stream::pair().value();
          stream_over peer(std::move(ends.second));
          auto serving = runtime::spawn(serve_to_the_end(served, peer), "a client");
          static_cast<void>(co_await ends.first.write_all(sent));
          static_cast<void>(ends.first.close_write());
          answers = co_await read_until(ends.first, "");
          co_await serving.join();
        },
        options);
    return answers;
  }
  [[nodiscard]] std::string welcome() const {
    return "AUTHENTICATED " + std::string(access_token::parse(token_)->id()) + "\r\n";
  }
  /// The lines of the log about changes by operators, without their times.
  [[nodiscard]] words audited() const {
    words found;
    for (const std::string& each : lines_) {
      if (const std::size_t at = each.find(" audit "); at != std::string::npos) found.push_back(each.substr(at + 1));
    }
    return found;
  }
  [[nodiscard]] bool has_logged(std::string_view text) const {
    for (const std::string& each : lines_) {
      if (each.find(text) != std::string::npos) return true;
    }
    return false;
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string token_ = access_token::make();
  words lines_;
  const server_log log_{false, monotonic_clock::instance(),
                        [this](std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(SignIn, CommandsMayFollowInTheSameWrite) {
  EXPECT_EQ(answers_to("x-auth " + token_ + "\r\nput 0 0 60 2\r\nhi\r\nreserve\r\nquit\r\n"),
            welcome() + "INSERTED 1\r\nRESERVED 1 2\r\nhi\r\n");
  EXPECT_EQ(answers_to("x-auth " + token_ + "\r\n" + put_of(3000) + put_of(1)),
            welcome() + "INSERTED 1\r\nINSERTED 2\r\n");
  EXPECT_EQ(answers_to("x-auth " + token_ + "\r\nx-auth " + token_ + "\r\n"), welcome() + "UNKNOWN_COMMAND\r\n");
}

TEST_F(SignIn, NothingElseComesBefore) {
  for (const std::string_view sent :
       {"list-tubes\r\n", "put 0 0 60 2\r\nhi\r\n", "\r\n", "x", "x-auth\r\n", "X-AUTH foliot_\r\n", "quit\r\n"}) {
    EXPECT_EQ(answers_to(sent), "NOT_AUTHENTICATED\r\n") << sent;
  }
  EXPECT_EQ(answers_to(""), "");
  EXPECT_EQ(answers_to("x-auth " + std::string(10'000, 'a') + "\r\n"), "BAD_TOKEN\r\n");
  EXPECT_EQ(answers_to("x-auth " + token_), "NOT_AUTHENTICATED\r\n") << "the line has no end";
  EXPECT_TRUE(answers_to("POST / HTTP/1.1\r\n\r\nput 0 0 60 2\r\nhi\r\n").starts_with("HTTP/1.1 400 "));
}

TEST_F(SignIn, AMistypedTokenIsToldFromOneWithoutAccess) {
  std::string mistyped = token_;
  mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';
  EXPECT_EQ(answers_to("x-auth " + mistyped + "\r\nlist-tubes\r\n"), "BAD_TOKEN\r\n");
  EXPECT_EQ(answers_to("x-auth secret\r\nlist-tubes\r\n"), "BAD_TOKEN\r\n");
  const std::string other = access_token::make();
  EXPECT_EQ(answers_to("x-auth " + other + "\r\nlist-tubes\r\n"), "NOT_AUTHENTICATED\r\n");
  EXPECT_TRUE(has_logged("an access token from a local socket lets nobody in: it was revoked, or has ended"));
  for (const std::string& secret : {token_, mistyped, other, std::string("secret")}) EXPECT_FALSE(has_logged(secret));
}

TEST_F(SignIn, RightsAreLimitedToTubesAndScopes) {
  scope_set scopes;
  scopes.add(scope::put);
  scopes.add(scope::look);
  write(entry_of(token_, scopes, {"mail."}));
  const auto store_others = [](test::broker_world& on) {
    jobs::execute_one(on.memory, jobs::put{.tube = "bill", .body = "secret"});
    jobs::execute_one(on.memory, jobs::put{.tube = "mail.in", .body = "text"});
  };
  const auto answers = [&](const std::string& commands) {
    const std::string all = answers_to("x-auth " + token_ + "\r\n" + commands, store_others);
    EXPECT_TRUE(all.starts_with(welcome())) << all;
    return all.substr(std::min(welcome().size(), all.size()));
  };
  EXPECT_EQ(answers("put 0 0 60 2\r\nhi\r\n"), "FORBIDDEN\r\n") << "into the tube default";
  EXPECT_EQ(answers("use mail.out\r\nput 0 0 60 2\r\nhi\r\n"), "USING mail.out\r\nINSERTED 3\r\n");
  EXPECT_EQ(answers("use bill\r\nwatch mail.in\r\nreserve\r\nreserve-job 2\r\n"),
            "FORBIDDEN\r\nFORBIDDEN\r\nFORBIDDEN\r\nFORBIDDEN\r\n");
  EXPECT_EQ(answers("peek 1\r\npeek 2\r\npeek 99\r\n"), "NOT_FOUND\r\nFOUND 2 4\r\ntext\r\nNOT_FOUND\r\n");
  EXPECT_EQ(answers("delete 1\r\nkick-job 2\r\nx-cancel 1\r\npause-tube mail.in 1\r\nkick 1\r\n"),
            "FORBIDDEN\r\nFORBIDDEN\r\nFORBIDDEN\r\nFORBIDDEN\r\nFORBIDDEN\r\n");
  EXPECT_EQ(answers("stats-tube bill\r\nstats-tube nowhere\r\nstats-job 1\r\nx-stats-job 1\r\n"),
            "FORBIDDEN\r\nFORBIDDEN\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
  EXPECT_EQ(answers("use mail.out\r\nlist-tubes\r\n"), "USING mail.out\r\nOK 15\r\n---\n- mail.out\n\r\n");
  const std::string statistics = answers("stats\r\n");
  EXPECT_TRUE(statistics.starts_with("OK ")) << statistics;
  EXPECT_NE(statistics.find("\nmax-job-size: "), std::string::npos) << statistics;
  for (const char* const line : {"current-jobs-ready", "cmd-put", "total-jobs", "current-tubes", "current-connections",
                                 "rusage-utime", "foliot-store-batches", "foliot-refused-connections"}) {
    EXPECT_EQ(statistics.find(line), std::string::npos) << line << " is about all tubes, or all clients";
  }
}

TEST_F(SignIn, AnswersKeepTheirOrderAroundARefusedPut) {
  scope_set scopes;
  scopes.add(scope::put);
  write(entry_of(token_, scopes, {"mail"}));
  EXPECT_EQ(answers_to("x-auth " + token_ + "\r\nuse mail\r\n" + put_of(1) + put_of(2) + "use bill\r\n" + put_of(3) +
                       "list-tubes\r\n"),
            welcome() + "USING mail\r\nINSERTED 1\r\nINSERTED 2\r\nFORBIDDEN\r\nINSERTED 3\r\nFORBIDDEN\r\n");
}

TEST_F(SignIn, ChangesByOperatorsHaveALineEach) {
  const auto bury_many = [](test::broker_world& on) {
    for (int i = 0; i < 2500; ++i) {
      jobs::execute_one(on.memory, jobs::put{.tube = "old", .body = "secret"});
      const jobs::claim_answer got = jobs::execute_one(on.memory, jobs::claim{.tubes = {"old"}});
      jobs::execute_one(on.memory, jobs::bury{.token = got.jobs.front().token});
    }
  };
  const std::string id(access_token::parse(token_)->id());
  const std::string commands =
      "put 0 0 60 6\r\nsecret\r\nreserve\r\nrelease 2501 0 0\r\ndelete 2501\r\npeek-ready\r\nuse old\r\n"
      "kick 100000\r\nkick 5\r\npause-tube old 10\r\npause-tube nowhere 10\r\n";
  EXPECT_EQ(answers_to("x-auth " + token_ + "\r\n" + commands, bury_many),
            welcome() + "INSERTED 2501\r\nRESERVED 2501 6\r\nsecret\r\nRELEASED\r\nDELETED\r\nNOT_FOUND\r\n" +
                "USING old\r\nKICKED 2500\r\nKICKED 0\r\nPAUSED\r\nNOT_FOUND\r\n");
  EXPECT_EQ(audited(), (words{"audit " + id + ": cancel, job 2501\n", "audit " + id + ": kick, tube 'old'\n",
                              "audit " + id + ": pause, tube 'old'\n"}))
      << "one for the kick in several parts, and none for puts, reserves and looks";
  EXPECT_FALSE(has_logged("secret"));
  EXPECT_FALSE(has_logged(token_.substr(token_.size() - 49)));
  lines_.clear();

  scope_set some;
  some.add(scope::put);
  some.add(scope::change);
  write(entry_of(token_, some, {""}));
  EXPECT_EQ(answers_to("x-auth " + token_ + "\r\nput 0 0 60 1\r\nx\r\ndelete 1\r\npause-tube default 1\r\nkick 1\r\n"),
            welcome() + "INSERTED 1\r\nDELETED\r\nFORBIDDEN\r\nKICKED 0\r\n");
  EXPECT_EQ(audited(), words{}) << "a program that cancels its own jobs is no operator";
}

TEST_F(SignIn, TooManyFailuresGetNoAnswer) {
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        test::broker_world on;
        server_state state(on.jobs, 65'535, 1000);
        watched_tokens tokens(path_, log_);
        protocol served(state, tokens, log_);
        const std::string wrong = "x-auth " + access_token::make() + "\r\n";
        const std::string right = "x-auth " + token_ + "\r\n";
        for (std::size_t i = 0; i < failed_attempts::most_failures + 2; ++i) {
          auto ends = runtime::stream::pair().value();
          stream_over peer(std::move(ends.second));
          auto serving = runtime::spawn(serve_to_the_end(served, peer), "a client");
          const bool is_last = i == failed_attempts::most_failures + 1;
          static_cast<void>(co_await ends.first.write_all(is_last ? right : wrong));
          static_cast<void>(ends.first.close_write());
          const std::string answer = co_await read_until(ends.first, "");
          EXPECT_EQ(answer, is_last                              ? welcome()
                            : i < failed_attempts::most_failures ? "NOT_AUTHENTICATED\r\n"
                                                                 : "")
              << i;
          co_await serving.join();
        }
      },
      options);
}

TEST_F(SignIn, ARevokedClientIsClosedAlsoWhileItWaits) {
  const std::string other = access_token::make();
  write(entry_of(token_, scope_set::all(), {""}) + entry_of(other, scope_set::all(), {""}));
  runtime::run([&]() -> task<> {
    test::broker_world on;
    auto running = runtime::spawn(on.jobs.run(), "broker");
    {
      server_state state(on.jobs, 65'535, 1000);
      watched_tokens tokens(path_, log_);
      protocol served(state, tokens, log_);
      auto one = runtime::stream::pair().value();
      auto two = runtime::stream::pair().value();
      stream_over one_peer(std::move(one.second));
      stream_over two_peer(std::move(two.second));
      auto serving_one = runtime::spawn(serve_to_the_end(served, one_peer), "the first client");
      auto serving_two = runtime::spawn(serve_to_the_end(served, two_peer), "the second client");
      static_cast<void>(co_await one.first.write_all("x-auth " + token_ + "\r\nlist-tube-used\r\nreserve\r\n"));
      static_cast<void>(co_await two.first.write_all("x-auth " + other + "\r\nlist-tube-used\r\nreserve\r\n"));
      const std::string before_one = co_await read_until(one.first, "USING default\r\n");
      const std::string before_two = co_await read_until(two.first, "USING default\r\n");
      write(entry_of(other, scope_set::all(), {""}));
      tokens.read_again();
      co_await tokens.look();
      const std::string after_one = co_await read_until(one.first, "");
      EXPECT_EQ(after_one, "") << "its connection ends without a word";
      co_await serving_one.join();
      const jobs::put job{.tube = "default", .body = "x"};
      auto putting = on.jobs.execute(job);
      static_cast<void>(co_await putting);
      const std::string after_two = co_await read_until(two.first, "\r\nx\r\n");
      EXPECT_EQ(after_two, "RESERVED 1 1\r\nx\r\n") << "the other one still waits";
      two.first.close();
      co_await serving_two.join();
    }
    on.jobs.close();
    co_await running.join();
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk

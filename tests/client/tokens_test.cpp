// A client that shows an access token.
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/clock.hpp>

#include "client_kit.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/digest.hpp"
#include "server/access/token_file.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/core/server_log.hpp"

namespace foliot::client {
namespace {

using namespace std::chrono_literals;

/// Runs `body` with a server that asks for tokens, and has this one, for the tubes that begin with `mail`.
template <class Body>
void with_guarded_server(const std::string& token, Body body) {
  const foliot_test::temporary_folder folder;
  const std::string path = folder.path() + "/tokens";
  program::access_entry entry;
  entry.given = std::make_shared<const program::rights>(
      std::string(program::access_token::parse(token)->id()), "a test", program::scope_set::all(),
      std::vector<std::string>{"mail"}, instant::never(), program::sha256_of(token));
  std::ofstream(path) << text_of(entry);
  ::chmod(path.c_str(), 0600);
  const program::server_log log(true);
  with_server([&](server_world& in) -> task<> {
    program::watched_tokens tokens(path, log);
    program::beanstalk::protocol guarded(in.state, tokens, log);
    in.by = &guarded;
    co_await body(in);
    for (auto& each : in.sessions) co_await each.join();
    in.sessions.clear();
  });
}

jobs::put in_tube(std::string tube) {
  jobs::put made;
  made.tube = std::move(tube);
  made.body = "x";
  return made;
}

TEST(ClientTokens, LetItInAndBoundWhatItMayDo) {
  const std::string token = program::access_token::make();
  with_guarded_server(token, [&](server_world& in) -> task<> {
    client_options options = in.options();
    options.token = token;
    job_client jobs(options);
    auto putting = jobs.ask(in_tube("mail.out"));
    const auto put = co_await putting;
    EXPECT_TRUE(put) << put.error().text;
    auto putting_elsewhere = jobs.ask(in_tube("orders"));
    const auto elsewhere = co_await putting_elsewhere;
    EXPECT_EQ(elsewhere.error().what, client_error::kind::forbidden);
    EXPECT_FALSE(elsewhere.error().is_in_doubt);
    auto watching = jobs.ask(reserve{{"mail.out", "orders"}, 0ms});
    const auto watched = co_await watching;
    EXPECT_EQ(watched.error().what, client_error::kind::forbidden);
    auto reserving = jobs.ask(reserve{{"mail.out"}, 0ms});
    const auto got = co_await reserving;
    EXPECT_TRUE(got && got->job) << "the client goes on";
    EXPECT_EQ(in.count().all(), 1u);
  });
}

TEST(ClientTokens, AreWanted) {
  const std::string token = program::access_token::make();
  with_guarded_server(token, [&](server_world& in) -> task<> {
    const std::string other = program::access_token::make();
    for (const std::string& shown : {std::string(), other, std::string("nonsense")}) {
      client_options options = in.options();
      options.token = shown;
      job_client jobs(options);
      auto putting = jobs.ask(in_tube("mail"));
      const auto put = co_await putting;
      EXPECT_EQ(put.error().what, client_error::kind::not_signed_in) << put.error().text;
      EXPECT_FALSE(put.error().is_in_doubt);
      EXPECT_FALSE(!shown.empty() && put.error().text.contains(shown)) << "a secret is in no text";
    }
    client_options options = in.options();
    options.token = "a\r\nput 0 0 1 0";
    job_client jobs(options);
    auto putting = jobs.ask(in_tube("mail"));
    const auto put = co_await putting;
    EXPECT_EQ(put.error().what, client_error::kind::bad_request);
  });
}

TEST(ClientTokens, AreNotNeededEverywhere) {
  with_server([](server_world& in) -> task<> {
    client_options options = in.options();
    options.token = program::access_token::make();
    job_client jobs(options);
    auto putting = jobs.ask(in_tube("mail"));
    const auto put = co_await putting;
    EXPECT_TRUE(put) << put.error().text;
  });
}

}  // namespace
}  // namespace foliot::client

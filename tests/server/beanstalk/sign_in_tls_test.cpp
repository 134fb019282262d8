// Clients that show certificates to a server that asks for access tokens, under TLS.
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/tls/tls_context.hpp>
#include <foliot/tls/tls_stream.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/digest.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/access.hpp"
#include "server/core/stream_over.hpp"
#include "session_streams.hpp"
#include "support/virtual_time.hpp"
#include "tls/certificates.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

/// A server that asks for certificates, and takes clients without.
const tls::tls_context& asking() {
  static const tls::tls_context made = [] {
    tls::tls_options options = foliot::test::identified(foliot::test::issue({}, &foliot::test::authority()));
    options.roots = {tls::pem::text(foliot::test::authority().certificate)};
    options.from_clients = tls::client_certificates::optional;
    return tls::tls_context::server(options).value();
  }();
  return made;
}

/// A client with a certificate of its own.
tls::tls_context certified(const std::string& name) {
  tls::tls_options options =
      foliot::test::identified(foliot::test::issue({.common_name = name}, &foliot::test::authority()));
  options.roots = foliot::test::trusting().roots;
  return tls::tls_context::client(options).value();
}

task<std::unique_ptr<byte_stream>> accept_asking(runtime::stream accepted) {
  const tls::tls_context& context = asking();
  auto shaken = co_await tls::tls_stream::accept(std::move(accepted), context);
  EXPECT_TRUE(shaken.has_value());
  if (!shaken) co_return nullptr;
  co_return over(std::move(*shaken));
}

task<> serve(protocol& by, byte_stream& peer) {
  co_await by.serve(peer);
  co_await peer.close_write();
}

/// A connection, and the task that serves it.
struct served_client {
  std::unique_ptr<byte_stream> server;
  std::unique_ptr<byte_stream> client;
  runtime::join_handle<> serving;
};

task<served_client> come_in(protocol& by, const tls::tls_context& as) {
  auto both = runtime::stream::pair().value();
  auto accepting = runtime::spawn(accept_asking(std::move(both.first)), "accepts");
  auto connecting = tls::tls_stream::connect(std::move(both.second), as, "localhost");
  auto connected = co_await connecting;
  EXPECT_TRUE(connected.has_value());
  served_client made;
  made.server = co_await accepting.join();
  made.client = over(std::move(*connected));
  made.serving = runtime::spawn(serve(by, *made.server), "a client");
  co_return made;
}

class SignInByCertificate : public testing::Test {
 protected:
  SignInByCertificate() { write(entry_of(worker_, {"mail."}) + entry_of(other_, {""}) + entry_of_token()); }

  void write(std::string_view text) const {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), 0600);
  }
  [[nodiscard]] static std::string entry_of(const tls::tls_context& whose, std::vector<std::string> prefixes,
                                            instant ends = instant::never()) {
    access_entry entry;
    entry.what = access_entry::kind::certificate;
    const sha256_digest fingerprint = parse_digest(whose.own_certificate()->fingerprint).value();
    scope_set scopes;
    scopes.add(scope::put);
    scopes.add(scope::reserve);
    entry.given = std::make_shared<const rights>("c" + hexadecimal(fingerprint).substr(0, 20), "a test", scopes,
                                                 std::move(prefixes), ends, fingerprint);
    return text_of(entry);
  }
  [[nodiscard]] std::string entry_of_token() const {
    access_entry entry;
    entry.given =
        std::make_shared<const rights>(std::string(access_token::parse(token_)->id()), "a test", scope_set::all(),
                                       std::vector<std::string>{""}, instant::never(), sha256_of(token_));
    return text_of(entry);
  }
  [[nodiscard]] std::string welcome() const {
    return "AUTHENTICATED " + std::string(access_token::parse(token_)->id()) + "\r\n";
  }

  /// Runs `body` on virtual time with a server.
  template <class Body>
  void with_server(Body body) {
    virtual_clock clock;
    foliot::test::broker_world on(clock);
    const auto live = [&]() -> task<> {
      auto running = runtime::spawn(on.jobs.run(), "the broker");
      {
        server_state state(on.jobs, 65'535, 1000);
        state.door = door_;
        watched_tokens tokens(path_, log_);
        protocol served(state, tokens, log_);
        co_await body(served, tokens);
      }
      on.jobs.close();
      co_await running.join();
    };
    foliot::test::on_virtual_time(clock, live);
  }
  /// All that a client with this certificate gets for what it sends at once.
  task<std::string> answers(protocol& by, const tls::tls_context& as, std::string sent) {
    auto coming = come_in(by, as);
    served_client one = co_await coming;
    auto asking_it = ask(*one.client, std::move(sent) + "quit\r\n", "");
    std::string all = co_await asking_it;
    one.client->close();
    co_await one.serving.join();
    co_return all;
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string token_ = access_token::make();
  const tls::tls_context worker_ = certified("worker");
  const tls::tls_context other_ = certified("other");
  const tls::tls_context unknown_ = certified("unknown");
  const server_log log_{true};
  access* door_ = nullptr;
};

TEST_F(SignInByCertificate, AnEntryGivesItsRightsWithoutAToken) {
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    const std::string put = "use mail.in\r\nput 0 0 60 1\r\nx\r\n";
    const std::string work = co_await answers(by, worker_, put + "use bill\r\nlist-tubes\r\n");
    EXPECT_EQ(work, "USING mail.in\r\nINSERTED 1\r\nFORBIDDEN\r\nFORBIDDEN\r\n");
    const std::string other = co_await answers(by, other_, "use bill\r\nreserve-with-timeout 0\r\n");
    EXPECT_EQ(other, "USING bill\r\nTIMED_OUT\r\n");
    const std::string long_body(5000, 'y');
    const std::string large = co_await answers(by, other_, "put 0 0 60 5000\r\n" + long_body + "\r\nreserve\r\n");
    EXPECT_EQ(large, "INSERTED 2\r\nRESERVED 2 5000\r\n" + long_body + "\r\n");
    const std::string none = co_await answers(by, other_, "");
    EXPECT_EQ(none, "");
    const std::string page = co_await answers(by, other_, "POST / HTTP/1.1\r\n\r\nput 0 0 60 1\r\nx\r\n");
    EXPECT_TRUE(page.starts_with("HTTP/1.1 400 ")) << page;
  });
}

TEST_F(SignInByCertificate, WithoutAnEntryACertificateIsNothing) {
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    const std::string unknown = co_await answers(by, unknown_, "list-tube-used\r\n");
    EXPECT_EQ(unknown, "NOT_AUTHENTICATED\r\n");
    const std::string with_token = co_await answers(by, unknown_, "x-auth " + token_ + "\r\nlist-tube-used\r\n");
    EXPECT_EQ(with_token, welcome() + "USING default\r\n");
    const std::string none = co_await answers(by, foliot::test::client(), "list-tube-used\r\n");
    EXPECT_EQ(none, "NOT_AUTHENTICATED\r\n");
  });
  write(entry_of(worker_, {""}, instant::from_nanoseconds(1'000'000'000)));
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    const std::string ended = co_await answers(by, worker_, "list-tube-used\r\n");
    EXPECT_EQ(ended, "NOT_AUTHENTICATED\r\n");
  });
}

TEST_F(SignInByCertificate, AClientThatShowsATokenAllTheSameHasTheRightsOfTheToken) {
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    const std::string all = co_await answers(by, worker_, "x-auth " + token_ + "\r\nuse bill\r\n");
    EXPECT_EQ(all, welcome() + "USING bill\r\n");
    const std::string mistyped = co_await answers(by, worker_, "x-auth " + token_ + "x\r\nuse mail.in\r\n");
    EXPECT_EQ(mistyped, "BAD_TOKEN\r\n");
    const std::string revoked = co_await answers(by, worker_, "x-auth " + access_token::make() + "\r\nuse mail.in\r\n");
    EXPECT_EQ(revoked, "NOT_AUTHENTICATED\r\n");
  });
}

TEST_F(SignInByCertificate, OnlyAClientWithoutAnEntryHasToHurry) {
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    auto coming = come_in(by, worker_);
    served_client silent = co_await coming;
    auto coming_too = come_in(by, unknown_);
    served_client unknown = co_await coming_too;
    const bool written = co_await write_all(*unknown.client, "x-au");
    EXPECT_TRUE(written);
    co_await runtime::sleep(9s);
    EXPECT_FALSE(unknown.client->peer_has_ended());
    co_await runtime::sleep(2s);
    const std::string refused = co_await read_up_to(*unknown.client, "");
    EXPECT_EQ(refused, "NOT_AUTHENTICATED\r\n");
    unknown.client->close();
    co_await unknown.serving.join();
    const std::string late = co_await ask(*silent.client, "use mail.in\r\n", "\r\n");
    EXPECT_EQ(late, "USING mail.in\r\n");
    silent.client->close();
    co_await silent.serving.join();
  });
}

TEST_F(SignInByCertificate, HalfASignInHasTenSecondsToo) {
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    auto coming = come_in(by, worker_);
    served_client slow = co_await coming;
    co_await runtime::sleep(1h);
    const instant begun = runtime::now();
    for (const char* const piece : {"x-auth", " foliot_", "a"}) {  // in all, not for each piece
      const bool written = co_await write_all(*slow.client, piece);
      EXPECT_TRUE(written);
      co_await runtime::sleep(4s);
    }
    const std::string refused = co_await read_up_to(*slow.client, "");
    EXPECT_EQ(refused, "BAD_TOKEN\r\n");
    EXPECT_LE(runtime::now() - begun, duration(12s));
    slow.client->close();
    co_await slow.serving.join();
  });
}

TEST_F(SignInByCertificate, ItsConnectionsAreCountedWhileTheyAreSilent) {
  access door({1000, 0, 1});
  door_ = &door;
  with_server([this](protocol& by, watched_tokens&) -> task<> {
    auto coming = come_in(by, worker_);
    served_client silent = co_await coming;
    co_await runtime::sleep(1s);
    const std::string second = co_await answers(by, worker_, "use mail.in\r\n");
    EXPECT_EQ(second, "OUT_OF_MEMORY\r\n");
    const std::string as_token = co_await ask(*silent.client, "x-auth " + token_ + "\r\n", "\r\n");
    EXPECT_EQ(as_token, welcome());
    const std::string third = co_await answers(by, worker_, "use mail.in\r\n");
    EXPECT_EQ(third, "USING mail.in\r\n") << "the first one counts for its token now";
    silent.client->close();
    co_await silent.serving.join();
  });
}

TEST_F(SignInByCertificate, ARevokedEntryClosesItsConnectionsAndNoOthers) {
  with_server([this](protocol& by, watched_tokens& tokens) -> task<> {
    auto coming_silent = come_in(by, worker_);
    served_client silent = co_await coming_silent;
    auto coming_waiting = come_in(by, worker_);
    served_client waiting = co_await coming_waiting;
    auto coming_other = come_in(by, other_);
    served_client other = co_await coming_other;
    const std::string before = co_await ask(*waiting.client, "watch mail.in\r\n", "\r\n");
    EXPECT_EQ(before, "WATCHING 2\r\n");
    const bool written = co_await write_all(*waiting.client, "reserve\r\n");
    EXPECT_TRUE(written);
    co_await runtime::sleep(1s);
    const read_tokens left = parse_tokens("file", entry_of(other_, {""}));
    EXPECT_EQ(tokens.who().replace(left.entries), 2U);
    co_await silent.serving.join();
    co_await waiting.serving.join();
    const std::string after = co_await ask(*other.client, "use bill\r\n", "\r\n");
    EXPECT_EQ(after, "USING bill\r\n");
    for (served_client* each : {&silent, &waiting, &other}) each->client->close();
    co_await other.serving.join();
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk

// Clients that resume sessions: which handshake is resumed, and which is a full one.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "tls/kept_sessions.hpp"

#include "peers.hpp"
#include "raw_peer.hpp"

namespace foliot::tls {
namespace {

using test::authority;
using test::error_of;
using test::everywhere;
using test::identified;
using test::in_virtual_worlds;
using test::issue;
using test::local_pair;
using test::other_authority;
using test::shake;
using test::trusting;

tls_context client_that_keeps(std::size_t hosts) {
  tls_options options = trusting();
  options.resumed_hosts = hosts;
  return tls_context::client(options).value();
}

tls_context server_of(tls_version version) {
  tls_options options = identified(issue({}, &authority()));
  options.maximum = version;
  return tls_context::server(options).value();
}

/// How a connection ends.
enum class ending : bool { in_order, cut };

task<> send_and_end(const tls_stream& from, ending how) {
  const auto sent = co_await from.write_all(std::string_view("data"));
  EXPECT_EQ(error_of(sent), std::error_code());
  if (how == ending::cut) co_return;
  const std::error_code ended = co_await from.close_write();
  EXPECT_FALSE(ended) << ended.message();
}

/// Connects, and reads what the server sends, and with it the session that it offers. Returns whether an earlier
/// session was resumed, which both sides must know.
task<bool> connect_once(tls_context client, tls_context server, std::string host, ending how = ending::in_order) {
  auto made = co_await shake(local_pair(), client, server, host);
  EXPECT_EQ(error_of(made.client), std::error_code()) << error_of(made.client).message();
  EXPECT_EQ(error_of(made.server), std::error_code()) << error_of(made.server).message();
  if (!made.client || !made.server) co_return false;
  auto sending = runtime::spawn(send_and_end(*made.server, how), "sends");
  std::string text(how == ending::cut ? 4 : 5, ' ');
  const auto got = co_await made.client->read_all(std::span<char>(text));
  EXPECT_EQ(got.value_or(0), 4U);
  co_await sending.join();
  EXPECT_EQ(made.client->resumed(), made.server->resumed());
  EXPECT_TRUE(made.client->peer_certificate().has_value());
  co_return made.client->resumed();
}

TEST(Resumption, OfTheLastSessionWithTheHost) {
  for (const tls_version version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
    const tls_context server = server_of(version);
    everywhere([&]() -> task<> {
      const tls_context client = client_that_keeps(10);
      for (int i = 0; i < 4; ++i) {
        const bool resumed = co_await connect_once(client, server, "localhost");
        EXPECT_EQ(resumed, i > 0);
      }
      for (const std::string host : {"www.example.com", "127.0.0.1"}) {
        const bool first = co_await connect_once(client, server, host);
        EXPECT_FALSE(first) << host;
        const bool second = co_await connect_once(client, server, host);
        EXPECT_TRUE(second) << host;
      }
      const bool still = co_await connect_once(client, server, "localhost.");  // the same host
      EXPECT_TRUE(still);
    });
  }
}

TEST(Resumption, IsOffUnlessAskedFor) {
  in_virtual_worlds([&]() -> task<> {
    for (int i = 0; i < 2; ++i) {
      const bool resumed = co_await connect_once(client_that_keeps(0), server_of(tls_version::tls_1_3), "localhost");
      EXPECT_FALSE(resumed);
    }
    const tls_context none = client_that_keeps(0);
    for (int i = 0; i < 3; ++i) {
      const bool resumed = co_await connect_once(none, test::server(), "localhost");
      EXPECT_FALSE(resumed);
    }
    EXPECT_FALSE(tls_stream().resumed());
  });
}

TEST(Resumption, TheHostThatWasNotUsedForLongestMakesRoom) {
  in_virtual_worlds([&]() -> task<> {
    const tls_context client = client_that_keeps(2);
    const struct {
      std::string_view host;
      bool resumed;
    } steps[] = {{"a.example.com", false}, {"b.example.com", false}, {"a.example.com", true},
                 {"c.example.com", false}, {"a.example.com", true},  {"b.example.com", false}};
    for (const auto& step : steps) {
      const bool resumed = co_await connect_once(client, test::server(), std::string(step.host));
      EXPECT_EQ(resumed, step.resumed) << step.host;
    }
  });
}

TEST(Resumption, AlsoIfTheConnectionBeforeWasCut) {
  for (const tls_version version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
    const tls_context server = server_of(version);
    in_virtual_worlds([&]() -> task<> {
      const tls_context client = client_that_keeps(1);
      for (int i = 0; i < 3; ++i) {
        const bool resumed = co_await connect_once(client, server, "localhost", ending::cut);
        EXPECT_EQ(resumed, i > 0);
      }
    });
  }
}

TEST(Resumption, UsesEachSessionOfTls13Once) {
  in_virtual_worlds([&]() -> task<> {
    const tls_context client = client_that_keeps(1);
    const bool first = co_await connect_once(client, test::server(), "localhost");
    EXPECT_FALSE(first);
    auto second = co_await shake(local_pair(), client, test::server());
    auto third = co_await shake(local_pair(), client, test::server());  // the second has got no session so far
    EXPECT_EQ(error_of(second.client), std::error_code());
    EXPECT_EQ(error_of(second.server), std::error_code());
    EXPECT_TRUE(second.client->resumed());
    EXPECT_TRUE(third.client && !third.client->resumed());
  });
}

TEST(Resumption, IsAFullHandshakeWithAServerThatDoesNotKnowTheSession) {
  in_virtual_worlds([&]() -> task<> {
    const tls_context client = client_that_keeps(1);
    for (const tls_version version : {tls_version::tls_1_3, tls_version::tls_1_2, tls_version::tls_1_3}) {
      const bool resumed = co_await connect_once(client, server_of(version), "localhost");
      EXPECT_FALSE(resumed);
    }
    const tls_context stranger = tls_context::server(identified(issue({}, &other_authority()))).value();
    const auto refused = co_await shake(local_pair(), client, stranger);
    EXPECT_TRUE(is_certificate_error(error_of(refused.client))) << error_of(refused.client).message();
  });
}

// ---------------------------------------------------------------- servers that refuse a session

/// A server that knows the sessions of all such servers, asks for certificates and has no name for its sessions: it
/// answers a client that resumes with an alert.
void refuse_sessions(SSL* server) {
  static unsigned char keys[80] = {1, 2, 3};  // two names and keys of tickets, of which OpenSSL has this size
  EXPECT_EQ(SSL_CTX_set_tlsext_ticket_keys(SSL_get_SSL_CTX(server), keys, sizeof(keys)), 1);
  SSL_set_verify(server, SSL_VERIFY_PEER, nullptr);
}

task<> serve_until_a_failure(test::raw_peer& raw) {
  for (;;) {
    const int result = SSL_do_handshake(raw.ssl());
    if (result == 1) raw.encrypt("data");
    co_await raw.send();
    if (result == 1 || SSL_get_error(raw.ssl(), result) != SSL_ERROR_WANT_READ) break;
    const bool more = co_await raw.receive();
    if (!more) break;
  }
}

/// Connects to such a server, and reads. Returns why the handshake has failed.
task<std::error_code> connect_to_a_refusing_server(tls_context client, int newest) {
  auto [ours, theirs] = local_pair();
  test::raw_peer raw(std::move(theirs), test::raw_peer::side::server, newest);
  refuse_sessions(raw.ssl());
  auto serving = runtime::spawn(serve_until_a_failure(raw), "serves");
  auto made = co_await tls_stream::connect(std::move(ours), client, "localhost");
  co_await serving.join();
  if (!made) co_return made.error();
  std::string text(4, ' ');
  const auto got = co_await made->read_all(std::span<char>(text));
  EXPECT_EQ(got.value_or(0), 4U);
  co_return std::error_code();
}

TEST(Resumption, ThatIsRefusedFailsOnce) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    in_virtual_worlds([&]() -> task<> {
      const tls_context client = client_that_keeps(1);
      for (int i = 0; i < 6; ++i) {
        const std::error_code error = co_await connect_to_a_refusing_server(client, version);
        EXPECT_EQ(static_cast<bool>(error), i == 1) << i << ": " << error.message();
      }
    });
  }
}

// ---------------------------------------------------------------- the sessions that are kept

detail::kept_session session_of(int version, instant verified_at) {
  detail::kept_session made{detail::ssl_session_ptr(SSL_SESSION_new()), verified_at};
  EXPECT_EQ(SSL_SESSION_set_protocol_version(made.session.get(), version), 1);
  return made;
}

constexpr instant start = instant::from_nanoseconds(1'000'000'000);

TEST(KeptSessions, AreGivenOutForADay) {
  using namespace std::chrono_literals;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    detail::kept_sessions all(2);
    all.keep("a", session_of(version, start));
    all.keep("b", session_of(version, start));
    const auto in_time = all.take("a", start + duration(24h) - duration(1ns));
    EXPECT_NE(in_time.session, nullptr);
    EXPECT_EQ(in_time.verified_at, start);
    EXPECT_EQ(all.take("b", start + duration(24h)).session, nullptr);
    EXPECT_EQ(all.take("b", start).session, nullptr) << "it was dropped";
  }
}

TEST(KeptSessions, OfTls12StayAndThoseOfTls13DoNot) {
  detail::kept_sessions all(2);
  all.keep("a", session_of(TLS1_2_VERSION, start));
  all.keep("b", session_of(TLS1_3_VERSION, start));
  for (const bool again : {false, true}) {
    EXPECT_NE(all.take("a", start).session, nullptr);
    EXPECT_EQ(all.take("b", start).session == nullptr, again);
  }
}

TEST(KeptSessions, AreForgottenAfterAFailureAndNotKeptAfterARefusal) {
  detail::kept_sessions all(2);
  all.keep("a", session_of(TLS1_2_VERSION, start));
  all.forget("a");
  all.forget("nobody");
  EXPECT_EQ(all.take("a", start).session, nullptr);
  all.keep("a", session_of(TLS1_2_VERSION, start));
  EXPECT_NE(all.take("a", start).session, nullptr);
  all.refuse("a");
  all.keep("a", session_of(TLS1_2_VERSION, start));
  EXPECT_EQ(all.take("a", start).session, nullptr);
  all.keep("b", session_of(TLS1_2_VERSION, start));
  all.keep("c", session_of(TLS1_2_VERSION, start));  // a makes room, and is not known any more
  all.keep("a", session_of(TLS1_2_VERSION, start));
  EXPECT_NE(all.take("a", start).session, nullptr);
  EXPECT_EQ(all.take("b", start).session, nullptr);
}

TEST(KeptSessions, AreNoneForNoHosts) {
  detail::kept_sessions none(0);
  none.keep("a", session_of(TLS1_2_VERSION, start));
  none.refuse("a");
  EXPECT_FALSE(none.keeps_any());
  EXPECT_EQ(none.take("a", start).session, nullptr);
}

}  // namespace
}  // namespace foliot::tls

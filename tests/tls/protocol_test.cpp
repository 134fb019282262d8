// What TLS does besides data: new keys, and messages after the handshake that come in pieces. The peer is often OpenSSL
// alone (raw_peer.hpp).
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "peers.hpp"
#include "raw_pair.hpp"

namespace foliot::tls {
namespace {

using namespace std::chrono_literals;
using runtime::io_errc;
using runtime::sleep;
using runtime::spawn;
using test::error_of;
using test::everywhere;
using test::in_virtual_worlds;
using test::local_pair;
using test::raw_pair;
using test::raw_peer;
using test::read_into;
using test::tls_pair;
using test::write_text;

// ---------------------------------------------------------------- keys

task<> write_and_renew(const tls_stream& to, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::string text(static_cast<std::size_t>(1 + i * 997 % 20'000), static_cast<char>('a' + i % 26));
    const auto sent = co_await to.write_all(std::string_view(text));
    EXPECT_EQ(error_of(sent), std::error_code());
    const auto whose = i % 3 == 0 ? renewed_keys::both : renewed_keys::own;
    const std::error_code renewed = co_await to.update_keys(whose);
    EXPECT_FALSE(renewed) << renewed.message();
  }
  const std::error_code ended = co_await to.close_write();
  EXPECT_FALSE(ended);
}

task<> read_renewed(const tls_stream& from, int rounds) {
  std::string text;
  for (int i = 0; i < rounds; ++i) {
    text.resize(static_cast<std::size_t>(1 + i * 997 % 20'000));
    const auto got = co_await from.read_all(std::span<char>(text));
    EXPECT_EQ(got.value_or(0), text.size()) << error_of(got).message();
    EXPECT_EQ(text.find_first_not_of(static_cast<char>('a' + i % 26)), std::string::npos);
  }
  const auto end = co_await from.read_some(std::span<char>(text));
  EXPECT_EQ(end.value_or(1), 0U);
}

TEST(Keys, AreRenewedInBothDirectionsDuringTransfers) {
  everywhere([]() -> task<> {
    const auto both = co_await tls_pair();
    auto first = spawn(write_and_renew(both.first, 50), "writes");
    auto second = spawn(write_and_renew(both.second, 50), "writes back");
    auto third = spawn(read_renewed(both.first, 50), "reads");
    co_await read_renewed(both.second, 50);
    co_await first.join();
    co_await second.join();
    co_await third.join();
  });
}

TEST(Keys, OfTls12AreNotRenewed) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::server, TLS1_2_VERSION);
    const std::error_code renewed = co_await both->ours.update_keys(renewed_keys::own);
    EXPECT_EQ(renewed, std::errc::operation_not_supported);
    const auto sent = co_await both->ours.write_all(std::string_view("still usable"));
    EXPECT_TRUE(sent.has_value());
    const std::string text = co_await both->raw.read(12);
    EXPECT_EQ(text, "still usable");
  });
}

/// Counts the messages KeyUpdate that a raw peer receives.
void count_updates(int sent, int, int type, const void* message, std::size_t size, SSL*, void* count) noexcept {
  if (sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0 &&
      *static_cast<const unsigned char*>(message) == SSL3_MT_KEY_UPDATE) {
    ++*static_cast<int*>(count);
  }
}

TEST(Keys, AreRenewedWhenThePeerAsks) {
  in_virtual_worlds([]() -> task<> {
    int updates = 0;
    const auto both = co_await raw_pair(raw_peer::side::server);
    SSL* const ssl = both->raw.ssl();
    SSL_set_msg_callback(ssl, count_updates);
    SSL_set_msg_callback_arg(ssl, &updates);
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    EXPECT_EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    EXPECT_EQ(SSL_do_handshake(ssl), 1);
    both->raw.encrypt("new keys");
    co_await both->raw.send();
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 8U);
    const auto sent = co_await both->ours.write_all(std::string_view("also new keys"));
    EXPECT_TRUE(sent.has_value());
    const std::string answer = co_await both->raw.read(13);
    EXPECT_EQ(answer, "also new keys");
    EXPECT_EQ(updates, 1);
    const std::error_code renewed = co_await both->ours.update_keys(renewed_keys::both);
    EXPECT_FALSE(renewed);
    const auto again = co_await both->ours.write_all(std::string_view("and again"));
    EXPECT_TRUE(again.has_value());
    const std::string last = co_await both->raw.read(9);
    EXPECT_EQ(last, "and again");
    EXPECT_EQ(updates, 2);
  });
}

TEST(Keys, MayBeRenewedAnyNumberOfTimes) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::server);
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(SSL_key_update(both->raw.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
      EXPECT_EQ(SSL_do_handshake(both->raw.ssl()), 1);
      co_await both->raw.send();
    }
    both->raw.encrypt("the end");
    co_await both->raw.send();
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 7U);
  });
}

// ---------------------------------------------------------------- a message of TLS in pieces

/// A ticket of some 3000 bytes, in records of 512.
int large_ticket(SSL* ssl, void*) noexcept {
  const std::string data(3000, 't');
  return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data.data(), data.size());
}
SSL_TICKET_RETURN any_ticket(SSL*, SSL_SESSION*, const unsigned char*, std::size_t, SSL_TICKET_STATUS, void*) noexcept {
  return SSL_TICKET_RETURN_USE;
}
void send_no_tickets(SSL* ssl) { SSL_set_num_tickets(ssl, 0); }

/// Makes a ticket and sends its first record; returns the others.
task<std::string> send_a_part_of_a_ticket(raw_peer& raw) {
  SSL_CTX_set_session_ticket_cb(SSL_get_SSL_CTX(raw.ssl()), large_ticket, any_ticket, nullptr);
  EXPECT_EQ(SSL_set_max_send_fragment(raw.ssl(), 512), 1);
  EXPECT_EQ(SSL_new_session_ticket(raw.ssl()), 1);
  EXPECT_EQ(SSL_do_handshake(raw.ssl()), 1);
  const std::string all = raw.made();
  const auto byte = [&all](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(all[i])); };
  EXPECT_GT(all.size(), 2000U);
  const std::size_t first = 5 + byte(3) * 256 + byte(4);
  const auto sent = co_await raw.below().write_all(std::string_view(all).substr(0, first));
  EXPECT_TRUE(sent.has_value());
  co_return all.substr(first);
}

TEST(PartOfAMessage, LetsAWriteWaitForTheReader) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::server, TLS1_3_VERSION, send_no_tickets);
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    const std::string rest = co_await send_a_part_of_a_ticket(both->raw);
    co_await sleep(1s);
    auto writing = spawn(write_text(both->ours, "question"), "writes");
    co_await sleep(1s);
    EXPECT_FALSE(writing.done());
    const auto sent = co_await both->raw.below().write_all(std::string_view(rest));
    EXPECT_TRUE(sent.has_value());
    const std::string question = co_await both->raw.read(8);
    EXPECT_EQ(question, "question");
    const auto written = co_await writing.join();
    EXPECT_EQ(written.value_or(0), 8U);
    both->raw.encrypt("answer");
    co_await both->raw.send();
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 6U);
  });
}

/// What our side does after it has read a part of a message, and no task reads any more.
enum class act { writes, renews_keys, ends };

task<std::error_code> perform(const tls_stream& on, act what) {
  if (what == act::renews_keys) {
    const std::error_code renewed = co_await on.update_keys(renewed_keys::own);
    co_return renewed;
  }
  if (what == act::ends) {
    const std::error_code ended = co_await on.close_write();
    co_return ended;
  }
  const auto sent = co_await on.write_all(std::string_view("question"));
  co_return error_of(sent);
}

TEST(PartOfAMessage, LetsAWriteWaitWithoutAReader) {
  in_virtual_worlds([]() -> task<> {
    for (const act what : {act::writes, act::renews_keys, act::ends}) {
      const auto both = co_await raw_pair(raw_peer::side::server, TLS1_3_VERSION, send_no_tickets);
      const std::string rest = co_await send_a_part_of_a_ticket(both->raw);
      std::string text(10, ' ');
      both->ours.set_read_deadline(1s);
      const auto got = co_await both->ours.read_some(std::span<char>(text));
      EXPECT_EQ(error_of(got), io_errc::deadline_exceeded);
      const instant begin = runtime::now();
      both->ours.set_write_deadline(3s);
      const std::error_code early = co_await perform(both->ours, what);
      EXPECT_EQ(early, io_errc::deadline_exceeded);
      EXPECT_TRUE(runtime::now() == begin + 3s) << "it ends by the deadline for writing; that for reading has passed";
      both->ours.set_write_deadline(instant::never());
      auto performing = spawn(perform(both->ours, what), "waits for the rest");
      co_await sleep(1s);
      EXPECT_FALSE(performing.done());
      performing.request_stop();
      EXPECT_THROW(static_cast<void>(co_await performing.join()), runtime::cancelled);
      auto again = spawn(perform(both->ours, what), "waits for the rest");
      co_await sleep(1s);
      const auto sent = co_await both->raw.below().write_all(std::string_view(rest));
      EXPECT_TRUE(sent.has_value());
      const std::error_code error = co_await again.join();
      EXPECT_FALSE(error) << error.message();
      both->ours.set_read_deadline(instant::never());
      both->raw.encrypt("answer");
      co_await both->raw.send();
      const auto answer = co_await both->ours.read_some(std::span<char>(text));
      EXPECT_EQ(answer.value_or(0), 6U);
      if (what == act::ends) {
        const std::string nothing = co_await both->raw.read(1);
        EXPECT_EQ(nothing, "");
        EXPECT_EQ(SSL_get_shutdown(both->raw.ssl()), SSL_RECEIVED_SHUTDOWN);
      }
    }
  });
}

/// A reader and a writer that both wait for the rest of a message end each by a deadline of its own, also if it is
/// moved meanwhile, and whichever of them began to wait first.
TEST(PartOfAMessage, LetsAReaderAndAWriterEndByTheirDeadlines) {
  in_virtual_worlds([]() -> task<> {
    for (const act what : {act::writes, act::renews_keys, act::ends}) {
      for (const bool reads_first : {false, true}) {
        for (const bool write_ends_first : {false, true}) {
          const auto both = co_await raw_pair(raw_peer::side::server, TLS1_3_VERSION, send_no_tickets);
          const std::string rest = co_await send_a_part_of_a_ticket(both->raw);
          std::string text(10, ' ');
          const instant begin = runtime::now();
          both->ours.set_read_deadline(begin + 1s);
          const auto part = co_await both->ours.read_some(std::span<char>(text));
          EXPECT_EQ(error_of(part), io_errc::deadline_exceeded);
          both->ours.set_read_deadline(begin + (write_ends_first ? 7s : 4s));
          both->ours.set_write_deadline(begin + 9s);
          runtime::join_handle<or_error<std::size_t>> reading;
          if (reads_first) reading = spawn(read_into(both->ours, text), "reads");
          co_await sleep(1s);
          auto performing = spawn(perform(both->ours, what), "waits for the rest");
          co_await sleep(1s);
          if (!reads_first) reading = spawn(read_into(both->ours, text), "reads");
          if (write_ends_first) both->ours.set_write_deadline(begin + 5s);
          if (write_ends_first) {
            const std::error_code ended = co_await performing.join();
            EXPECT_EQ(ended, io_errc::deadline_exceeded);
            EXPECT_TRUE(runtime::now() == begin + 5s);
            EXPECT_FALSE(reading.done());
          }
          const auto got = co_await reading.join();
          EXPECT_EQ(error_of(got), io_errc::deadline_exceeded);
          EXPECT_TRUE(runtime::now() == begin + (write_ends_first ? 7s : 4s));
          if (!write_ends_first) {
            EXPECT_FALSE(performing.done());
            const auto sent = co_await both->raw.below().write_all(std::string_view(rest));
            EXPECT_TRUE(sent.has_value());
            const std::error_code error = co_await performing.join();
            EXPECT_FALSE(error) << error.message();
          }
        }
      }
    }
  });
}

// ---------------------------------------------------------------- session tickets

task<or_error<tls_stream>> accept_within_a_second(runtime::stream below) {
  auto made = co_await tls_stream::accept(std::move(below), test::server(), runtime::now() + 1s);
  co_return made;
}

TEST(Tickets, DoNotBlockTheServerOfAClientThatOnlyWrites) {
  in_virtual_worlds([]() -> task<> {
    auto [ours, theirs] = local_pair();
    const int socket = ::dup(ours.native_handle());
    raw_peer raw(std::move(theirs), raw_peer::side::client);
    auto accepting = spawn(accept_within_a_second(std::move(ours)), "accepts");
    EXPECT_EQ(SSL_do_handshake(raw.ssl()), -1);
    co_await raw.send();
    const bool answered = co_await raw.receive();
    EXPECT_TRUE(answered);
    EXPECT_EQ(SSL_do_handshake(raw.ssl()), 1);
    // The client has all that it needs. From now on there is no room for anything that the server sends.
    const std::string junk(10'000, 'x');
    while (::send(socket, junk.data(), junk.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    ::close(socket);
    raw.encrypt("the client only writes");
    co_await raw.send();
    auto made = co_await accepting.join();
    EXPECT_EQ(error_of(made), std::error_code());
    if (!made) co_return;
    std::string text(22, ' ');
    const auto got = co_await made->read_all(std::span<char>(text));
    EXPECT_EQ(got.value_or(0), 22U);
    EXPECT_EQ(text, "the client only writes");
  });
}

TEST(Tickets, GoWithTheFirstWrite) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::client);
    const auto sent = co_await both->ours.write_all(std::string_view("data"));
    EXPECT_TRUE(sent.has_value());
    const std::string text = co_await both->raw.read(4);
    EXPECT_EQ(text, "data");
    EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get_session(both->raw.ssl())), 1);
  });
}

/// The session that a client of that context gets, which is resumed if `from` is one.
task<SSL_SESSION*> session_of_a_client(tls_context context, int newest, SSL_SESSION* from) {
  auto [ours, theirs] = local_pair();
  raw_peer raw(std::move(theirs), raw_peer::side::client, newest);
  if (from != nullptr) {
    EXPECT_EQ(SSL_set_session(raw.ssl(), from), 1);
  }
  auto accepting = spawn(test::accept_on(std::move(ours), context));
  co_await raw.shake_hands();
  auto made = co_await accepting.join();
  EXPECT_EQ(error_of(made), std::error_code());
  if (!made) co_return nullptr;
  const auto sent = co_await made->write_all(std::string_view("data"));
  EXPECT_TRUE(sent.has_value());
  const std::string text = co_await raw.read(4);
  EXPECT_EQ(text, "data");
  EXPECT_EQ(SSL_session_reused(raw.ssl()), from != nullptr ? 1 : 0);
  const std::error_code ended = co_await made->close_write();  // a session whose end is not orderly is dropped
  EXPECT_FALSE(ended);
  const std::string nothing = co_await raw.read(1);
  EXPECT_EQ(nothing, "");
  SSL_shutdown(raw.ssl());
  co_return SSL_get1_session(raw.ssl());
}

TEST(Tickets, ResumeASessionAlsoIfTheServerVerifiesClients) {
  tls_options options = test::identified(test::issue({}, &test::authority()));
  options.roots = test::trusting().roots;
  for (const auto wanted : {client_certificates::ignored, client_certificates::optional}) {
    options.from_clients = wanted;
    const tls_context context = tls_context::server(options).value();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      in_virtual_worlds([&]() -> task<> {
        SSL_SESSION* const first = co_await session_of_a_client(context, version, nullptr);
        SSL_SESSION* const second = co_await session_of_a_client(context, version, first);
        SSL_SESSION_free(first);
        SSL_SESSION_free(second);
      });
    }
  }
}

}  // namespace
}  // namespace foliot::tls

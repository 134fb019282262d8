// What TLS does besides data: new keys, messages after the handshake that come in pieces, renegotiation, damage. The
// peer is often OpenSSL alone (raw_peer.hpp).
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
#include "raw_peer.hpp"

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
using test::raw_peer;
using test::tls_pair;

task<or_error<std::size_t>> read_into(const tls_stream& from, std::string& into) {
  const auto got = co_await from.read_some(std::span<char>(into));
  co_return got;
}

task<or_error<std::size_t>> write_text(const tls_stream& to, std::string_view text) {
  const auto sent = co_await to.write_all(text);
  co_return sent;
}

/// A connection between a tls_stream and OpenSSL alone.
struct against_raw {
  explicit against_raw(runtime::stream below, raw_peer::side which, int newest)
      : raw(std::move(below), which, newest) {}
  raw_peer raw;
  tls_stream ours;
};

task<or_error<tls_stream>> shake_ours(runtime::stream below, bool connects) {
  if (connects) {
    auto made = co_await tls_stream::connect(std::move(below), test::client(), "localhost");
    co_return made;
  }
  auto made = co_await tls_stream::accept(std::move(below), test::server());
  co_return made;
}

/// `prepare` may change the raw peer before the handshake.
task<std::unique_ptr<against_raw>> raw_pair(raw_peer::side which, int newest = TLS1_3_VERSION,
                                            void (*prepare)(SSL*) = nullptr) {
  auto [ours, theirs] = local_pair();
  auto made = std::make_unique<against_raw>(std::move(theirs), which, newest);
  if (prepare != nullptr) prepare(made->raw.ssl());
  auto shaking = spawn(shake_ours(std::move(ours), which == raw_peer::side::server), "shakes hands");
  co_await made->raw.shake_hands();
  auto shaken = co_await shaking.join();
  EXPECT_TRUE(shaken.has_value()) << shaken.error().message();
  if (shaken) made->ours = std::move(*shaken);
  co_return made;
}

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
      const std::error_code early = co_await perform(both->ours, what);
      EXPECT_EQ(early, io_errc::deadline_exceeded);  // the deadline for reading
      both->ours.set_read_deadline(instant::never());
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

// ---------------------------------------------------------------- answers that a read makes

constexpr std::size_t alert_record = 31;  // of TLS 1.2 with AES-GCM: header, nonce, two bytes, tag

/// A server of TLS 1.2 asks its client to shake hands again, which ours refuses each time.
void ask_to_renegotiate(raw_peer& raw, int times) {
  for (int i = 0; i < times; ++i) {
    EXPECT_EQ(SSL_renegotiate(raw.ssl()), 1);
    EXPECT_EQ(SSL_do_handshake(raw.ssl()), 1);
  }
}

void use_aes(SSL* ssl) { EXPECT_EQ(SSL_set_cipher_list(ssl, "ECDHE-ECDSA-AES128-GCM-SHA256"), 1); }

TEST(Renegotiation, IsRefusedByTheReader) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::server, TLS1_2_VERSION, use_aes);
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    ask_to_renegotiate(both->raw, 3);
    co_await both->raw.send();
    std::string alerts(3 * alert_record, ' ');
    const auto got = co_await both->raw.below().read_all(std::span<char>(alerts));  // although our side only reads
    EXPECT_EQ(got.value_or(0), alerts.size());
    EXPECT_FALSE(reading.done());
    both->ours.close();
    const auto closed = co_await reading.join();
    EXPECT_EQ(error_of(closed), io_errc::closed);
  });
}

TEST(Renegotiation, IsRefusedAlsoIfTheAnswersHaveToWait) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::server, TLS1_2_VERSION, use_aes);
    // A write fills the socket until its deadline; then the peer asks.
    const std::string block(2'000'000, 'x');
    both->ours.set_write_deadline(1s);
    const auto sent = co_await both->ours.write_all(std::string_view(block));
    EXPECT_EQ(error_of(sent), io_errc::deadline_exceeded);
    both->ours.set_write_deadline(instant::never());
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    ask_to_renegotiate(both->raw, 100);
    co_await both->raw.send();
    co_await sleep(1s);
    EXPECT_FALSE(reading.done());
    // The peer reads: a task of the stream's own sends the answers, while no other one writes.
    std::string all;
    std::string piece(50'000, ' ');
    both->raw.below().set_read_deadline(1s);
    for (;;) {
      const auto got = co_await both->raw.below().read_some(std::span<char>(piece));
      if (!got) break;
      all.append(piece, 0, *got);
    }
    EXPECT_GT(all.size(), 100 * alert_record);
    const std::string_view last = std::string_view(all).substr(all.size() - alert_record);
    EXPECT_EQ(last.substr(0, 5), std::string_view("\x15\x03\x03\x00\x1a", 5));  // an alert of 26 bytes
    const std::string_view first = std::string_view(all).substr(all.size() - 100 * alert_record, 5);
    EXPECT_EQ(first, last.substr(0, 5));
  });
}

TEST(Renegotiation, OfAPeerThatDoesNotReadEndsTheStream) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::server, TLS1_2_VERSION, use_aes);
    const std::string block(2'000'000, 'x');
    both->ours.set_write_deadline(1s);
    const auto sent = co_await both->ours.write_all(std::string_view(block));
    EXPECT_EQ(error_of(sent), io_errc::deadline_exceeded);
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    for (int i = 0; i < 10; ++i) {
      ask_to_renegotiate(both->raw, 100);
      co_await both->raw.send();
    }
    const auto got = co_await reading.join();
    EXPECT_EQ(error_of(got), tls_errc::too_many_answers);
    const auto late = co_await both->ours.write_some(std::string_view("x"));
    EXPECT_FALSE(late.has_value());
  });
}

TEST(Renegotiation, IsRefusedByAServer) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::client, TLS1_2_VERSION, use_aes);
    std::string text(10, ' ');
    auto reading = spawn(read_into(both->ours, text), "reads");
    EXPECT_EQ(SSL_renegotiate(both->raw.ssl()), 1);
    EXPECT_EQ(SSL_do_handshake(both->raw.ssl()), -1);
    co_await both->raw.send();
    std::string alert(alert_record, ' ');
    const auto got = co_await both->raw.below().read_all(std::span<char>(alert));
    EXPECT_EQ(got.value_or(0), alert_record);
    both->ours.close();
    const auto closed = co_await reading.join();
    EXPECT_EQ(error_of(closed), io_errc::closed);
  });
}

// ---------------------------------------------------------------- damage

TEST(Damage, IsAnErrorThatStays) {
  in_virtual_worlds([]() -> task<> {
    const auto both = co_await raw_pair(raw_peer::side::client);
    both->raw.encrypt("a bit of this changes on the way");
    std::string record = both->raw.made();
    record[20] = static_cast<char>(record[20] ^ 1);
    const auto sent = co_await both->raw.below().write_all(std::string_view(record));
    EXPECT_TRUE(sent.has_value());
    std::string text(100, ' ');
    for (int i = 0; i < 2; ++i) {
      const auto got = co_await both->ours.read_some(std::span<char>(text));
      EXPECT_EQ(error_of(got).message(), "decryption failed or bad record mac");
    }
    const auto written = co_await both->ours.write_some(std::string_view("x"));
    EXPECT_EQ(error_of(written).message(), "decryption failed or bad record mac");
    const std::error_code ended = co_await both->ours.close_write();
    EXPECT_EQ(ended.message(), "decryption failed or bad record mac");
    both->ours.close();
    const std::string nothing = co_await both->raw.read(1);  // the alert is not lost
    EXPECT_EQ(nothing, "");
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    EXPECT_STREQ(reason, "sslv3 alert bad record mac");
    ERR_clear_error();
  });
}

TEST(Damage, OfAnyByteIsAnError) {
  test::on_real_processors([]() -> task<> {
    for (std::size_t place = 0; place < 40; ++place) {
      const auto both = co_await raw_pair(raw_peer::side::client);
      both->raw.encrypt("eighteen bytes long");
      std::string record = both->raw.made();
      record[place] = static_cast<char>(record[place] ^ 0x40);
      const auto sent = co_await both->raw.below().write_all(std::string_view(record));
      EXPECT_TRUE(sent.has_value());
      EXPECT_FALSE(both->raw.below().close_write());
      std::string text(100, ' ');
      const auto got = co_await both->ours.read_some(std::span<char>(text));
      EXPECT_FALSE(got.has_value()) << place;
    }
  });
}

TEST(Damage, LeavesNoErrorForOtherStreams) {
  in_virtual_worlds([]() -> task<> {
    const auto sound = co_await tls_pair();
    const auto broken = co_await raw_pair(raw_peer::side::client);
    const auto junk = co_await broken->raw.below().write_all(std::string_view("this is no record of TLS"));
    EXPECT_TRUE(junk.has_value());
    std::string text(100, ' ');
    const auto got = co_await broken->ours.read_some(std::span<char>(text));
    EXPECT_EQ(error_of(got).message(), "wrong version number");
    // As if another library of this thread had left an error, and ours has none.
    EXPECT_EQ(ERR_peek_error(), 0U);
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    const auto sent = co_await sound.first.write_all(std::string_view("sound"));
    EXPECT_TRUE(sent.has_value());
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    const auto whole = co_await sound.second.read_some(std::span<char>(text));
    EXPECT_EQ(whole.value_or(0), 5U);
    ERR_clear_error();
  });
}

}  // namespace
}  // namespace foliot::tls

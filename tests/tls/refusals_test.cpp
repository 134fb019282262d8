// What a tls_stream refuses: renegotiation, whose answers a read has to send, and damaged records. The peer is OpenSSL
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
using test::in_virtual_worlds;
using test::raw_pair;
using test::raw_peer;
using test::read_into;
using test::tls_pair;

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

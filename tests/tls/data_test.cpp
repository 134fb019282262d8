// Data: every byte arrives once and in order, whatever the sizes of the pieces and of the buffers; ends and cuts.
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/net/buffered_reader.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/sleep.hpp>

#include "peers.hpp"

namespace foliot::tls {
namespace {

using namespace std::chrono_literals;
using runtime::io_errc;
using runtime::spawn;
using test::error_of;
using test::everywhere;
using test::in_virtual_worlds;
using test::tls_pair;

/// The byte at that place of a text that no test holds as a whole.
char byte_at(std::size_t place, std::uint64_t seed) {
  const std::uint64_t mixed = (place / 7 + 1) * 0x9E3779B97F4A7C15U + seed;
  return static_cast<char>(mixed >> 56);
}

void fill(std::span<char> piece, std::size_t place, std::uint64_t seed) {
  for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = byte_at(place + i, seed);
}

std::size_t random_size(random_stream& random, std::size_t most) {
  return 1 + static_cast<std::size_t>(random.below(most));
}

task<> write_pieces(const tls_stream& to, std::size_t size, std::uint64_t seed) {
  random_stream random{seed};
  std::string piece;
  for (std::size_t place = 0; place < size;) {
    piece.resize(std::min(size - place, random_size(random, random.below(2) == 0 ? 100 : 50'000)));
    fill(piece, place, seed);
    const bool all = random.below(2) == 0;
    or_error<std::size_t> sent;
    if (all) {
      sent = co_await to.write_all(std::string_view(piece));
    } else {
      sent = co_await to.write_some(std::string_view(piece));
    }
    EXPECT_TRUE(sent.has_value()) << sent.error().message();
    if (!sent) co_return;
    EXPECT_TRUE(all ? *sent == piece.size() : *sent > 0 && *sent <= piece.size());
    place += *sent;
  }
  const std::error_code ended = co_await to.close_write();
  EXPECT_FALSE(ended) << ended.message();
}

task<> read_pieces(const tls_stream& from, std::size_t size, std::uint64_t seed) {
  random_stream random{seed + 1};
  std::string piece;
  std::string expected;
  std::size_t place = 0;
  for (;;) {
    piece.resize(random_size(random, random.below(2) == 0 ? 100 : 50'000));
    const bool all = random.below(2) == 0;
    or_error<std::size_t> got;
    if (all) {
      got = co_await from.read_all(std::span<char>(piece));
    } else {
      got = co_await from.read_some(std::span<char>(piece));
    }
    EXPECT_TRUE(got.has_value()) << got.error().message();
    if (!got || *got == 0) break;
    expected.resize(*got);
    fill(expected, place, seed);
    EXPECT_TRUE(std::string_view(piece).substr(0, *got) == expected) << "at " << place;
    place += *got;
    if (all && *got < piece.size()) break;
  }
  EXPECT_EQ(place, size);
  const auto end = co_await from.read_some(std::span<char>(piece));
  EXPECT_EQ(end.value_or(1), 0U);
}

/// Both sides write at once, and read what the other one writes.
task<> exchange(const tls_stream& here, const tls_stream& there, std::size_t size, std::uint64_t seed) {
  auto first = spawn(write_pieces(here, size, seed), "writes");
  auto second = spawn(write_pieces(there, size / 2, seed + 100), "writes back");
  auto third = spawn(read_pieces(there, size, seed), "reads");
  co_await read_pieces(here, size / 2, seed + 100);
  co_await first.join();
  co_await second.join();
  co_await third.join();
}

/// Printed, and given as FOLIOT_TLS_SEED to repeat a failure.
std::uint64_t fresh_seed() {
  const char* const given = std::getenv("FOLIOT_TLS_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : random_stream::entropy();
  std::printf("FOLIOT_TLS_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

TEST(Data, GoesBothWaysInPiecesOfAnySize) {
  const std::uint64_t seed = fresh_seed();
  everywhere([seed]() -> task<> {
    const auto both = co_await tls_pair();
    co_await exchange(both.first, both.second, 300'000, seed);
  });
}

TEST(Data, GoesBothWaysInTls12) {
  const std::uint64_t seed = fresh_seed();
  tls_options old = test::trusting();
  old.maximum = tls_version::tls_1_2;
  const tls_context client = tls_context::client(old).value();
  test::on_real_processors([seed, client]() -> task<> {
    const auto both = co_await tls_pair(client);
    co_await exchange(both.first, both.second, 1'000'000, seed);
  });
}

/// Forwards bytes in pieces of any size, also the single bytes of a record.
task<> relay(const runtime::stream& from, const runtime::stream& to, std::uint64_t seed) {
  random_stream random{seed};
  std::string piece;
  for (;;) {
    piece.resize(random_size(random, random.below(2) == 0 ? 10 : 5000));
    const auto got = co_await from.read_some(std::span<char>(piece));
    if (!got || *got == 0) break;
    const auto sent = co_await to.write_all(std::string_view(piece).substr(0, *got));
    if (!sent) break;
  }
  static_cast<void>(to.close_write());
}

void shrink_buffers(const runtime::stream& of) {
  const int least = 1;  // the system makes it some thousand bytes
  EXPECT_EQ(::setsockopt(of.native_handle(), SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
}

/// Both ends of a TLS connection through a relay, with the smallest buffers that the system has.
task<> through_a_relay(std::uint64_t seed, std::size_t size) {
  auto near = test::local_pair();
  auto far = test::local_pair();
  for (const runtime::stream* each : {&near.first, &near.second, &far.first, &far.second}) shrink_buffers(*each);
  auto there = spawn(relay(near.second, far.first, seed), "relay");
  auto back = spawn(relay(far.first, near.second, seed + 1), "relay back");
  {
    std::pair ends(std::move(near.first), std::move(far.second));
    const auto made = co_await test::shake(std::move(ends), test::client(), test::server());
    EXPECT_TRUE(made.client.has_value());
    EXPECT_TRUE(made.server.has_value());
    if (made.client && made.server) co_await exchange(*made.client, *made.server, size, seed);
  }
  co_await there.join();
  co_await back.join();
}

TEST(Data, GoesThroughTinyBuffersInTornRecords) {
  const std::uint64_t seed = fresh_seed();
  everywhere([seed]() -> task<> { co_await through_a_relay(seed, 100'000); });
}

TEST(Data, IsNotNeededToBeRead) {
  // A server that only writes and a client that only writes: each fills the other's buffers, and neither reads.
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const std::string block(100'000, 'x');
    for (const tls_stream* each : {&here, &there}) {
      each->set_write_deadline(1s);
      or_error<std::size_t> sent;
      do {
        sent = co_await each->write_all(std::string_view(block));
      } while (sent);
      EXPECT_EQ(error_of(sent), io_errc::deadline_exceeded);
    }
  });
}

TEST(Data, OfAClientThatOnlyWritesArrives) {
  // The server's session tickets must not block its handshake, nor reset the connection of a client that never reads.
  everywhere([]() -> task<> {
    auto below = test::local_pair();
    shrink_buffers(below.first);
    shrink_buffers(below.second);
    auto made = co_await test::shake(std::move(below), test::client(), test::server());
    EXPECT_TRUE(made.client.has_value() && made.server.has_value());
    if (!made.client || !made.server) co_return;
    auto writing = spawn(write_pieces(*made.client, 50'000, 1), "writes");
    co_await read_pieces(*made.server, 50'000, 1);
    co_await writing.join();
    made.client->close();
    const std::error_code ended = co_await made.server->shutdown();
    EXPECT_EQ(ended, std::errc::broken_pipe);
  });
}

TEST(End, OfOneSideLeavesTheOtherDirection) {
  everywhere([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const auto sent = co_await here.write_all(std::string_view("question"));
    EXPECT_TRUE(sent.has_value());
    for (int i = 0; i < 2; ++i) {
      const std::error_code ended = co_await here.close_write();
      EXPECT_FALSE(ended);
    }
    const auto late = co_await here.write_some(std::string_view("more"));
    EXPECT_EQ(error_of(late), std::errc::broken_pipe);
    std::string text(100, ' ');
    const auto got = co_await there.read_all(std::span<char>(text));
    EXPECT_EQ(got.value_or(0), 8U);
    const auto answered = co_await there.write_all(std::string_view("answer"));
    EXPECT_TRUE(answered.has_value());
    const std::error_code ended = co_await there.close_write();
    EXPECT_FALSE(ended);
    const auto back = co_await here.read_all(std::span<char>(text));
    EXPECT_EQ(back.value_or(0), 6U);
  });
}

task<> shut_down(const tls_stream& which) {
  const std::error_code error = co_await which.shutdown();
  EXPECT_FALSE(error) << error.message();
  EXPECT_FALSE(which);
}

TEST(End, OfBothSidesIsOrderly) {
  everywhere([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const auto unread = co_await there.write_all(std::string_view("which the other side discards"));
    EXPECT_TRUE(unread.has_value());
    auto other = spawn(shut_down(there), "shuts down");
    co_await shut_down(here);
    co_await other.join();
    const std::error_code again = co_await here.shutdown();
    EXPECT_EQ(again, io_errc::closed);
  });
}

TEST(End, WithoutANoticeIsATruncation) {
  everywhere([]() -> task<> {
    for (const bool cuts : {false, true}) {
      auto [here, there] = co_await tls_pair();
      const auto sent = co_await there.write_all(std::string_view("1 of 2 records"));
      EXPECT_TRUE(sent.has_value());
      if (cuts) {
        there = tls_stream();  // destroys it
      } else {
        there.close();
      }
      std::string text(100, ' ');
      const auto got = co_await here.read_some(std::span<char>(text));
      EXPECT_EQ(got.value_or(0), 14U);
      for (int i = 0; i < 2; ++i) {
        const auto end = co_await here.read_some(std::span<char>(text));
        EXPECT_EQ(error_of(end), tls_errc::truncated);
      }
      const std::error_code error = co_await here.shutdown();
      EXPECT_TRUE(error);
    }
  });
}

TEST(End, InTheMiddleOfAReadIsATruncation) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const auto sent = co_await there.write_all(std::string_view("half"));
    EXPECT_TRUE(sent.has_value());
    there.close();
    std::string text(100, ' ');
    const auto got = co_await here.read_all(std::span<char>(text));
    EXPECT_EQ(error_of(got), tls_errc::truncated);
  });
}

TEST(End, OfAnEmptyStream) {
  in_virtual_worlds([]() -> task<> {
    tls_stream none;
    std::string text(10, ' ');
    const auto got = co_await none.read_some(std::span<char>(text));
    EXPECT_EQ(error_of(got), io_errc::closed);
    const auto sent = co_await none.write_all(std::string_view("x"));
    EXPECT_EQ(error_of(sent), io_errc::closed);
    const std::error_code ended = co_await none.close_write();
    EXPECT_EQ(ended, io_errc::closed);
    const std::error_code shut = co_await none.shutdown();
    EXPECT_EQ(shut, io_errc::closed);
    none.close();
    none.set_deadline(1s);
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.version().has_value());
    EXPECT_EQ(none.protocol() + none.cipher() + none.server_name(), "");
    EXPECT_FALSE(none.peer_certificate().has_value());
    EXPECT_EQ(error_of(none.local_address()), io_errc::closed);
    EXPECT_EQ(error_of(none.peer_address()), io_errc::closed);
  });
}

TEST(Data, IsReadInLines) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const auto sent = co_await here.write_all(std::string_view("one\r\ntwo\nrest"));
    EXPECT_TRUE(sent.has_value());
    const std::error_code ended = co_await here.close_write();
    EXPECT_FALSE(ended);
    runtime::buffered_reader in(there);
    for (const std::string_view expected : {"one", "two", "rest"}) {
      const auto line = co_await in.read_line(100);
      EXPECT_TRUE(line.has_value());
      if (!line) co_return;
      EXPECT_EQ(line->text, expected);
      EXPECT_EQ(line->complete, expected != "rest");
    }
  });
}

TEST(Data, OfNoBytes) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const auto sent = co_await here.write_some(std::string_view());
    EXPECT_EQ(sent.value_or(1), 0U);
    const auto sent_all = co_await here.write_all(std::string_view());
    EXPECT_EQ(sent_all.value_or(1), 0U);
    const auto got = co_await there.read_some(std::span<char>());
    EXPECT_EQ(got.value_or(1), 0U);
  });
}

TEST(Data, OfSeveralWritersStaysInOnePieceEach) {
  everywhere([]() -> task<> {
    const auto both = co_await tls_pair();
    const auto write = [](const tls_stream& to, char letter) -> task<> {
      const std::string text(40'000, letter);
      const auto sent = co_await to.write_all(std::string_view(text));
      EXPECT_EQ(sent.value_or(0), text.size());
    };
    auto first = spawn(write(both.first, 'a'), "writes a");
    auto second = spawn(write(both.first, 'b'), "writes b");
    std::string text(80'000, ' ');
    const auto got = co_await both.second.read_all(std::span<char>(text));
    EXPECT_EQ(got.value_or(0), text.size());
    EXPECT_TRUE(std::ranges::is_sorted(text) || std::ranges::is_sorted(text, std::greater()));
    co_await first.join();
    co_await second.join();
  });
}

}  // namespace
}  // namespace foliot::tls

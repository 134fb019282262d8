// Deadlines, cancellation and closing, in every wait: the stream stays usable, or is clearly closed.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "peers.hpp"

namespace foliot::tls {
namespace {

using namespace std::chrono_literals;
using runtime::io_errc;
using runtime::now;
using runtime::sleep;
using runtime::spawn;
using test::error_of;
using test::everywhere;
using test::in_virtual_worlds;
using test::local_pair;
using test::tls_pair;

/// Reads all that comes, and then the end.
task<std::string> read_to_the_end(const tls_stream& from) {
  std::string all;
  std::string piece(10'000, ' ');
  for (;;) {
    const auto got = co_await from.read_some(std::span<char>(piece));
    EXPECT_TRUE(got.has_value()) << got.error().message();
    if (!got || *got == 0) co_return all;
    all.append(piece, 0, *got);
  }
}

task<or_error<std::size_t>> read_into(const tls_stream& from, std::string& into) {
  const auto got = co_await from.read_some(std::span<char>(into));
  co_return got;
}

task<or_error<std::size_t>> write_block(const tls_stream& to, char letter, std::size_t size) {
  const std::string text(size, letter);
  const auto sent = co_await to.write_all(std::string_view(text));
  co_return sent;
}

task<> write_and_end(const tls_stream& to, std::string_view text) {
  const auto sent = co_await to.write_all(text);
  EXPECT_EQ(sent.value_or(0), text.size());
  const std::error_code ended = co_await to.close_write();
  EXPECT_FALSE(ended);
}

constexpr std::size_t more_than_fits = 2'000'000;

/// After a write of a's that did not end: a first part of it has arrived, and then what was written later.
task<> expect_usable(const tls_stream& from, const tls_stream& to) {
  to.set_write_deadline(instant::never());
  auto reading = spawn(read_to_the_end(to), "reads");
  auto writing = spawn(write_and_end(to, "what comes later"), "writes");
  auto other = spawn(write_and_end(from, "and back"), "writes back");
  const std::string all = co_await read_to_the_end(from);
  const auto later = all.find_first_not_of('a');
  EXPECT_GT(later, 0U);
  EXPECT_LT(later, more_than_fits);
  EXPECT_EQ(std::string_view(all).substr(std::min(later, all.size())), "what comes later");
  const std::string back = co_await reading.join();
  EXPECT_EQ(back, "and back");
  co_await writing.join();
  co_await other.join();
}

// ---------------------------------------------------------------- what a stream without TLS does as well

/// What any connection can be told, whatever reads and writes over it.
void expect_connection(runtime::connection& one) {
  EXPECT_TRUE(one);
  EXPECT_GE(one.native_handle(), 0);
  EXPECT_TRUE(one.local_address().has_value());
  EXPECT_TRUE(one.peer_address().has_value());
  one.set_deadline(1h);
  one.set_deadline(instant::never());
  EXPECT_FALSE(one.peer_has_ended());
  EXPECT_FALSE(one.close_read());
  one.close();
  EXPECT_FALSE(one);
  EXPECT_EQ(one.native_handle(), -1);
  EXPECT_EQ(one.close_read(), io_errc::closed);
  EXPECT_EQ(error_of(one.local_address()), io_errc::closed);
  EXPECT_TRUE(one.peer_has_ended());
}

task<> be_a_connection() {
  auto [plain, other_plain] = local_pair();
  expect_connection(plain);
  auto [one, other] = co_await tls_pair();
  EXPECT_FALSE(other.peer_has_ended());
  expect_connection(one);
  EXPECT_TRUE(other.peer_has_ended());
  tls_stream none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.close_read(), io_errc::closed);
}

TEST(TlsWaits, AStreamIsAConnectionWithAndWithoutTls) { in_virtual_worlds(be_a_connection); }

task<> end_reading() {
  auto [one, other] = co_await tls_pair();
  const auto sent = co_await other.write_all(std::string_view("before"));
  EXPECT_EQ(sent.value_or(0), 6U);
  std::string first(6, ' ');
  const auto got = co_await one.read_all(std::span<char>(first));
  EXPECT_EQ(got.value_or(0), 6U);
  std::string more(6, ' ');
  auto reading = spawn(read_into(one, more), "reads");
  co_await sleep(1ms);  // on virtual time: the reader waits
  EXPECT_FALSE(one.close_read());
  const auto ended = co_await reading.join();
  EXPECT_EQ(error_of(ended), tls_errc::truncated);
  auto back = spawn(write_block(one, 'x', 5), "writes");
  std::string answer(5, ' ');
  const auto answered = co_await other.read_all(std::span<char>(answer));
  EXPECT_EQ(answered.value_or(0), 5U);
  EXPECT_EQ(answer, "xxxxx");
  const auto written = co_await back.join();
  EXPECT_EQ(written.value_or(0), 5U);
}

TEST(TlsWaits, CloseReadEndsAReaderThatWaits) { in_virtual_worlds(end_reading); }

// ---------------------------------------------------------------- deadlines

TEST(Deadline, EndsAHandshake) {
  in_virtual_worlds([]() -> task<> {
    for (const bool connects : {false, true}) {
      auto [here, there] = local_pair();
      const instant begin = now();
      or_error<tls_stream> made;
      if (connects) {
        made = co_await tls_stream::connect(std::move(here), test::client(), "localhost", begin + 3s);
      } else {
        made = co_await tls_stream::accept(std::move(here), test::server(), begin + 3s);
      }
      EXPECT_EQ(error_of(made), io_errc::deadline_exceeded);
      EXPECT_TRUE(now() == begin + 3s);
      std::string hello(10'000, ' ');
      const auto got = co_await there.read_all(std::span<char>(hello));  // to the end: it is closed
      EXPECT_EQ(got.value_or(0) > 0, connects);
    }
  });
}

task<> accept_by(runtime::stream below, tls_stream& into, instant deadline) {
  auto made = co_await tls_stream::accept(std::move(below), test::server(), deadline);
  EXPECT_TRUE(made.has_value());
  if (made) into = std::move(*made);
}

TEST(Deadline, OfAHandshakeDoesNotStay) {
  in_virtual_worlds([]() -> task<> {
    auto below = local_pair();
    below.first.set_deadline(1ms);  // it is replaced
    tls_stream there;
    auto accepting = spawn(accept_by(std::move(below.second), there, now() + 1s), "accepts");
    auto here = co_await tls_stream::connect(std::move(below.first), test::client(), "localhost", now() + 1s);
    co_await accepting.join();
    EXPECT_TRUE(here.has_value());
    if (!here) co_return;
    std::string text(10, ' ');
    auto reading = spawn(read_into(there, text), "reads");
    co_await sleep(10s);
    const auto sent = co_await here->write_all(std::string_view("late"));
    EXPECT_TRUE(sent.has_value());
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 4U);
  });
}

TEST(Deadline, EndsAReadWhichMayBeRepeated) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    std::string text(10, ' ');
    const instant begin = now();
    here.set_read_deadline(begin + 5s);
    for (int i = 0; i < 2; ++i) {
      const auto got = co_await here.read_some(std::span<char>(text));
      EXPECT_EQ(error_of(got), io_errc::deadline_exceeded);
      EXPECT_TRUE(now() == begin + 5s);
    }
    const auto sent = co_await there.write_all(std::string_view("12345"));
    EXPECT_TRUE(sent.has_value());
    here.set_read_deadline(1s);
    const auto first = co_await here.read_some(std::span<char>(text).first(2));
    EXPECT_EQ(first.value_or(0), 2U);
    here.set_read_deadline(0s);
    const auto late = co_await here.read_some(std::span<char>(text));  // although the rest is decrypted
    EXPECT_EQ(error_of(late), io_errc::deadline_exceeded);
    here.set_read_deadline(instant::never());
    const auto rest = co_await here.read_some(std::span<char>(text));
    EXPECT_EQ(rest.value_or(0), 3U);
    EXPECT_EQ(text.substr(0, 3), "345");
  });
}

TEST(Deadline, EndsAWriteAfterWhichTheStreamIsUsable) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const instant begin = now();
    there.set_write_deadline(7s);
    const auto sent = co_await write_block(there, 'a', more_than_fits);
    EXPECT_EQ(error_of(sent), io_errc::deadline_exceeded);
    EXPECT_TRUE(now() == begin + 7s);
    const auto at_once = co_await there.write_some(std::string_view("b"));
    EXPECT_EQ(error_of(at_once), io_errc::deadline_exceeded);
    co_await expect_usable(here, there);
  });
}

TEST(Deadline, EndsTheEnd) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    there.set_deadline(2s);
    const std::error_code error = co_await there.shutdown();  // the other side goes on
    EXPECT_EQ(error, io_errc::deadline_exceeded);
    EXPECT_FALSE(there);
  });
}

// ---------------------------------------------------------------- cancellation

template <class Result>
task<> expect_cancelled(runtime::join_handle<Result>& of) {
  of.request_stop();
  bool was_cancelled = false;
  try {
    static_cast<void>(co_await of.join());
  } catch (const runtime::cancelled&) {
    was_cancelled = true;
  }
  EXPECT_TRUE(was_cancelled);
}

TEST(Cancellation, EndsAReadWhichMayBeRepeated) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    std::string text(10, ' ');
    auto reading = spawn(read_into(here, text), "reads");
    co_await sleep(1s);
    co_await expect_cancelled(reading);
    auto again = spawn(read_into(here, text), "reads again");
    const auto sent = co_await there.write_all(std::string_view("whole"));
    EXPECT_TRUE(sent.has_value());
    const auto got = co_await again.join();
    EXPECT_EQ(got.value_or(0), 5U);
    EXPECT_EQ(text.substr(0, 5), "whole");
  });
}

TEST(Cancellation, EndsAWriteAfterWhichTheStreamIsUsable) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    auto writing = spawn(write_block(there, 'a', more_than_fits), "writes");
    co_await sleep(1s);
    co_await expect_cancelled(writing);
    co_await expect_usable(here, there);
  });
}

TEST(Cancellation, EndsAWriteThatWaitsForAnotherOne) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    auto first = spawn(write_block(there, 'a', more_than_fits), "writes");
    co_await sleep(1s);
    auto second = spawn(write_block(there, 'b', 10), "waits");
    co_await sleep(1s);
    co_await expect_cancelled(second);
    co_await expect_cancelled(first);
    co_await expect_usable(here, there);
  });
}

task<or_error<tls_stream>> connect_on(runtime::stream below) {
  auto made = co_await tls_stream::connect(std::move(below), test::client(), "localhost");
  co_return made;
}

TEST(Cancellation, OfAHandshakeClosesTheConnection) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    auto connecting = spawn(connect_on(std::move(here)), "connects");
    co_await sleep(1s);
    co_await expect_cancelled(connecting);
    const auto made = co_await tls_stream::accept(std::move(there), test::server());
    EXPECT_EQ(error_of(made), std::errc::broken_pipe);  // it read the first message, and cannot write the second one
  });
}

TEST(Cancellation, AtEveryStepOfAHandshake) {
  // The task is asked to stop after that many steps of the schedule; either it had ended, or it is cancelled.
  for (int steps = 0; steps < 40; ++steps) {
    virtual_clock clock;
    runtime::run_options options;
    options.clock = &clock;
    runtime::run(
        [steps]() -> task<> {
          auto [here, there] = local_pair();
          auto connecting = spawn(connect_on(std::move(here)), "connects");
          auto accepting = spawn(test::accept_on(std::move(there), test::server()), "accepts");
          for (int i = 0; i < steps; ++i) co_await runtime::yield();
          connecting.request_stop();
          bool connected = false;
          try {
            const auto made = co_await connecting.join();
            connected = made.has_value();
            EXPECT_TRUE(connected);
          } catch (const runtime::cancelled&) {
          }
          const auto accepted = co_await accepting.join();
          EXPECT_TRUE(accepted.has_value() || !connected);
        },
        options);
  }
}

TEST(Cancellation, ByATimeout) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    std::string text(10, ' ');
    auto waits = read_into(here, text);
    const auto got = co_await runtime::with_timeout(std::move(waits), 3s);
    EXPECT_FALSE(got.has_value());
    const auto sent = co_await there.write_all(std::string_view("later"));
    EXPECT_TRUE(sent.has_value());
    const auto later = co_await here.read_some(std::span<char>(text));
    EXPECT_EQ(later.value_or(0), 5U);
  });
}

// ---------------------------------------------------------------- closing

TEST(Close, WakesReadersAndWriters) {
  everywhere([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    std::string text(10, ' ');
    auto reading = spawn(read_into(here, text), "reads");
    auto writing = spawn(write_block(here, 'a', more_than_fits), "writes");
    auto waiting = spawn(write_block(here, 'b', 1), "waits to write");
    for (int i = 0; i < 10; ++i) co_await runtime::yield();
    here.close();
    const auto got = co_await reading.join();
    EXPECT_EQ(error_of(got), io_errc::closed);
    const auto sent = co_await writing.join();
    EXPECT_EQ(error_of(sent), io_errc::closed);
    const auto waited = co_await waiting.join();
    EXPECT_TRUE(waited.has_value() || error_of(waited) == io_errc::closed);  // it may have been the first
    const auto late = co_await here.read_some(std::span<char>(text));
    EXPECT_EQ(error_of(late), io_errc::closed);
  });
}

TEST(Close, OfDecryptedDataDiscardsIt) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    const auto sent = co_await there.write_all(std::string_view("12345"));
    EXPECT_TRUE(sent.has_value());
    std::string text(2, ' ');
    const auto got = co_await here.read_some(std::span<char>(text));
    EXPECT_EQ(got.value_or(0), 2U);
    here.close();
    const auto late = co_await here.read_some(std::span<char>(text));
    EXPECT_EQ(error_of(late), io_errc::closed);
  });
}

TEST(Close, MayMoveAndDestroyTheStreamDuringAnOperation) {
  in_virtual_worlds([]() -> task<> {
    auto both = co_await tls_pair();
    std::string text(10, ' ');
    auto reading = spawn(read_into(both.first, text), "reads");
    co_await sleep(1s);
    tls_stream moved = std::move(both.first);
    const auto sent = co_await both.second.write_all(std::string_view("moved"));
    EXPECT_TRUE(sent.has_value());
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 5U);
    auto again = spawn(read_into(moved, text), "reads again");
    co_await sleep(1s);
    moved = tls_stream();
    const auto ended = co_await again.join();
    EXPECT_EQ(error_of(ended), io_errc::closed);
  });
}

TEST(Close, IsWhatTheEndOfTheRunDoes) {
  everywhere([]() -> task<> {
    const auto both = std::make_shared<std::pair<tls_stream, tls_stream>>();
    *both = co_await tls_pair();
    const auto text = std::make_shared<std::string>(10, ' ');
    spawn([both, text]() -> task<> { static_cast<void>(co_await read_into(both->first, *text)); });
    spawn([both]() -> task<> { static_cast<void>(co_await write_block(both->first, 'a', more_than_fits)); });
    spawn([both]() -> task<> { static_cast<void>(co_await write_block(both->first, 'b', 1)); });
    for (int i = 0; i < 10; ++i) co_await runtime::yield();
  });
}

TEST(Misuse, ASecondReaderIsRefused) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = co_await tls_pair();
    std::string text(10, ' ');
    auto reading = spawn(read_into(here, text), "reads");
    co_await sleep(1s);
    bool refused = false;
    std::string other(10, ' ');
    try {
      static_cast<void>(co_await here.read_some(std::span<char>(other)));
    } catch (const std::logic_error&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
    const auto sent = co_await there.write_all(std::string_view("first"));
    EXPECT_TRUE(sent.has_value());
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 5U);
  });
}

}  // namespace
}  // namespace foliot::tls

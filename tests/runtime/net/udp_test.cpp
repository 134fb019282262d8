// Datagrams between sockets of this machine.
#include <foliot/runtime/net/udp_socket.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/runtime/cancelled.hpp>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::in_virtual_worlds;

udp_socket bound(const address& at = address::loopback(0)) {
  auto made = udp_socket::bind(at);
  EXPECT_TRUE(made.has_value());
  return made ? std::move(*made) : udp_socket();
}

/// What a receive has got, or the error.
std::string shown(const or_error<received_datagram>& got, std::string_view buffer) {
  if (!got) return got.error().message();
  return std::string(buffer.substr(0, got->size)) + (got->is_truncated() ? "…" : "");
}

TEST(Udp, DatagramsComeWholeAndSayFromWhom) {
  for (const address& at : {address::loopback(0), address::loopback6(0)}) {
    everywhere([at]() -> task<> {
      const udp_socket here = bound(at);
      const udp_socket there = bound(at);
      std::array<char, 8> buffer{};
      for (const std::string_view text : {"one", "", "three"}) {
        const auto failed = co_await there.send_to(text, here.local_address().value());
        EXPECT_FALSE(failed) << failed.message();
        const auto got = co_await here.receive_from(buffer);
        EXPECT_EQ(shown(got, {buffer.data(), buffer.size()}), text);
        EXPECT_EQ(got->from, there.local_address().value());
        EXPECT_EQ(got->length, text.size());
      }
      const auto sent =
          co_await there.send_to(std::string_view("longer than the buffer"), here.local_address().value());
      EXPECT_FALSE(sent);
      const auto cut = co_await here.receive_from(buffer);
      EXPECT_EQ(shown(cut, {buffer.data(), buffer.size()}), "longer t…");
      EXPECT_EQ(cut->length, 22U);
    });
  }
}

TEST(Udp, AReceiveWaitsForTheSender) {
  everywhere([]() -> task<> {
    const udp_socket here = bound();
    const address to = here.local_address().value();
    auto sends = spawn([](address where) -> task<> {
      const udp_socket there = bound();
      for (int i = 0; i < 100; ++i) {
        const auto failed = co_await there.send_to(std::to_string(i), where);
        EXPECT_FALSE(failed);
      }
    }(to));
    std::array<char, 8> buffer{};
    for (int i = 0; i < 100; ++i) {
      const auto got = co_await here.receive_from(buffer);
      EXPECT_EQ(shown(got, {buffer.data(), buffer.size()}), std::to_string(i));
    }
    co_await sends.join();
  });
}

TEST(Udp, AConnectedSocketHearsOnlyItsPeer) {
  everywhere([]() -> task<> {
    const udp_socket peer = bound();
    const udp_socket other = bound();
    auto made = udp_socket::connected_to(peer.local_address().value());
    EXPECT_TRUE(made.has_value());
    const udp_socket here = std::move(*made);
    EXPECT_EQ(here.peer_address().value(), peer.local_address().value());
    EXPECT_EQ(peer.peer_address().error(), std::errc::not_connected);
    const address to = here.local_address().value();
    const auto first = co_await other.send_to(std::string_view("other"), to);
    const auto second = co_await peer.send_to(std::string_view("peer"), to);
    EXPECT_FALSE(first || second);
    std::array<char, 8> buffer{};
    const auto got = co_await here.receive_from(buffer);
    EXPECT_EQ(shown(got, {buffer.data(), buffer.size()}), "peer");
    const auto answered = co_await here.send(std::string_view("back"));
    EXPECT_FALSE(answered);
    const auto back = co_await peer.receive_from(buffer);
    EXPECT_EQ(shown(back, {buffer.data(), buffer.size()}), "back");
    const auto no_peer = co_await peer.send(std::string_view("x"));
    EXPECT_EQ(no_peer, std::errc::destination_address_required);
    const auto too_large = co_await here.send(std::string(70'000, 'x'));
    EXPECT_EQ(too_large, std::errc::message_size);
    EXPECT_FALSE(here.connect(other.local_address().value()));
    const auto moved = co_await here.send(std::string_view("moved"));
    EXPECT_FALSE(moved);
    const auto at_other = co_await other.receive_from(buffer);
    EXPECT_EQ(shown(at_other, {buffer.data(), buffer.size()}), "moved");
  });
}

TEST(Udp, WhereNobodyListensTheNextOperationSaysSo) {
  everywhere([]() -> task<> {
    // A socket keeps the port, and hears another peer only.
    const udp_socket other = bound();
    const udp_socket deaf = bound();
    EXPECT_FALSE(deaf.connect(other.local_address().value()));
    const address nobody = deaf.local_address().value();
    auto here = udp_socket::connected_to(nobody);
    EXPECT_TRUE(here.has_value());
    const auto sent = co_await here->send(std::string_view("x"));
    EXPECT_FALSE(sent);
    std::array<char, 8> buffer{};
    const auto got = co_await here->receive_from(buffer);
    EXPECT_EQ(got.error(), std::errc::connection_refused);
  });
}

TEST(Udp, DeadlinesStopsAndTheCloseEndAReceive) {
  in_virtual_worlds([]() -> task<> {
    udp_socket here = bound();
    std::array<char, 8> buffer{};
    const instant begin = now();
    here.set_read_deadline(3s);
    const auto late = co_await here.receive_from(buffer);
    EXPECT_EQ(late.error(), io_errc::deadline_exceeded);
    EXPECT_EQ(now() - begin, 3s);
    here.set_read_deadline(instant::never());
    auto waits = spawn([](const udp_socket& from, std::span<char> into) -> task<> {
      static_cast<void>(co_await from.receive_from(into));
    }(here, buffer));
    co_await yield();
    waits.request_stop();
    bool was_cancelled = false;
    try {
      co_await waits.join();
    } catch (const cancelled&) {
      was_cancelled = true;
    }
    EXPECT_TRUE(was_cancelled);
    auto ends = spawn([](const udp_socket& from, std::span<char> into) -> task<std::error_code> {
      const auto got = co_await from.receive_from(into);
      co_return got.error();
    }(here, buffer));
    co_await yield();
    here.close();
    const std::error_code why = co_await ends.join();
    EXPECT_EQ(why, io_errc::closed);
    EXPECT_EQ(here.local_address().error(), io_errc::closed);
    const auto after_it = co_await here.send_to(std::string_view("x"), address::loopback(1));
    EXPECT_EQ(after_it, io_errc::closed);
  });
}

/// Sends a datagram, and returns when it has arrived: virtual time does not wait for the system's network.
void deliver(const udp_socket& to) {
  const udp_socket from = bound();
  const address where = to.local_address().value();
  EXPECT_EQ(::sendto(from.native_handle(), "x", 1, 0, static_cast<const sockaddr*>(where.system().data()),
                     where.system().size()),
            1);
  pollfd arrives{.fd = to.native_handle(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&arrives, 1, -1), 1);
}

// Go: TestReadFromTimeout.
TEST(Udp, ReadFromTimeout) {
  in_virtual_worlds([]() -> task<> {
    const udp_socket here = bound();
    std::array<char, 8> buffer{};
    deliver(here);
    here.set_read_deadline(-5s);
    for (int i = 0; i < 2; ++i) {
      const auto late = co_await here.receive_from(buffer);
      EXPECT_EQ(late.error(), io_errc::deadline_exceeded);
    }
    const instant begin = now();
    here.set_read_deadline(50ms);
    const auto got = co_await here.receive_from(buffer);  // the datagram was kept
    EXPECT_EQ(shown(got, {buffer.data(), buffer.size()}), "x");
    const auto late = co_await here.receive_from(buffer);
    EXPECT_EQ(late.error(), io_errc::deadline_exceeded);
    EXPECT_EQ(now(), begin + 50ms);
  });
}

// Go: TestWriteToTimeout.
TEST(Udp, WriteToTimeout) {
  in_virtual_worlds([]() -> task<> {
    const udp_socket here = bound();
    const udp_socket there = bound();
    const address to = there.local_address().value();
    here.set_write_deadline(-5s);
    const auto past = co_await here.send_to(std::string_view("x"), to);
    EXPECT_EQ(past, io_errc::deadline_exceeded);
    here.set_write_deadline(10ms);
    const auto in_time = co_await here.send_to(std::string_view("x"), to);
    EXPECT_FALSE(in_time);
    co_await sleep(10ms);
    const auto late = co_await here.send_to(std::string_view("x"), to);
    EXPECT_EQ(late, io_errc::deadline_exceeded);
  });
}

// Go: TestReadFromTimeoutFluctuation. Only the last deadline ends the wait.
TEST(Udp, ReadFromTimeoutFluctuation) {
  in_virtual_worlds([]() -> task<> {
    const udp_socket here = bound();
    std::array<char, 8> buffer{};
    const instant begin = now();
    here.set_read_deadline(10ms);
    auto receiving = spawn(here.receive_from(buffer), "receives");
    for (int i = 0; i < 100; ++i) {
      co_await sleep(9ms);
      here.set_read_deadline(i % 2 == 0 ? 1h : 10ms);
    }
    EXPECT_FALSE(receiving.done());
    const auto got = co_await receiving.join();
    EXPECT_EQ(got.error(), io_errc::deadline_exceeded);
    EXPECT_EQ(now(), begin + 100 * 9ms + 10ms);
  });
}

TEST(Udp, RefusesWhatCannotBe) {
  EXPECT_THROW(static_cast<void>(udp_socket::bind(address::loopback(0))), std::logic_error);
  in_virtual_worlds([]() -> task<> {
    EXPECT_EQ(udp_socket::bind(test::fresh_name()).error(), std::errc::invalid_argument);
    const udp_socket taken = bound();
    EXPECT_EQ(udp_socket::bind(taken.local_address().value()).error(), std::errc::address_in_use);
    EXPECT_FALSE(udp_socket::bind(address()).has_value());
    co_return;
  });
}

}  // namespace
}  // namespace foliot::runtime

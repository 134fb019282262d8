// Connections with deadlines: SetReadDeadline, TCP4OneShotTimeout, TCP4PersistentTimeout and those of TCP6.
//
// Clients, two for each processor, send 512 bytes and get them back, over the loopback; both sides have deadlines of an
// hour.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>

#include "go_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::address;
using runtime::listener;
using runtime::spawn;
using runtime::stream;
using runtime::task;

using message = std::array<char, 512>;

template <class Value>
Value checked(runtime::or_error<Value> result) {
  if (!result) throw std::system_error(result.error());
  return std::move(*result);
}

/// Sends messages back until the other side has closed.
task<> echo(stream peer) {
  peer.set_deadline(duration(1h));
  message text{};
  for (;;) {
    const auto length = co_await peer.read_all(std::span(text));
    if (!length || *length < text.size()) break;
    const std::string_view all(text.data(), text.size());
    const auto sent = co_await peer.write_all(all);
    if (!sent) break;
  }
}

/// Until the listener is closed.
task<> accept_all(listener& gate) {
  for (;;) {
    auto peer = co_await gate.accept();
    if (!peer) break;
    static_cast<void>(spawn(echo(std::move(*peer)), "echo"));
  }
}

task<stream> connect(address to) {
  auto made = co_await stream::connect(to);
  stream peer = checked(std::move(made));
  peer.set_deadline(duration(1h));
  co_return peer;
}

task<> ping_pong(const stream& peer, message& text) {
  const std::string_view all(text.data(), text.size());
  checked(co_await peer.write_all(all));
  const std::size_t length = checked(co_await peer.read_all(std::span(text)));
  if (length < text.size()) throw std::system_error(std::make_error_code(std::errc::connection_reset));
}

task<> one_shot(address to, std::uint64_t operations) {
  message text{};
  for (std::uint64_t i = 0; i < operations; ++i) {
    const stream peer = co_await connect(to);
    co_await ping_pong(peer, text);
  }
}

task<> persistent(address to, std::uint64_t operations) {
  const stream peer = co_await connect(to);
  message text{};
  for (std::uint64_t i = 0; i < operations; ++i) co_await ping_pong(peer, text);
}

using client = task<> (*)(address to, std::uint64_t operations);

task<duration> in_clients(client each, address at, stretch asked) {
  listener gate = checked(listener::listen(at));
  const address to = checked(gate.local_address());
  auto accepting = spawn(accept_all(gate), "accept");
  const std::uint64_t count = 2 * asked.processors;
  std::vector<runtime::join_handle<>> clients;
  const instant begin = monotonic_clock::instance().now();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t operations = asked.operations / count + (i < asked.operations % count ? 1 : 0);
    clients.push_back(spawn(each(to, operations), "client"));
  }
  for (auto& one : clients) co_await one.join();
  const duration took = monotonic_clock::instance().now() - begin;
  gate.close();
  co_await accepting.join();
  co_return took;
}

go_benchmark with_clients(client each, address at) {
  return alone([each, at](const stretch& asked) { return in_clients(each, at, asked); });
}

task<duration> postpone_deadlines(stretch asked) {
  listener gate = checked(listener::listen(address::loopback(0)));
  const address to = checked(gate.local_address());
  auto made = co_await stream::connect(to);
  const stream peer = checked(std::move(made));
  auto other = co_await gate.accept();
  peer.set_write_deadline(duration(2h));
  instant deadline = runtime::now() + duration(1h);
  const instant begin = monotonic_clock::instance().now();
  for (std::uint64_t i = 0; i < asked.operations; ++i) {
    peer.set_read_deadline(deadline);
    deadline = deadline + duration(1ns);
  }
  co_return monotonic_clock::instance().now() - begin;
}

}  // namespace

void add_socket_benchmarks(go_benchmarks& to) {
  to["SetReadDeadline"] = alone(postpone_deadlines);
  to["TCP4OneShotTimeout"] = with_clients(one_shot, address::loopback(0));
  to["TCP4PersistentTimeout"] = with_clients(persistent, address::loopback(0));
  to["TCP6OneShotTimeout"] = with_clients(one_shot, address::loopback6(0));
  to["TCP6PersistentTimeout"] = with_clients(persistent, address::loopback6(0));
}

}  // namespace foliot::program::bench

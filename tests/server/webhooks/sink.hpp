// A receiver of webhooks on the loopback interface, which does what a test says: it may be slow, rude, or silent.
#pragma once

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/net/buffered_reader.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::program::webhooks::test {

/// A request that has come.
struct received {
  std::string head;  ///< with the request line, each line ending in CRLF
  std::string body;
  std::size_t connection = 0;  ///< from 1

  /// The value of a header; "" without it.
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto begin = head.find("\r\n" + name + ": ");
    if (begin == std::string::npos) return {};
    const auto from = begin + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
};

/// What the sink does with a request.
struct reaction {
  enum class then : std::uint8_t {
    goes_on,  ///< waits for the next request of the connection
    closes,
    resets,
    hangs,     ///< keeps the connection open, and neither reads nor writes
    repeats,   ///< writes `more` again and again
    trickles,  ///< the same, with a pause before each
  };
  std::string text{};
  then next = then::goes_on;
  std::string more{};
};

inline const std::string ok = "HTTP/1.1 204 No Content\r\n\r\n";

/// What the tasks of a sink share. They may outlive the sink until the runtime ends.
struct sink_state {
  std::function<reaction(const received&)> react;
  std::optional<reaction> at_once{};  ///< before a request is read
  std::vector<received> requests{};
  std::size_t connections = 0;
  std::size_t closed_by_peer = 0;
  runtime::channel<bool> events{1000};  ///< one for each connection, and one for each request
};
using sink_ptr = std::shared_ptr<sink_state>;

inline runtime::task<> hang() { co_await runtime::select(); }

inline std::size_t length_in(const received& of) {
  std::size_t length = 0;
  const std::string text = of.header("Content-Length");
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

/// Returns whether the connection goes on.
template <class Stream>
runtime::task<bool> do_as_told(Stream& peer, const reaction what) {
  const auto sent = co_await peer.write_all(what.text);
  if (!sent) co_return false;
  switch (what.next) {
    case reaction::then::goes_on: co_return true;
    case reaction::then::closes: co_return false;
    case reaction::then::resets: peer.reset(); co_return false;
    case reaction::then::hangs: co_await hang(); break;
    case reaction::then::repeats:
    case reaction::then::trickles: break;
  }
  for (;;) {
    if (what.next == reaction::then::trickles) co_await runtime::sleep(std::chrono::milliseconds(5));
    const auto more = co_await peer.write_all(what.more);
    if (!more) co_return false;
  }
}

template <class Stream>
runtime::task<> serve_connection(Stream peer, sink_ptr state, std::size_t number) {
  if (state->at_once) {
    const reaction first = *state->at_once;
    const bool goes_on = co_await do_as_told(peer, first);
    if (!goes_on) co_return;
  }
  runtime::buffered_reader in(peer);
  for (;;) {
    received request{.head = {}, .body = {}, .connection = number};
    const auto head = co_await in.read_until("\r\n\r\n", 100'000);
    if (!head || !head->complete) break;
    request.head = std::string(head->text) + "\r\n";
    const std::size_t length = length_in(request);
    if (length > 0) {
      const auto body = co_await in.read_exactly(length);
      if (!body || !body->complete) break;
      request.body = body->text;
    }
    state->requests.push_back(request);
    static_cast<void>(state->events.try_send(true));
    const reaction next = state->react(request);
    const bool goes_on = co_await do_as_told(peer, next);
    if (!goes_on) co_return;
  }
  ++state->closed_by_peer;
  static_cast<void>(state->events.try_send(true));
}

inline runtime::task<> serve_sink(runtime::listener gate, sink_ptr state) {
  for (;;) {
    auto peer = co_await gate.accept();
    if (!peer) co_return;
    const std::size_t number = ++state->connections;
    static_cast<void>(state->events.try_send(true));
    spawn(serve_connection<runtime::stream>(std::move(*peer), state, number), "sink");
  }
}

/// Listens until the runtime ends. One processor runs all tasks of a test, so they share the state without a lock.
class sink {
 public:
  explicit sink(
      std::function<reaction(const received&)> react = [](const received&) { return reaction{ok}; },
      std::optional<reaction> at_once = std::nullopt)
      : state_(std::make_shared<sink_state>()) {
    state_->react = std::move(react);
    state_->at_once = std::move(at_once);
    auto gate = runtime::listener::listen(runtime::address::loopback(0));
    if (!gate) throw std::system_error(gate.error());
    port_ = gate->local_address()->port();
    serving_ = spawn(serve_sink(std::move(*gate), state_), "sink");
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url(const std::string& path = "/in") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  [[nodiscard]] const std::vector<received>& requests() const noexcept { return state_->requests; }
  [[nodiscard]] std::size_t connections() const noexcept { return state_->connections; }
  [[nodiscard]] std::size_t closed_by_peer() const noexcept { return state_->closed_by_peer; }
  void react(std::function<reaction(const received&)> react) { state_->react = std::move(react); }
  /// Waits for the next connection, request, or end of a connection by the peer.
  runtime::task<> event() { co_await state_->events.receive(); }
  /// No connection is accepted any more.
  void stop() { serving_.request_stop(); }

 private:
  sink_ptr state_;
  std::uint16_t port_ = 0;
  runtime::join_handle<void> serving_;
};

}  // namespace foliot::program::webhooks::test

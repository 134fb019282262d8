// A client of a simulated world: it connects, sends commands, often several at once, reads the answers, and goes away.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/sleep.hpp>

#include "requests.hpp"
#include "world.hpp"

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;

/// One connection of a client. The world must outlive it.
class visit {
 public:
  visit(world& in, runtime::stream&& peer) : in_(in), peer_(std::move(peer)), asks_(in, ++in.connections) {}
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  ~visit() {
    if (!has_left_) leave();
  }

  task<> stay() {
    const std::size_t rounds = 1 + in_.below(25);
    std::string commands = asks_.greeting();
    for (std::size_t i = 0; i < rounds && !has_left_; ++i) {
      if (i > 0) {
        co_await runtime::sleep(asks_.pause());
        const std::size_t count = in_.one_in(3) ? 1 + in_.below(8) : 1;
        commands.clear();
        for (std::size_t each = 0; each < count; ++each) commands += asks_.next();
      }
      co_await send(std::move(commands));
      co_await read_answers();
      commands = std::string();
    }
    if (!has_left_ && in_.one_in(4)) {
      // Commands whose answers nobody reads.
      commands = asks_.next();
      co_await send(std::move(commands));
    }
    if (!has_left_) leave();
  }

 private:
  /// Writes the commands, sometimes in two pieces.
  task<> send(std::string commands) {
    std::string_view left = commands;
    if (in_.one_in(12)) {
      const std::size_t first = 1 + in_.below(left.size());
      const auto sent = co_await peer_.write_all(left.substr(0, first));
      static_cast<void>(sent);
      left.remove_prefix(first);
      asks_.is_slow();
      co_await runtime::sleep(asks_.pause());
      if (in_.one_in(4)) leave();  // in the middle of a command
    }
    if (has_left_ || left.empty()) co_return;
    const auto sent = co_await peer_.write_all(left);
    if (!sent && !in_.is_over) asks_.misses();
  }

  task<> read_answers() {
    if (in_.one_in(15)) {
      asks_.is_slow();
      co_await runtime::sleep(asks_.pause());
    }
    while (!has_left_ && asks_.front() != nullptr) {
      std::optional<reply> got = reply::of(received_);
      if (got) {
        asks_.answered(std::move(*got));
        continue;
      }
      co_await read_more();
    }
  }

  task<> read_more() {
    const bool waits = asks_.front()->what == verb::reserve;
    const bool is_bored = waits && in_.one_in(2);
    const duration patience =
        waits ? duration(jobs::milliseconds(1 + in_.below(300))) : duration(in_.has_stalls ? 2s : 20ms);
    if (is_bored || !waits) {
      peer_.set_read_deadline(patience);
    } else {
      peer_.set_read_deadline(instant::never());
    }
    std::array<char, 4096> piece{};
    const auto got = co_await peer_.read_some(std::span<char>(piece));
    if (got && *got > 0 && !in_.has_crashed) {
      received_.append(piece.data(), *got);
      co_return;
    }
    // The server must not end a connection, nor forget an answer.
    if (!is_bored && !in_.is_over) asks_.misses();
    leave();
  }

  void leave() {
    has_left_ = true;
    in_.end_connection(asks_.connection());
    peer_.close();
  }

  world& in_;
  runtime::stream peer_;
  requests asks_;
  std::string received_;
  bool has_left_ = false;
};

}  // namespace

task<> client_life(world& in) {
  while (!in.is_over) {
    co_await runtime::sleep(duration(jobs::milliseconds(in.below(10))));
    auto peer = co_await runtime::stream::connect(in.address);
    if (!peer) co_return;
    visit one(in, std::move(*peer));
    co_await one.stay();
  }
}

}  // namespace foliot::program::worlds

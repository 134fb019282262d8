// A client of a simulated world: it connects, sends commands, often several at once, reads the answers, and goes away.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/sleep.hpp>

#include "beanstalk_requests.hpp"
#include "http_requests.hpp"
#include "world.hpp"

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;

/// One connection of a client. The world must outlive it.
class visit {
 public:
  visit(world& in, runtime::stream&& peer, std::unique_ptr<requests> asks)
      : in_(in), peer_(std::move(peer)), asks_(std::move(asks)) {}
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  ~visit() {
    if (!has_left_) leave();
  }

  task<> stay() {
    const std::size_t rounds = 1 + in_.below(25);
    std::string commands = asks_->greeting();
    for (std::size_t i = 0; i < rounds && !has_left_; ++i) {
      if (i > 0) {
        co_await runtime::sleep(asks_->pause());
        const std::size_t count = in_.one_in(3) ? 1 + in_.below(8) : 1;
        commands.clear();
        for (std::size_t each = 0; each < count && !asks_->is_last(); ++each) commands += asks_->next();
      }
      co_await send(std::move(commands));
      co_await read_answers();
      commands = std::string();
      if (asks_->is_last() && !has_left_) leave();
    }
    if (!has_left_ && in_.one_in(4)) {
      // Commands whose answers nobody reads.
      commands = asks_->next();
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
      asks_->is_slow();
      co_await runtime::sleep(asks_->pause());
      if (in_.one_in(4)) leave();  // in the middle of a command
    }
    if (has_left_ || left.empty()) co_return;
    const auto sent = co_await peer_.write_all(left);
    if (!sent && !in_.is_over) asks_->misses();
  }

  task<> read_answers() {
    if (in_.one_in(15)) {
      asks_->is_slow();
      co_await runtime::sleep(asks_->pause());
    }
    while (!has_left_ && asks_->front() != nullptr) {
      const bool is_whole = asks_->take_answer(received_);
      if (!is_whole) co_await read_more();
    }
  }

  task<> read_more() {
    const bool waits = asks_->front()->what == verb::reserve;
    const bool is_bored = waits && in_.one_in(2);
    const duration patience =
        waits ? duration(jobs::milliseconds(1 + in_.below(300))) : duration(in_.has_stalls ? 2s : 20ms);
    if (is_bored || !waits) {
      peer_.set_read_deadline(patience);
    } else {
      peer_.set_read_deadline(instant::never());
    }
    std::array<char, 4096> piece{};
    const bool is_cut = in_.one_in(200);  // the client goes away in the middle of an answer
    const std::span<char> space = std::span<char>(piece).first(is_cut ? 1 + in_.below(300) : piece.size());
    const auto got = co_await peer_.read_some(space);
    if (got && *got > 0 && !in_.has_crashed) {
      received_.append(piece.data(), *got);
      if (is_cut) leave();
      co_return;
    }
    // The server must not end a connection, nor forget an answer.
    if (!is_bored && !in_.is_over) asks_->misses();
    leave();
  }

  void leave() {
    has_left_ = true;
    in_.end_connection(asks_->connection());
    peer_.close();
  }

  world& in_;
  runtime::stream peer_;
  const std::unique_ptr<requests> asks_;
  std::string received_;
  bool has_left_ = false;
};

}  // namespace

task<> client_life(world& in) {
  while (!in.is_over) {
    co_await runtime::sleep(duration(jobs::milliseconds(in.below(10))));
    const bool is_http = in.below(10) < in.http_in_ten;
    const node_addresses& at = in.addresses[in.below(in.addresses.size())];
    auto peer = co_await runtime::stream::connect(is_http ? at.http : at.beanstalk);
    if (!peer) co_return;
    std::unique_ptr<requests> asks;
    const std::size_t number = ++in.connections;
    if (is_http) {
      asks = std::make_unique<http_requests>(in, number);
    } else {
      asks = std::make_unique<beanstalk_requests>(in, number);
    }
    visit one(in, std::move(*peer), std::move(asks));
    co_await one.stay();
  }
}

}  // namespace foliot::program::worlds

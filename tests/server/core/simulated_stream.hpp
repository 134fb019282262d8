// A byte_stream without a socket: two ends in memory, between which bytes go in small pieces. On virtual time.
//
//   auto [server, client] = simulated_stream::pair();
//
// Thread safety: one processor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>

#include "server/core/byte_stream.hpp"

namespace foliot::test {

class simulated_stream final : public program::byte_stream {
 public:
  /// So many bytes at most are on their way in one direction; a read or a write moves at most so many. Tests may have
  /// other numbers.
  static constexpr std::size_t most_bytes = 1000;
  static constexpr std::size_t most_at_once = 7;

  static std::pair<std::unique_ptr<program::byte_stream>, std::unique_ptr<program::byte_stream>> pair(
      std::size_t at_once = most_at_once, std::size_t most = most_bytes) {
    const auto one = std::make_shared<way>();
    const auto other = std::make_shared<way>();
    return {std::make_unique<simulated_stream>(one, other, at_once, most),
            std::make_unique<simulated_stream>(other, one, at_once, most)};
  }

  struct way {
    std::string bytes;
    bool ended = false;                  // no more comes
    runtime::channel<char> changed{1};   // for the reader
    runtime::channel<char> has_room{1};  // for the writer
    void wake_reader() { static_cast<void>(changed.try_send('\0')); }
    void wake_writer() { static_cast<void>(has_room.try_send('\0')); }
  };

  simulated_stream(std::shared_ptr<way> in, std::shared_ptr<way> out, std::size_t at_once, std::size_t most)
      : in_(std::move(in)), out_(std::move(out)), at_once_(at_once), most_(most) {}
  ~simulated_stream() override { close(); }

  task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override {
    for (;;) {
      if (is_closed_) co_return error(runtime::io_errc::closed);
      if (read_deadline_ <= runtime::now()) co_return error(runtime::io_errc::deadline_exceeded);
      if (into.empty()) co_return std::size_t{0};
      if (!in_->bytes.empty()) break;
      if (in_->ended) co_return std::size_t{0};
      const bool is_timed = read_deadline_ != instant::never();
      const duration left = read_deadline_ - runtime::now();
      auto waited = co_await runtime::select(in_->changed.receive(), runtime::when(is_timed, runtime::after(left)));
      static_cast<void>(waited);
    }
    const std::size_t count = std::min({into.size(), in_->bytes.size(), at_once_});
    std::ranges::copy(std::string_view(in_->bytes).substr(0, count), into.data());
    in_->bytes.erase(0, count);
    in_->wake_writer();
    co_return count;
  }

  task<runtime::or_error<std::size_t>> write_some(std::string_view from) override {
    for (;;) {
      if (is_closed_) co_return error(runtime::io_errc::closed);
      if (out_->ended) co_return std::unexpected(std::make_error_code(std::errc::broken_pipe));
      if (write_deadline_ <= runtime::now()) co_return error(runtime::io_errc::deadline_exceeded);
      if (out_->bytes.size() < most_) break;
      const bool is_timed = write_deadline_ != instant::never();
      const duration left = write_deadline_ - runtime::now();
      auto waited = co_await runtime::select(out_->has_room.receive(), runtime::when(is_timed, runtime::after(left)));
      static_cast<void>(waited);
    }
    const std::size_t count = std::min(from.size(), at_once_);
    out_->bytes += from.substr(0, count);
    out_->wake_reader();
    co_return count;
  }

  void set_read_deadline(instant deadline) override {
    read_deadline_ = deadline;
    in_->wake_reader();
  }
  void set_read_deadline(duration from_now) override { set_read_deadline(runtime::now() + from_now); }
  void set_write_deadline(duration from_now) override {
    write_deadline_ = runtime::now() + from_now;
    out_->wake_writer();
  }

  task<> close_write() override {
    end(*out_);
    co_return;
  }
  void end_reading() noexcept override { end(*in_); }
  void close() noexcept override {
    is_closed_ = true;
    end(*in_);
    end(*out_);
  }
  [[nodiscard]] bool peer_has_ended() const noexcept override { return is_closed_ || in_->ended; }
  [[nodiscard]] bool is_closed() const noexcept override { return is_closed_; }

 private:
  static std::unexpected<std::error_code> error(runtime::io_errc what) {
    return std::unexpected(make_error_code(what));
  }
  static void end(way& one) noexcept {
    one.ended = true;
    one.wake_reader();
    one.wake_writer();
  }

  const std::shared_ptr<way> in_;
  const std::shared_ptr<way> out_;
  const std::size_t at_once_;
  const std::size_t most_;
  instant read_deadline_ = instant::never();
  instant write_deadline_ = instant::never();
  bool is_closed_ = false;
};

}  // namespace foliot::test

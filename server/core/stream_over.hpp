// A byte_stream over a connection with a socket: a runtime::stream, or a tls_stream after its handshake.
//
//   std::unique_ptr<byte_stream> opened = over(std::move(stream));
//
// Thread safety: as byte_stream.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/runtime/net/connection.hpp>

#include "byte_stream.hpp"

namespace foliot::program {

template <std::derived_from<runtime::connection> Stream>
class stream_over final : public byte_stream {
 public:
  explicit stream_over(Stream stream) noexcept : stream_(std::move(stream)) {}

  [[nodiscard]] task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override {
    return stream_.read_some(into);
  }
  [[nodiscard]] task<runtime::or_error<std::size_t>> write_some(std::string_view from) override {
    return stream_.write_some(from);
  }
  void set_read_deadline(instant deadline) override { stream_.set_read_deadline(deadline); }
  void set_read_deadline(duration from_now) override { stream_.set_read_deadline(from_now); }
  void set_write_deadline(duration from_now) override { stream_.set_write_deadline(from_now); }
  [[nodiscard]] task<> close_write() override { return end_writing(stream_); }
  void end_reading() noexcept override { static_cast<void>(stream_.close_read()); }
  void close() noexcept override { stream_.close(); }
  [[nodiscard]] bool peer_has_ended() const noexcept override { return stream_.peer_has_ended(); }
  [[nodiscard]] bool is_closed() const noexcept override {
    const auto here = stream_.local_address();
    return !here && here.error() == runtime::io_errc::closed;
  }
  [[nodiscard]] runtime::address peer_address() const noexcept override {
    return stream_.peer_address().value_or(runtime::address());
  }
  [[nodiscard]] std::string certificate_fingerprint() const override {
    if constexpr (requires { stream_.peer_certificate(); }) {
      auto shown = stream_.peer_certificate();
      if (shown) return std::move(shown->fingerprint);
    }
    return {};
  }

 private:
  static task<> end_writing(const Stream& of) {
    if constexpr (std::same_as<decltype(of.close_write()), std::error_code>) {
      static_cast<void>(of.close_write());
    } else {
      static_cast<void>(co_await of.close_write());
    }
    co_return;
  }

  Stream stream_;
};

template <std::derived_from<runtime::connection> Stream>
[[nodiscard]] std::unique_ptr<byte_stream> over(Stream stream) {
  return std::make_unique<stream_over<Stream>>(std::move(stream));
}

}  // namespace foliot::program

// A byte_stream that does what another one does: a base for those that change some of it.
//
// Thread safety: as that one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/runtime/net/address.hpp>

#include "server/core/byte_stream.hpp"

namespace foliot::test {

class forwarding_stream : public program::byte_stream {
 public:
  explicit forwarding_stream(std::unique_ptr<program::byte_stream> below) : below_(std::move(below)) {}

  task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override { return below_->read_some(into); }
  task<runtime::or_error<std::size_t>> write_some(std::string_view from) override { return below_->write_some(from); }
  void set_read_deadline(instant deadline) override { below_->set_read_deadline(deadline); }
  void set_read_deadline(duration from_now) override { below_->set_read_deadline(from_now); }
  void set_write_deadline(duration from_now) override { below_->set_write_deadline(from_now); }
  task<> close_write() override { return below_->close_write(); }
  void end_reading() noexcept override { below_->end_reading(); }
  void close() noexcept override { below_->close(); }
  [[nodiscard]] bool peer_has_ended() const noexcept override { return below_->peer_has_ended(); }
  [[nodiscard]] bool is_closed() const noexcept override { return below_->is_closed(); }
  [[nodiscard]] runtime::address peer_address() const noexcept override { return below_->peer_address(); }
  [[nodiscard]] std::string certificate_fingerprint() const override { return below_->certificate_fingerprint(); }

 private:
  const std::unique_ptr<program::byte_stream> below_;
};

}  // namespace foliot::test

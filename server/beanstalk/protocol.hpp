// The beanstalk protocol on the connections of a listener: a session for each of them.
//
// Thread safety: any task.
#pragma once

#include <string_view>

#include <foliot/runtime/task.hpp>

#include "server/core/protocol.hpp"
#include "server_state.hpp"

namespace foliot::program::beanstalk {

class protocol final : public program::protocol {
 public:
  /// `state` has the brokers of the clients, and must outlive this object.
  explicit protocol(server_state& state) noexcept : state_(state) {}

  [[nodiscard]] task<> serve(byte_stream& peer) override;
  [[nodiscard]] std::string_view refusal() const noexcept override;

 private:
  server_state& state_;
};

}  // namespace foliot::program::beanstalk

// The beanstalk protocol on the connections of a listener: a session for each of them. Where access tokens are asked
// for, a client signs in before (sign_in.hpp), and its connection is closed when its rights end. One whose access token
// has as many connections as it may is then refused as one that may not come in.
//
// Thread safety: any task.
#pragma once

#include <string>
#include <string_view>

#include <foliot/runtime/task.hpp>

#include "server/access/watched_tokens.hpp"
#include "server/core/keyed_places.hpp"
#include "server/core/protocol.hpp"
#include "server/core/server_log.hpp"
#include "server_state.hpp"

namespace foliot::program::beanstalk {

class protocol final : public program::protocol {
 public:
  /// `state` has the brokers of the clients, and must outlive this object.
  explicit protocol(server_state& state) noexcept : state_(state) {}
  /// The same, for clients that have access tokens.
  protocol(server_state& state, watched_tokens& tokens, const server_log& log) noexcept
      : state_(state), tokens_(&tokens), log_(&log) {}

  [[nodiscard]] task<> serve(byte_stream& peer) override;
  [[nodiscard]] std::string refusal(access_limit by) const override;

 private:
  task<> serve_signed_in(byte_stream& peer);
  /// Takes a place among the connections of this id, instead of the one that it has. Returns false if there is none.
  bool enter_as(std::string_view id, keyed_places::place& mine);
  /// Ends the connection of a client whose access token has as many as it may.
  task<> refuse(byte_stream& peer, std::string_view id);

  server_state& state_;
  watched_tokens* const tokens_ = nullptr;  // null: nobody is asked for one
  const server_log* const log_ = nullptr;   // null in the same case
};

}  // namespace foliot::program::beanstalk

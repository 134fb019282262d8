// HTTP as a protocol of the server.
//
// Thread safety: any task.
#pragma once

#include <string>

#include "message.hpp"
#include "server/core/held_memory.hpp"
#include "server/core/protocol.hpp"
#include "service.hpp"
#include "session.hpp"

namespace foliot::program::http {

class protocol final : public program::protocol {
 public:
  /// Both must outlive it.
  protocol(service& by, held_memory& memory, const request_limits& limits, const session_times& times = {})
      : service_(by), memory_(memory), limits_(limits), times_(times) {}

  [[nodiscard]] task<> serve(byte_stream& peer) override;
  [[nodiscard]] bool is_of_proxy(const runtime::address& from) const override { return service_.is_of_proxy(from); }
  [[nodiscard]] std::string refusal(access_limit by) const override;

 private:
  service& service_;
  held_memory& memory_;
  const request_limits limits_;
  const session_times times_;
};

}  // namespace foliot::program::http

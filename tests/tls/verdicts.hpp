// What the two sides make of a handshake.
#pragma once

#include <string>

#include "peers.hpp"

namespace foliot::test {

/// What the two sides make of a handshake, as texts; "" for a side that has a connection.
struct verdicts {
  std::string client;
  std::string server;
  friend bool operator==(const verdicts&, const verdicts&) = default;
};

/// The error as text; "" if there is a connection.
inline std::string verdict(const runtime::or_error<tls::tls_stream>& made) {
  return made ? std::string() : made.error().message();
}

/// Lets two sides shake hands.
inline verdicts judge(const tls::tls_context& client, const tls::tls_context& server,
                      const std::string& host = "localhost") {
  verdicts both;
  virtual_clock clock;
  runtime::run_options options;
  options.clock = &clock;
  runtime::run(
      [&]() -> task<> {
        const auto made = co_await shake(local_pair(), client, server, host);
        both = {verdict(made.client), verdict(made.server)};
      },
      options);
  return both;
}

}  // namespace foliot::test

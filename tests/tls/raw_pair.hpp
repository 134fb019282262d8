// A connection between a tls_stream and OpenSSL alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/runtime/spawn.hpp>

#include "peers.hpp"
#include "raw_peer.hpp"

namespace foliot::test {

using runtime::spawn;
using runtime::task;
using tls::tls_stream;

inline task<runtime::or_error<std::size_t>> read_into(const tls_stream& from, std::string& into) {
  const auto got = co_await from.read_some(std::span<char>(into));
  co_return got;
}

inline task<runtime::or_error<std::size_t>> write_text(const tls_stream& to, std::string_view text) {
  const auto sent = co_await to.write_all(text);
  co_return sent;
}

/// A connection between a tls_stream and OpenSSL alone.
struct against_raw {
  explicit against_raw(runtime::stream below, raw_peer::side which, int newest)
      : raw(std::move(below), which, newest) {}
  raw_peer raw;
  tls_stream ours;
};

inline task<runtime::or_error<tls_stream>> shake_ours(runtime::stream below, bool connects) {
  if (connects) {
    auto made = co_await tls_stream::connect(std::move(below), client(), "localhost");
    co_return made;
  }
  auto made = co_await tls_stream::accept(std::move(below), server());
  co_return made;
}

/// `prepare` may change the raw peer before the handshake.
inline task<std::unique_ptr<against_raw>> raw_pair(raw_peer::side which, int newest = TLS1_3_VERSION,
                                                   void (*prepare)(SSL*) = nullptr) {
  auto [ours, theirs] = local_pair();
  auto made = std::make_unique<against_raw>(std::move(theirs), which, newest);
  if (prepare != nullptr) prepare(made->raw.ssl());
  auto shaking = spawn(shake_ours(std::move(ours), which == raw_peer::side::server), "shakes hands");
  co_await made->raw.shake_hands();
  auto shaken = co_await shaking.join();
  EXPECT_TRUE(shaken.has_value()) << shaken.error().message();
  if (shaken) made->ours = std::move(*shaken);
  co_return made;
}

}  // namespace foliot::test

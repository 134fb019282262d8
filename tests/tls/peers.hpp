// Helpers of the TLS tests: both ends of a connection, and a peer that is OpenSSL alone and does what it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/tls/tls_stream.hpp>

#include "certificates.hpp"

namespace foliot::test {

/// Runs the task of `main` on virtual time, for several numbers of processors and seeds. (The kinds of timers in
/// runtime/worlds.hpp make no difference to TLS.)
template <class Main>
void in_virtual_worlds(Main main) {
  for (const std::size_t processors : {1U, 2U, 3U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      virtual_clock clock;
      runtime::run_options options;
      options.processors = processors;
      options.seed = seed;
      options.clock = &clock;
      runtime::run(main(), options);
    }
  }
}

/// The same on real time, with workers.
template <class Main>
void on_real_processors(Main main) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    runtime::run_options options;
    options.processors = processors;
    runtime::run(main(), options);
  }
}

/// Runs the task on virtual time and on real time.
template <class Main>
void everywhere(Main main) {
  in_virtual_worlds(main);
  on_real_processors(main);
}

/// What became of a handshake, on both sides.
struct shaken {
  tls::or_error<tls::tls_stream> client;
  tls::or_error<tls::tls_stream> server;
};

/// The error of a result; none if it is a value.
template <class Result>
std::error_code error_of(const Result& result) {
  return result ? std::error_code() : result.error();
}

inline std::pair<runtime::stream, runtime::stream> local_pair() {
  auto both = runtime::stream::pair();
  EXPECT_TRUE(both.has_value());
  return both ? std::move(*both) : std::pair<runtime::stream, runtime::stream>();
}

inline task<tls::or_error<tls::tls_stream>> accept_on(runtime::stream below, tls::tls_context context) {
  auto made = co_await tls::tls_stream::accept(std::move(below), context);
  co_return made;
}

/// Shakes hands over that connection.
inline task<shaken> shake(std::pair<runtime::stream, runtime::stream> below, tls::tls_context client,
                          tls::tls_context server, std::string host = "localhost") {
  auto accepting = runtime::spawn(accept_on(std::move(below.second), server), "accepts");
  auto connected = co_await tls::tls_stream::connect(std::move(below.first), client, host);
  auto accepted = co_await accepting.join();
  co_return shaken{std::move(connected), std::move(accepted)};
}

/// Both ends of a TLS connection; of none if the handshake fails, which is a failure of the test.
inline task<std::pair<tls::tls_stream, tls::tls_stream>> tls_pair(tls::tls_context one = client(),
                                                                  tls::tls_context other = server()) {
  auto both = co_await shake(local_pair(), one, other);
  EXPECT_TRUE(both.client.has_value()) << both.client.error().message();
  EXPECT_TRUE(both.server.has_value()) << both.server.error().message();
  std::pair<tls::tls_stream, tls::tls_stream> made;
  if (both.client) made.first = std::move(*both.client);
  if (both.server) made.second = std::move(*both.server);
  co_return made;
}

}  // namespace foliot::test

// A session in a task of its own, and what its client sends and reads, over a pair of sockets.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/beanstalk/server_state.hpp"
#include "server/beanstalk/session.hpp"
#include "server/core/stream_over.hpp"

namespace foliot::program::beanstalk {

inline task<> serve_one(server_state& state, byte_stream& peer) {
  {
    session with(state, peer);
    co_await with.run();
  }
  co_await peer.close_write();
}

/// What comes up to this end, or until the server closes the connection; all of that if the end is empty.
inline task<std::string> read_until(const runtime::stream& from, std::string_view end) {
  std::string all;
  while (end.empty() || !all.ends_with(end)) {
    std::string piece(4096, '\0');
    const auto got = co_await from.read_some(std::span(piece));
    if (!got || *got == 0) break;
    all.append(piece, 0, *got);
  }
  co_return all;
}

/// What comes until so many lines have come, or until the server closes the connection.
inline task<std::string> read_lines(const runtime::stream& from, std::size_t lines) {
  std::string all;
  while (lines > 0) {
    char one = 0;
    const auto got = co_await from.read_some(std::span(&one, 1));
    if (!got || *got == 0) break;
    all += one;
    if (one == '\n') --lines;
  }
  co_return all;
}

/// The command that puts a body of so many bytes.
inline std::string put_of(std::size_t bytes) {
  return "put 0 0 60 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

/// What a session writes waits soon for a client that does not read.
inline void give_little_room(const runtime::stream& to) {
  const int smallest = 1;
  EXPECT_EQ(::setsockopt(to.native_handle(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest), 0);
}

/// A client, and its session.
struct session_client {
  explicit session_client(server_state& state) : ends(runtime::stream::pair().value()) {
    give_little_room(ends.second);
    served = over(std::move(ends.second));
    serving = runtime::spawn(serve_one(state, *served), "session");
  }

  task<> send(std::string what) { static_cast<void>(co_await ends.first.write_all(what)); }
  task<std::string> read(std::string_view end) { return read_until(ends.first, end); }
  task<std::string> ask(std::string what, std::string_view end) {
    co_await send(std::move(what));
    std::string answer = co_await read(end);
    co_return answer;
  }
  task<> leave() {
    if (!ends.first) co_return;
    ends.first.close();
    co_await serving.join();
  }

  std::pair<runtime::stream, runtime::stream> ends;  // of which the session has the second one
  std::unique_ptr<byte_stream> served;
  runtime::join_handle<> serving;
};

}  // namespace foliot::program::beanstalk

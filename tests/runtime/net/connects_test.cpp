// Connections that are made while other workers listen to the poller.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>

namespace foliot::runtime {

namespace {

task<> echo(stream peer) {
  std::array<char, 4> text{};
  const auto length = co_await peer.read_all(std::span(text));
  if (!length || *length < text.size()) co_return;
  const std::string_view all(text.data(), text.size());
  const auto sent = co_await peer.write_all(all);
  EXPECT_TRUE(sent);
}

task<> accept_all(listener& gate) {
  for (;;) {
    auto peer = co_await gate.accept();
    if (!peer) break;
    static_cast<void>(spawn(echo(std::move(*peer)), "echo"));
  }
}

task<> connect_and_write(address to, int times) {
  for (int i = 0; i < times; ++i) {
    auto peer = co_await stream::connect(to);
    if (!peer) co_return;
    std::array<char, 4> text{};
    const std::string_view all("ping");
    const auto sent = co_await peer->write_all(all);
    EXPECT_TRUE(sent);
    const auto length = co_await peer->read_all(std::span(text));
    EXPECT_TRUE(length && *length == text.size());
  }
}

task<> many_connections() {
  auto gate = listener::listen(address::loopback(0));
  if (!gate) co_return;
  auto accepting = spawn(accept_all(*gate), "accept");
  const address to = *gate->local_address();
  std::vector<join_handle<>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(spawn(connect_and_write(to, 300), "client"));
  for (auto& each : clients) co_await each.join();
  gate->close();
  co_await accepting.join();
}

// A report that another worker gets before the connecting task looks must not be lost: the poller reports it once.
TEST(Connects, CanBeWrittenToWhoeverHearsOfThem) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    run_options options;
    options.processors = processors;
    run(many_connections(), options);
  }
}

}  // namespace

}  // namespace foliot::runtime

#include <foliot/client/endpoint.hpp>

#include <expected>

#include <foliot/runtime/net/names.hpp>
#include <foliot/runtime/net/stream.hpp>

namespace foliot::client {

namespace {

runtime::task<connected> connect_in_plain(runtime::task<runtime::or_error<runtime::stream>> below) {
  auto plain = co_await below;
  if (!plain) co_return std::unexpected(plain.error());
  co_return std::make_unique<transport_over<runtime::stream>>(std::move(*plain));
}

}  // namespace

transport::~transport() = default;

endpoint endpoint_at(const runtime::address& server) {
  return {server.to_string(), {}, [server](instant deadline) {
            return connect_in_plain(runtime::stream::connect(server, deadline));
          }};
}

endpoint endpoint_at(std::string host, std::uint16_t port) {
  std::string name = host + ":" + std::to_string(port);
  return {std::move(name), {}, [host = std::move(host), port](instant deadline) {
            return connect_in_plain(runtime::connect_to_host(host, port, deadline));
          }};
}

}  // namespace foliot::client

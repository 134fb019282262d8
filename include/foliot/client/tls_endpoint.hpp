// Endpoints by TLS. A program that includes this header links foliot::tls.
//
//   tls::tls_options trusted;
//   trusted.roots = {tls::pem::file("/etc/jobs/ca.pem")};                 // or none: the system's
//   trusted.certificate_chain = tls::pem::file("/etc/worker/chain.pem");  // a certificate of the client, if it has one
//   trusted.private_key = tls::pem::file("/etc/worker/key.pem");
//   const auto context = tls::tls_context::client(trusted);
//   options.server = tls_endpoint_at("jobs.example.com", 11300, context.value());
//
// Thread safety: as endpoint.hpp.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include <foliot/client/endpoint.hpp>
#include <foliot/runtime/net/names.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/tls/tls_context.hpp>
#include <foliot/tls/tls_stream.hpp>

namespace foliot::client {

namespace detail {

/// For errors.
inline std::string tls_way(const std::string& host) { return " by TLS as '" + host + "'"; }

/// Waits for the connection below, and shakes hands on it.
inline runtime::task<connected> connect_by_tls(runtime::task<runtime::or_error<runtime::stream>> below,
                                               tls::tls_context context, std::string host, instant deadline) {
  auto plain = co_await below;
  if (!plain) co_return std::unexpected(plain.error());
  auto shaking = tls::tls_stream::connect(std::move(*plain), context, host, deadline);
  auto shaken = co_await shaking;
  if (!shaken) co_return std::unexpected(shaken.error());
  co_return std::make_unique<transport_over<tls::tls_stream>>(std::move(*shaken));
}

}  // namespace detail

/// A server at this address, whose certificate must be for `host`: a DNS name or an IP address.
[[nodiscard]] inline endpoint tls_endpoint_at(const runtime::address& server, std::string host,
                                              tls::tls_context context) {
  std::string way = detail::tls_way(host);
  auto connect = [server, host = std::move(host), context = std::move(context)](instant deadline) {
    return detail::connect_by_tls(runtime::stream::connect(server, deadline), context, host, deadline);
  };
  return {server.to_string(), std::move(way), std::move(connect)};
}
/// A server at a host, whose certificate must be for that host.
[[nodiscard]] inline endpoint tls_endpoint_at(std::string host, std::uint16_t port, tls::tls_context context) {
  std::string name = host + ":" + std::to_string(port);
  std::string way = detail::tls_way(host);
  auto connect = [host = std::move(host), port, context = std::move(context)](instant deadline) {
    return detail::connect_by_tls(runtime::connect_to_host(host, port, deadline), context, host, deadline);
  };
  return {std::move(name), std::move(way), std::move(connect)};
}

}  // namespace foliot::client

#include "copy/server_place.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#if defined(FOLIOT_HAS_TLS)
#include <foliot/client/tls_endpoint.hpp>
#include <foliot/tls/tls_context.hpp>
#endif

#include "text/address_text.hpp"
#include "text/failure.hpp"

namespace foliot::program::copying {

namespace {

constexpr std::string_view by_tls = "tls:";

#if defined(FOLIOT_HAS_TLS)

/// The name or the IP address in an address that find_server() takes.
std::string host_in(const std::string& text) {
  if (const auto named = parse_named_address(text)) return named->first;
  const std::optional<runtime::address> at = parse_address(text);
  if (!at || at->is_local()) return "localhost";
  std::string host = at->to_string();
  host.resize(host.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

tls::tls_context trusting(std::string_view argument, const std::string& authorities) {
  tls::tls_options options;
  if (!authorities.empty()) options.roots.push_back(tls::pem::file(authorities));
  auto made = tls::tls_context::client(options);
  if (made) return *std::move(made);
  if (authorities.empty()) throw failure(fmt::format("{}: TLS is not possible: {}", argument, made.error().message()));
  throw failure(
      fmt::format("--tls-ca: the certificates in '{}' cannot be used: {}", authorities, made.error().message()));
}

#endif

}  // namespace

client::endpoint find_place(std::string_view argument, std::string_view text, const std::string& authorities) {
  if (!text.starts_with(by_tls)) return client::endpoint_at(find_server(argument, std::string(text)));
#if defined(FOLIOT_HAS_TLS)
  const std::string address(text.substr(by_tls.size()));
  const tls::tls_context context = trusting(argument, authorities);
  return client::tls_endpoint_at(find_server(argument, address), host_in(address), context);
#else
  static_cast<void>(authorities);
  throw failure(
      fmt::format("{}: this program was built without TLS: leave out 'tls:', or build it with OpenSSL 3", argument));
#endif
}

}  // namespace foliot::program::copying

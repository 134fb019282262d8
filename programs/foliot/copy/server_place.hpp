// Where a server of the beanstalk protocol is, and whether it is spoken to in plain or by TLS, as a user writes it: an
// address (address_text.hpp), with `tls:` in front for TLS, such as tls:jobs.example.com:11300. What follows `tls:` is
// also what the server's certificate must be for; at a path that is localhost.
//
// Thread safety: a value.
#pragma once

#include <string>
#include <string_view>

#include <foliot/runtime/net/address.hpp>
#include <foliot/tls/tls_context.hpp>

namespace foliot::program::copying {

struct server_place {
  runtime::address at;
  /// The name or the IP address that its certificate must have. Empty: it is spoken to in plain.
  std::string host;
  /// For TLS.
  tls::tls_context context;

  [[nodiscard]] bool is_by_tls() const noexcept { return !host.empty(); }
};

/// What the text means. `authorities`: the file with those that a server's certificate may be signed by; empty: the
/// system's. Throws failure, which begins with `argument`, if the text is none, if there is no such host, or if the
/// authorities cannot be read. Not inside of a runtime.
[[nodiscard]] server_place find_place(std::string_view argument, std::string_view text, const std::string& authorities);

}  // namespace foliot::program::copying

// What a tls_context shares: OpenSSL's context, what its callbacks read (the list of protocols, and the further
// certificates), and the sessions that a client may resume. Immutable once made, but for these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kept_sessions.hpp"
#include "openssl.hpp"

namespace foliot::tls::detail {

/// The side of a connection that a context is for.
enum class role : std::uint8_t { client, server };

struct context {
  context(role whose, std::size_t resumed_hosts) noexcept : side(whose), sessions(resumed_hosts) {}

  const role side;
  bool verifies = false;
  std::vector<unsigned char> protocols;  // as TLS has them: each name after its length; SSL objects refer to it
  std::vector<ssl_context_ptr> further;  // each with the certificate, chain and key of an identity, and no more
  mutable kept_sessions sessions;        // a client's
  ssl_context_ptr ssl;                   // destroyed first
};

}  // namespace foliot::tls::detail

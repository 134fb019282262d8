// What a tls_context shares: OpenSSL's context, and what its callbacks read: the list of protocols, and the further
// certificates. Immutable once made.
#pragma once

#include <cstdint>
#include <vector>

#include "openssl.hpp"

namespace foliot::tls::detail {

/// The side of a connection that a context is for.
enum class role : std::uint8_t { client, server };

struct context {
  explicit context(role whose) noexcept : side(whose) {}

  const role side;
  bool verifies = false;
  std::vector<unsigned char> protocols;  // as TLS has them: each name after its length; SSL objects refer to it
  std::vector<ssl_context_ptr> further;  // each with the certificate, chain and key of an identity, and no more
  ssl_context_ptr ssl;                   // destroyed first
};

}  // namespace foliot::tls::detail

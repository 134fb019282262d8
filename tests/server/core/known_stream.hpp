// A byte_stream of a client with an address and a certificate, over another one.
//
// Thread safety: as that one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <foliot/runtime/net/address.hpp>

#include "server/core/forwarding_stream.hpp"

namespace foliot::test {

/// The server's end of a connection whose client has an address and a certificate.
class stream_of_known final : public forwarding_stream {
 public:
  stream_of_known(std::unique_ptr<program::byte_stream> below, runtime::address from, std::string certificate)
      : forwarding_stream(std::move(below)), from_(from), certificate_(std::move(certificate)) {}

  [[nodiscard]] runtime::address peer_address() const noexcept override { return from_; }
  [[nodiscard]] std::string certificate_fingerprint() const override { return certificate_; }

 private:
  const runtime::address from_;
  const std::string certificate_;
};

}  // namespace foliot::test

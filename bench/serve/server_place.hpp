// How a client of the load generator reaches a server: where it is, and what it speaks.
//
// Thread safety: a value.
#pragma once

#include <memory>
#include <utility>

#include <foliot/runtime/net/address.hpp>

#include "beanstalk_protocol.hpp"
#include "client_protocol.hpp"

namespace foliot::program::bench {

class tls_client;

struct server_place {
  /// In plain, and without an access token, by the beanstalk protocol.
  server_place(const runtime::address& where) : address(where) {}  // NOLINT: an address is a place
  server_place(const runtime::address& where, std::shared_ptr<const client_protocol> spoken,
               std::shared_ptr<const tls_client> by)
      : address(where), own_protocol(std::move(spoken)), tls(std::move(by)) {}

  [[nodiscard]] const client_protocol& protocol() const noexcept {
    return own_protocol ? *own_protocol : plain_beanstalk();
  }

  runtime::address address;
  std::shared_ptr<const client_protocol> own_protocol{};  ///< null: plain_beanstalk()
  std::shared_ptr<const tls_client> tls{};                ///< null: connections are in plain
};

}  // namespace foliot::program::bench

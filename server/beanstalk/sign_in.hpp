// The first line of a client where access tokens are asked for:
//
//   x-auth TOKEN          AUTHENTICATED id: the commands may follow
//                         BAD_TOKEN: this is no access token, or it has a typing error
//                         NOT_AUTHENTICATED: it lets nobody in
//
// Nothing else comes before it: any other line is answered with NOT_AUTHENTICATED, and an HTTP request as always. After
// all of these but the first the connection ends. So a client without access has a kilobyte of memory here, ten
// seconds, and no session.
//
// A client that has shown a certificate with an entry in the file of tokens has the rights of that entry, and need not
// sign in; it may take as long as it wants. If it signs in all the same, it has the rights of its token instead, which
// it has shown for a reason. A certificate without an entry gives no rights.
//
// Thread safety: any task.
#pragma once

#include <memory>

#include <foliot/runtime/task.hpp>

#include "server/access/rights.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/server_log.hpp"
#include "server/core/wiping_allocator.hpp"

namespace foliot::program::beanstalk {

/// A client that has said who it is.
struct signed_in {
  std::shared_ptr<const rights> given;  ///< null: it has no access, and the connection is to be closed
  wiped_string unread;                  ///< what has come behind the line, or in its place
};

/// Finds out who the client is: reads the line and answers it, or knows the certificate. `by_certificate`: see
/// rights_of_certificate(). Throws std::bad_alloc.
[[nodiscard]] task<signed_in> sign_in(byte_stream& peer, std::shared_ptr<const rights> by_certificate,
                                      watched_tokens& tokens, const server_log& log);

/// The rights of the certificate that the client has shown; null: it has shown none, or one without an entry.
[[nodiscard]] std::shared_ptr<const rights> rights_of_certificate(const byte_stream& peer, const authority& who);

}  // namespace foliot::program::beanstalk

// Why an operation of a client has no answer, and whether it may have been executed.
//
//   const auto put = co_await jobs.ask(mail);
//   if (!put) {
//     log(put.error().text);
//     if (!put.error().is_in_doubt) try_again_later(mail);   // it has certainly not been put
//   }
//
// A program decides by the kind and by `is_in_doubt`; the text is for people. What an operation has come to is no
// error, but its answer: that a job is gone, that a worker has it, that the server has no room for it.
//
// Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <string>
#include <system_error>

namespace foliot::client {

/// What has kept an operation from its answer.
struct client_error {
  /// The reason.
  enum class kind : std::uint8_t {
    bad_request,       ///< the protocol or a limit does not allow this operation: nothing was sent
    unreachable,       ///< no connection could be had before the deadline that lived until the operation was sent
    connection_lost,   ///< the connection ended, or was silent for too long, behind the operation and before its answer
    reservation_lost,  ///< the connection of the reservation has ended, and the job goes back to its tube
    not_signed_in,     ///< the server does not accept the access token, or wants one
    forbidden,         ///< the access token does not allow the operation, or not in this tube
    no_space,          ///< the server has no memory or no disk space for it, where its answer does not say so itself
    too_large,         ///< the body is over the server's limit, or over client_limits::most_received
    draining,          ///< the server takes no more jobs until it is started again
    unavailable,       ///< the server's store does not answer
    unknown_command,   ///< the server is not foliot, and has no such command
    bad_answer,        ///< what the server sent is no answer to this operation; the connection was closed
  };
  kind what = kind::bad_request;
  /// Whether the operation may have been executed. False: it has certainly not been, and nothing has changed.
  bool is_in_doubt = false;
  /// The error of the system, of the resolver, of TLS or of a deadline behind it, if there is one.
  std::error_code cause{};
  /// A sentence without its full stop: what happened, and to what.
  std::string text{};
};

}  // namespace foliot::client

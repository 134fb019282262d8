// Errors as clients see them: problems of RFC 9457, which name what was wrong and what would be right.
//
//   co_return respond(problem{400, "the due time must be like 2026-11-29T05:40:00Z", where::body, "/due"});
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <foliot/core/duration.hpp>

#include "message.hpp"

namespace foliot::program::http {

/// What a name belongs to.
enum class where : std::uint8_t {
  nothing,  ///< the request as a whole
  header,   ///< a field of the request, by its name
  path,     ///< a part of the path, by what it is
  query,    ///< a parameter, by its name
  body,     ///< a value in the body, by a JSON pointer: `/due`
};

/// What became of a request that gets a problem, for programs: the `outcome` of the problem, and why it is 409, 412,
/// 422, 429 and so on. This is the list of all of them. openapi.json has their words.
enum class problem_outcome : std::uint8_t {
  none,  ///< no word: the status says enough
  gone,
  reserved,
  refused,
  exists,
  other_version,
  no_space,
  not_held,
  reservations_ended,
  other_request,
  under_way,
  several_databases,
  unknown,  ///< it is not known whether the request was executed
  no_scope,
  no_tube,
  ended,  ///< the rights of the request
  rate_of_address,
  rate_of_token,
  connections_of_address,
  connections_of_token,
  streams_of_token,
  too_many,
  wrong_state,
  other_count,
  busy,
  has_target,   ///< the tube's jobs are delivered by the server: nobody reserves from it
  not_allowed,  ///< the operator of the server has to allow it by an option
};
/// The word that clients get for this outcome; empty for `none` and for a value that is not an outcome.
[[nodiscard]] std::string_view word_of(problem_outcome what) noexcept;

struct problem {
  int status = 400;
  std::string detail;  ///< a sentence: what was wrong, with what, and what would be right
  where place = where::nothing;
  std::string name = {};  ///< of the value that was wrong
  problem_outcome outcome = problem_outcome::none;
  std::uint64_t version = 0;  ///< that the job has, where another one was expected; 0: none, or the ETag has it
  /// After so long the client may send the request again: see seconds_to_wait(). 0: it is not told so, but for 503,
  /// after a second.
  std::chrono::seconds retry_after{};
};

/// The response that says so. A request that failed because the server is busy may be tried again after a second, and
/// the response says that as well. Its `errors` have one entry, if the problem names a value.
[[nodiscard]] response respond(const problem& what);
/// The body of that response.
[[nodiscard]] nlohmann::ordered_json value_of(const problem& what);
/// The seconds after which such a time is over, as `Retry-After` has them: rounded up, and at least one.
[[nodiscard]] std::chrono::seconds seconds_to_wait(duration left) noexcept;
/// The problem of a refusal.
[[nodiscard]] problem problem_of(const refusal& what);

/// The response if the server has no memory for the answer.
[[nodiscard]] response respond_without_memory();

/// The phrase of a status code, such as `Not Found`.
[[nodiscard]] std::string_view phrase_of(int status) noexcept;

/// The problem of the exception that is being handled: what is wrong with a request, or with the server.
///
///   try { … } catch (...) { wrong = problem_of_exception(); }
///
/// Throws the exception again if it is none that a request or a busy server explains: it ends the connection.
/// Precondition: the caller is in a handler of exceptions.
[[nodiscard]] problem problem_of_exception();

}  // namespace foliot::program::http

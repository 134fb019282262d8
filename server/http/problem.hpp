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

/// The outcome of a request of which it is not known whether it was executed.
inline constexpr std::string_view outcome_unknown = "unknown";

struct problem {
  int status = 400;
  std::string detail;  ///< a sentence: what was wrong, with what, and what would be right
  where place = where::nothing;
  std::string name = {};      ///< of the value that was wrong
  std::string outcome = {};   ///< what became of the request, as a word for programs; empty: none
  std::uint64_t version = 0;  ///< that the job has, where another one was expected; 0: none, or the ETag has it
  /// After so long the client may send the request again; 0: it is not told so, but for 503, after a second.
  std::chrono::seconds retry_after{};
};

/// The response that says so. A request that failed because the server is busy may be tried again after a second, and
/// the response says that as well. Its `errors` have one entry, if the problem names a value.
[[nodiscard]] response respond(const problem& what);
/// The body of that response.
[[nodiscard]] nlohmann::ordered_json value_of(const problem& what);
/// The problem of a refusal.
[[nodiscard]] problem problem_of(const refusal& what);

/// The phrase of a status code, such as `Not Found`.
[[nodiscard]] std::string_view phrase_of(int status) noexcept;

}  // namespace foliot::program::http

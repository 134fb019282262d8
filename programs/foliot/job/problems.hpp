// What a server has refused, as a sentence for the user: its problems (RFC 9457), and answers that are no foliot's.
//
// Thread safety: pure functions, but for what they ask the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "job/api_client.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {

/// The value of a text of JSON; nothing if it is none, or if it has very many values within each other. Throws failure
/// if to read it would take very long: an object with n members takes n².
[[nodiscard]] std::optional<nlohmann::ordered_json> parsed(std::string_view text);

/// The JSON of an answer. Throws failure if it is none.
[[nodiscard]] nlohmann::ordered_json json_of(const api_answer& answer, const server_address& from);

/// For an answer that no foliot server gives: `what` says which, behind "is no foliot serve: its answer ".
[[nodiscard]] failure none_of_ours(const server_address& from, std::string_view what);

/// The value of an answer that says yes. Throws refused_by().
[[nodiscard]] nlohmann::ordered_json value_of(const api_answer& answer, api_client& from);

/// Why the server has said no: its sentence, with the name of the value that is wrong, and what the user can do. The
/// exit code is that of misuse where the request was malformed. Precondition: the status is no success.
[[nodiscard]] failure refused_by(const api_answer& answer, api_client& from);

/// A member as a text; empty if there is none, or if it is no text.
[[nodiscard]] std::string text_in(const nlohmann::ordered_json& object, const char* name);
/// The same of a whole number; 0.
[[nodiscard]] std::uint64_t number_in(const nlohmann::ordered_json& object, const char* name);

}  // namespace foliot::program::terminal

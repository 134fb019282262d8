// JSON as the server takes and gives it.
//
// In: one value in UTF-8, within limits, and nothing that two programs may read differently: no member twice in an
// object, no lone surrogate, no whole number beyond 2^53 - 1, which JavaScript would round. What is wrong is named by a
// JSON pointer.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "problem.hpp"

namespace foliot::program::http {

/// What is read. What is written is an ordered_json, whose members stay in their order. It begins as
/// `ordered_json::object()` or `array()`: a null value that becomes one when it gets its first member, and finds no
/// memory, says that it is one and has none; its destructor then reads through a null pointer (nlohmann-json 3.11.2).
using json = nlohmann::json;
using ordered_json = nlohmann::ordered_json;

inline constexpr std::int64_t largest_whole_number = (std::int64_t{1} << 53) - 1;

struct json_limits {
  std::size_t depth = 32;        ///< of arrays and objects in each other
  std::size_t values = 65'536;   ///< in all: each takes some 50 bytes, however short its text is
  bool exact_fractions = false;  ///< refuses a fraction that the value would round
};

/// The value, or what is wrong with the text.
[[nodiscard]] std::expected<json, problem> parse_json(std::string_view text, const json_limits& limits = {});
/// The text of a value, on one line. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(const ordered_json& value);

/// The name of a member as JSON pointers have it.
[[nodiscard]] std::string pointer_name(std::string_view name);

/// Whether the text is UTF-8, without surrogates and longer forms than needed.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// The text in base64, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);
/// The bytes of a text in base64; nothing if it is none: a character, the padding or its unused bits are wrong.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace foliot::program::http

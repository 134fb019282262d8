#include "target.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace foliot::program::http {

namespace {

/// Takes the text up to the next `end`, which is taken as well, or all of it.
std::string_view take_part(std::string_view& from, char end) {
  const std::size_t size = std::min(from.find(end), from.size());
  const std::string_view part = from.substr(0, size);
  from.remove_prefix(std::min(size + 1, from.size()));
  return part;
}

problem malformed_escape(where place, std::string_view name) {
  return {400, "the target has a percent sign that is not followed by two hexadecimal digits other than 00", place,
          std::string(name)};
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank) {
  const bool is_plain = !text.contains('%') && !(plus_is_blank && text.contains('+'));
  if (is_plain) return std::string(text);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += plus_is_blank && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2 || byte == 0) return std::nullopt;
    plain += static_cast<char>(static_cast<unsigned char>(byte));
    i += 2;
  }
  return plain;
}

std::expected<target, problem> parse_target(std::string_view text) {
  target read;
  if (text == "*") return read;
  if (text.contains('#')) {
    return std::unexpected(problem{400, "the target must have no fragment (#)"});
  }
  std::string_view path = take_part(text, '?');
  path.remove_prefix(std::min<std::size_t>(1, path.size()));  // its first slash
  for (bool has_more = !path.empty(); has_more;) {
    has_more = path.contains('/');
    const std::string_view sent = take_part(path, '/');
    std::optional<std::string> segment = percent_decoded(sent);
    if (!segment) return std::unexpected(malformed_escape(where::path, sent));
    if (*segment == "." || *segment == "..") {
      return std::unexpected(
          problem{400, "a part of a path must not be `.` or `..`: send such a name in the query or in the body",
                  where::path, std::string(sent)});
    }
    read.path.push_back(std::move(*segment));
  }
  while (!text.empty()) {
    std::string_view part = take_part(text, '&');
    if (part.empty()) continue;
    const std::string_view sent = take_part(part, '=');
    std::optional<std::string> name = percent_decoded(sent, true);
    std::optional<std::string> value = percent_decoded(part, true);
    if (!name || !value) return std::unexpected(malformed_escape(where::query, name ? *name : sent));
    if (std::ranges::find(read.query, *name, &parameter::name) != read.query.end()) {
      return std::unexpected(problem{400, "the parameter comes twice", where::query, *name});
    }
    read.query.push_back({std::move(*name), std::move(*value)});
  }
  return read;
}

}  // namespace foliot::program::http

#include "passwords.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace foliot::program {

namespace {

constexpr std::string_view keyword = "password";
constexpr std::string_view spaces = " \t\r\n\f\v";

void hide(std::span<char> argument, std::size_t begin, std::size_t end) noexcept {
  std::ranges::fill(argument.subspan(begin, end - begin), 'x');
}

/// Where the value ends that begins there, in the form `keyword = value`: at a space, or behind its last quotation
/// mark.
std::size_t end_of_value(std::string_view text, std::size_t begin) noexcept {
  const bool is_quoted = begin < text.size() && text[begin] == '\'';
  for (std::size_t at = begin + (is_quoted ? 1 : 0); at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (is_quoted ? text[at] == '\'' : spaces.contains(text[at])) {
      return at;
    }
  }
  return text.size();
}

/// Behind a keyword, where its value begins; npos if no `=` follows.
std::size_t begin_of_value(std::string_view text, std::size_t behind) noexcept {
  const std::size_t equals = text.find_first_not_of(spaces, behind);
  if (equals == std::string_view::npos || text[equals] != '=') return std::string_view::npos;
  return std::min(text.find_first_not_of(spaces, equals + 1), text.size());
}

void hide_in_uri(std::span<char> argument, std::size_t scheme) noexcept {
  const std::string_view text(argument.data(), argument.size());
  const std::size_t user = scheme + 3;
  const std::size_t colon = text.find(':', user);
  const std::size_t at = text.rfind('@');
  if (colon != std::string_view::npos && at != std::string_view::npos && colon < at) hide(argument, colon + 1, at);
  for (std::size_t found = text.find(keyword); found != std::string_view::npos; found = text.find(keyword, found + 1)) {
    const std::size_t begin = found + keyword.size();
    if (begin < text.size() && text[begin] == '=')
      hide(argument, begin + 1, std::min(text.find('&', begin), text.size()));
  }
}

/// Where the `://` of a URI of PostgreSQL is, which may stand behind its option; npos if the argument is none. A value
/// of the other form may have a `://` as well, such as a password.
std::size_t scheme_of_uri(std::string_view text) noexcept {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return scheme;
  const std::string_view before = text.substr(0, scheme);
  const bool is_ours = before.ends_with("postgresql") || before.ends_with("postgres");
  const bool is_value = before.find_first_of(spaces) != std::string_view::npos || before.contains(keyword);
  return is_ours && !is_value ? scheme : std::string_view::npos;
}

}  // namespace

void hide_passwords(std::span<char> argument) noexcept {
  const std::string_view text(argument.data(), argument.size());
  if (const std::size_t scheme = scheme_of_uri(text); scheme != std::string_view::npos) {
    return hide_in_uri(argument, scheme);
  }
  for (std::size_t found = text.find(keyword); found != std::string_view::npos; found = text.find(keyword, found + 1)) {
    const std::size_t begin = begin_of_value(text, found + keyword.size());
    if (begin == std::string_view::npos) continue;
    hide(argument, begin, end_of_value(text, begin));
  }
}

void hide_passwords(std::span<char* const> arguments) noexcept {
  for (char* const each : arguments) hide_passwords(std::span(each, std::strlen(each)));
}

}  // namespace foliot::program

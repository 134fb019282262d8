#include "secrets.hpp"

#include <algorithm>
#include <cstddef>

namespace foliot::program {

namespace {

constexpr std::string_view prefix = "foliot_";
constexpr std::size_t id_and_separator = 9;
/// Of what stands behind the prefix. A token has 58 characters there: the id, the separator, 43 of the secret, and the
/// checksum.
constexpr std::size_t least_length = 40;
constexpr std::size_t whole_length = 58;
constexpr std::string_view ends_of_words = " \t\r\n'\"`,;()[]{}<>";

/// Whether it begins as what stands behind the prefix does: an id, and the separator.
bool begins_with_id(std::string_view word) noexcept {
  const auto fits = [](char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'); };
  return word.size() >= id_and_separator && word[id_and_separator - 1] == '_' &&
         std::ranges::all_of(word.substr(0, id_and_separator - 1), fits);
}

}  // namespace

std::string without_secrets(std::string_view text) {
  std::string shown;
  for (std::size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix)) {
    shown += text.substr(0, at + prefix.size());
    text.remove_prefix(at + prefix.size());
    const std::string_view word = text.substr(0, std::min(text.find_first_of(ends_of_words), text.size()));
    const bool has_id = begins_with_id(word);
    if (word.size() < least_length && !(has_id && word.size() > id_and_separator)) continue;
    if (has_id) shown += word.substr(0, id_and_separator);
    shown += "…";
    // A mistyped token may have a blank or a quote in its middle.
    text.remove_prefix(std::max(word.size(), std::min(whole_length, has_id ? text.size() : word.size())));
  }
  return shown += text;
}

}  // namespace foliot::program

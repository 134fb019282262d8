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

/// How much of the text belongs to a token whose first word has this size. One that is mistyped or broken over lines
/// may have characters in its middle that end words; the word behind them has the rest of its length.
std::size_t size_of_broken(std::string_view text, std::size_t first) noexcept {
  const std::size_t next = std::min(text.find_first_not_of(ends_of_words, first), text.size());
  const std::size_t end = std::min(text.find_first_of(ends_of_words, next), text.size());
  return first < whole_length && first + 1 + (end - next) >= whole_length ? end : first;
}

}  // namespace

std::string without_secrets(std::string_view text) {
  std::string shown;
  for (std::size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix)) {
    shown += text.substr(0, at + prefix.size());
    text.remove_prefix(at + prefix.size());
    const std::string_view word = text.substr(0, std::min(text.find_first_of(ends_of_words), text.size()));
    const bool has_id = begins_with_id(word);
    const std::size_t size = has_id ? size_of_broken(text, word.size()) : word.size();
    if (size < least_length) continue;
    if (has_id) shown += word.substr(0, id_and_separator);
    shown += "…";
    text.remove_prefix(size);
  }
  return shown += text;
}

}  // namespace foliot::program

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
constexpr std::string_view ends_of_words = " \t\r\n'\"`,;()[]{}<>";

}  // namespace

std::string without_secrets(std::string_view text) {
  std::string shown;
  for (std::size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix)) {
    shown += text.substr(0, at + prefix.size());
    text.remove_prefix(at + prefix.size());
    const std::string_view word = text.substr(0, std::min(text.find_first_of(ends_of_words), text.size()));
    if (word.size() < least_length) continue;
    if (word[id_and_separator - 1] == '_') shown += word.substr(0, id_and_separator);
    shown += "…";
    text.remove_prefix(word.size());
  }
  return shown += text;
}

}  // namespace foliot::program

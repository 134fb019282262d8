#include "printable.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace foliot::program {

namespace {

struct character {
  std::uint32_t code = 0;
  std::size_t size = 0;  ///< in bytes; 0: these bytes are not UTF-8
};

/// The first character of a text. Precondition: it is not empty.
character first_of(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[size] || code > 0x10ffff || surrogate) return {};
  return {code, size};
}

/// Whether a terminal would obey it, or show the text around it in another order.
constexpr bool is_control(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const character next = first_of(text);
    const std::string_view bytes = text.substr(0, next.size == 0 ? 1 : next.size);
    text.remove_prefix(bytes.size());
    if (next.size > 0 && !is_control(next.code)) {
      shown += bytes;
      continue;
    }
    for (const char each : bytes) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(each));
    }
  }
  return shown;
}

}  // namespace foliot::program

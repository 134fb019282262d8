#include "reservation_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>

namespace foliot::program::http {

namespace {

/// Takes a number and the dash behind it.
std::optional<std::uint64_t> take_number(std::string_view& from, int base) noexcept {
  const std::string_view digits = from.substr(0, from.find('-'));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  from.remove_prefix(std::min(digits.size() + 1, from.size()));
  return value;
}

}  // namespace

std::string text_of(const jobs::reservation& token) {
  return fmt::format("{}-{:x}-{}", token.id, token.opening, token.attempt);
}

std::optional<jobs::reservation> parse_reservation(std::string_view text) {
  const std::string_view whole = text;
  const auto id = take_number(text, 10);
  const auto opening = take_number(text, 16);
  const auto attempt = take_number(text, 10);
  if (!id || !opening || !attempt) return std::nullopt;
  const jobs::reservation read{*id, *opening, *attempt};
  if (text_of(read) != whole) return std::nullopt;  // such as leading zeros, or a dash at the end
  return read;
}

}  // namespace foliot::program::http

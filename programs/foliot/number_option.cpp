#include "number_option.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace foliot::program {

namespace {

/// The bytes of a unit; nothing if there is no such unit.
std::optional<std::uint64_t> factor_of(std::string_view unit) {
  std::string lower(unit);
  for (char& each : lower) each = each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  if (lower.empty() || lower == "b") return 1;
  const std::size_t power = std::string_view("kmgtpe").find(lower.front());
  const std::string_view rest = std::string_view(lower).substr(1);
  if (power == std::string_view::npos || (rest != "" && rest != "b" && rest != "i" && rest != "ib"))
    return std::nullopt;
  return std::uint64_t{1} << (10 * (power + 1));
}

}  // namespace

whole_number::whole_number(std::uint64_t least, std::uint64_t most) {
  func_ = [least, most](std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number < least || number > most) {
      return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
    }
    text = std::to_string(number);
    return std::string();
  };
}

size_in_bytes::size_in_bytes() {
  func_ = [](std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    const std::optional<std::uint64_t> factor = factor_of(unit);
    if (error != std::errc() || !factor) {
      return fmt::format("'{}' is no size: write a whole number of bytes, KB, MB, GB or TB, such as 64MB", text);
    }
    if (number > std::numeric_limits<std::uint64_t>::max() / *factor) {
      return fmt::format("'{}' is too large: there is no memory of that size", text);
    }
    text = std::to_string(number * *factor);
    return std::string();
  };
}

}  // namespace foliot::program

// Values in the YAML that a server sends for `stats` and `stats-tube`.
//
// Thread safety: pure functions.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foliot::program::bench {

/// The value of this name, without quotes; empty if there is none. Valid as long as the text.
[[nodiscard]] inline std::string_view statistic_in(std::string_view yaml, std::string_view name) {
  const std::string begin = "\n" + std::string(name) + ": ";
  const std::size_t at = yaml.find(begin);
  if (at == std::string_view::npos) return {};
  std::string_view value = yaml.substr(at + begin.size());
  value = value.substr(0, value.find('\n'));
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// The number of this name; 0 if there is none.
[[nodiscard]] inline std::uint64_t number_in(std::string_view yaml, std::string_view name) {
  const std::string_view value = statistic_in(yaml, name);
  std::uint64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace foliot::program::bench

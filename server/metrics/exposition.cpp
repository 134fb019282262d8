#include "exposition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace foliot::program {

namespace {

/// How many bytes the character of UTF-8 has that begins here; 0: none does.
std::size_t length_of_character(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  // Longer than need be, a half of a pair of UTF-16, or beyond the last character.
  const unsigned second = byte(1);
  const bool is_wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return is_wrong ? 0 : length;
}

/// The number of seconds, without rounding. `rest`: of a second, in nanoseconds.
std::string seconds_text(std::uint64_t seconds, std::uint64_t rest) {
  std::string text = fmt::format("{}", seconds);
  if (rest == 0) return text;
  text += fmt::format(".{:09}", rest);
  return text.erase(text.find_last_not_of('0') + 1);
}

std::string seconds_of_microseconds(std::uint64_t count) {
  return seconds_text(count / 1'000'000, count % 1'000'000 * 1000);
}

}  // namespace

std::string escaped_label(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const std::size_t length = length_of_character(value);
    const char first = value.front();
    const bool is_control = static_cast<unsigned char>(first) < 0x20 || first == 0x7F;
    if (first == '\n') {
      text += "\\n";
    } else if (first == '\\' || first == '"') {
      text += '\\';
      text += first;
    } else if (length == 0 || is_control) {
      text += fmt::format("\\\\x{:02X}", static_cast<unsigned char>(first));
    } else {
      text += value.substr(0, length);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

void exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = fmt::format("{}{}", name.starts_with("process_") ? "" : "foliot_", name);
  text_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name_, type, help);
}

void exposition::sample(labels with, duration value) {
  constexpr std::uint64_t second = 1'000'000'000;
  const auto nanoseconds = static_cast<std::uint64_t>(std::max(value, duration::zero()).count());
  add(with, seconds_text(nanoseconds / second, nanoseconds % second));
}

std::string exposition::number_text(std::uint64_t value) { return fmt::format("{}", value); }

void exposition::add(labels with, std::string_view value, std::string_view suffix) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const prometheus_label& each : with) {
    text_ += before;
    text_.append(each.name).append("=\"").append(escaped_label(each.value)).append("\"");
    before = ',';
  }
  text_.append(with.size() == 0 ? " " : "} ").append(value).append("\n");
}

void exposition::distribution(std::string_view name, std::string_view help,
                              const jobs::time_histogram::counts& values) {
  family(name, "histogram", help);
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < jobs::time_histogram::buckets; ++i) {
    so_far += values.in[i];
    const bool is_last = i == jobs::time_histogram::bounds_us.size();
    const std::string bound =
        is_last ? "+Inf" : seconds_of_microseconds(static_cast<std::uint64_t>(jobs::time_histogram::bounds_us[i]));
    add({{"le", bound}}, number_text(so_far), "_bucket");
  }
  add({}, seconds_of_microseconds(values.sum_us), "_sum");
  add({}, number_text(so_far), "_count");
}

}  // namespace foliot::program

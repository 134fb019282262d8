#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::inline core {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr unit whole_units[]{{"d", 86'400'000'000'000}, {"h", 3'600'000'000'000}, {"m", 60'000'000'000}};
constexpr unit second{"s", 1'000'000'000};
constexpr unit fractions_of_a_second[]{{"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};

/// Appends the decimal number `nanoseconds / of`, exactly: 1.5s.
void append(std::string& text, std::uint64_t nanoseconds, const unit& of) {
  text += std::to_string(nanoseconds / of.nanoseconds);
  if (std::uint64_t rest = nanoseconds % of.nanoseconds; rest > 0) {
    text += '.';
    for (std::uint64_t place = of.nanoseconds / 10; rest > 0; place /= 10) {
      text += static_cast<char>('0' + rest / place);
      rest %= place;
    }
  }
  text += of.name;
}

void append(std::string& text, std::uint64_t nanoseconds) {
  if (nanoseconds > 0 && nanoseconds < second.nanoseconds) {
    for (const unit& each : fractions_of_a_second) {
      if (nanoseconds >= each.nanoseconds) return append(text, nanoseconds, each);
    }
  }
  std::uint64_t rest = nanoseconds;
  for (const unit& each : whole_units) {
    if (rest >= each.nanoseconds) append(text, rest - rest % each.nanoseconds, each);
    rest %= each.nanoseconds;
  }
  if (rest > 0 || nanoseconds == 0) append(text, rest, second);
}

/// The absolute value, also of INT64_MIN.
constexpr std::uint64_t magnitude(std::int64_t number) noexcept {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}

}  // namespace

std::string to_string(duration length) {
  if (length.is_forever()) return "forever";
  std::string text = length < duration::zero() ? "-" : "";
  append(text, magnitude(length.count()));
  return text;
}

std::string to_string(instant when) {
  if (when.is_never()) return "never";
  std::string text = when < instant() ? "-" : "+";
  append(text, magnitude(when.nanoseconds()));
  return text;
}

}  // namespace foliot::inline core

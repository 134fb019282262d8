#include "duration_text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace foliot::program {

namespace {

struct unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

constexpr std::array<unit, 7> units{{{"d", 86'400'000'000'000},
                                     {"h", 3'600'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Takes the characters that satisfy `wanted` from the front of `text`.
template <class Predicate>
std::string_view take_while(std::string_view& text, Predicate wanted) {
  std::size_t length = 0;
  while (length < text.size() && wanted(text[length])) ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

const unit* find_unit(std::string_view name) noexcept {
  for (const unit& each : units) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

/// Adds `digits` of `scale` to `sum`, saturating.
std::int64_t add_whole(std::int64_t sum, std::string_view digits, std::int64_t scale) noexcept {
  std::int64_t whole = 0;
  for (const char digit : digits) {
    whole = detail::saturating_add(detail::saturating_multiply(whole, 10), digit - '0');
  }
  return detail::saturating_add(sum, detail::saturating_multiply(whole, scale));
}

/// 0.`digits` of `scale`, rounded up.
std::int64_t fraction_of(std::string_view digits, std::int64_t scale) noexcept {
  // One digit after the other: `rest` is what the digits so far leave of a nanosecond, in units of the digit's own
  // decimal position. With 18 digits at most, and scale below 2^47, 128 bits suffice.
  __extension__ using wide = unsigned __int128;
  wide numerator = 0;
  wide denominator = 1;
  for (const char digit : digits) {
    numerator = numerator * 10 + static_cast<unsigned>(digit - '0');
    denominator *= 10;
  }
  return static_cast<std::int64_t>((numerator * static_cast<wide>(scale) + denominator - 1) / denominator);
}

constexpr std::size_t most_fraction_digits = 18;

}  // namespace

std::expected<duration, std::string> parse_duration(std::string_view text) {
  const auto refuse = [text](std::string_view why, std::string_view remedy) {
    return std::unexpected(fmt::format("'{}' {}: {}", text, why, remedy));
  };
  constexpr std::string_view form = "write numbers with d, h, m, s, ms, us or ns, such as 30m, 1h30m or 1.5h";
  if (text.empty()) return refuse("is no duration", form);
  if (text.front() == '-') return refuse("is negative", "a duration must be positive");
  std::int64_t sum = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view whole = take_while(rest, is_digit);
    std::string_view fraction;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      fraction = take_while(rest, is_digit);
      if (fraction.empty()) return refuse("is no duration", form);
    }
    if (whole.empty()) return refuse("is no duration", form);
    const std::string_view name = take_while(rest, [](char c) { return !is_digit(c) && c != '.'; });
    if (name.empty()) return refuse("has a number without a unit", form);
    const unit* scale = find_unit(name);
    if (scale == nullptr) return refuse("has a unit that does not exist", form);
    if (fraction.size() > most_fraction_digits) return refuse("has more than 18 digits after the point", "round it");
    sum = add_whole(sum, whole, scale->nanoseconds);
    sum = detail::saturating_add(sum, fraction_of(fraction, scale->nanoseconds));
  }
  if (sum == detail::int64_max) return refuse("is too long", "at most some 292 years (106751d) can be counted");
  if (sum == 0) return refuse("is zero", "a duration must be positive");
  return duration::nanoseconds(sum);
}

}  // namespace foliot::program

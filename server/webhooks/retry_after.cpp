#include "retry_after.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace foliot::program::webhooks {

namespace {

using namespace std::chrono;

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                               "Friday", "Saturday", "Sunday"};

/// Takes parts off the front of a text; after the first that does not fit, none does.
class date_reader {
 public:
  explicit date_reader(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool is_whole() const noexcept { return !failed_ && rest_.empty(); }

  void take(std::string_view text) noexcept {
    failed_ = failed_ || !rest_.starts_with(text);
    if (!failed_) rest_.remove_prefix(text.size());
  }
  /// A number of exactly so many digits; with `may_be_blank` the first may be a blank.
  unsigned number(std::size_t size, bool may_be_blank = false) noexcept {
    if (may_be_blank && rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
      --size;
    }
    unsigned value = 0;
    failed_ = failed_ || rest_.size() < size ||
              !std::ranges::all_of(rest_.substr(0, size), [](char c) { return c >= '0' && c <= '9'; });
    if (failed_) return 0;
    std::from_chars(rest_.data(), rest_.data() + size, value);
    rest_.remove_prefix(size);
    return value;
  }
  month month_name() noexcept {
    const auto found = std::ranges::find(months, rest_.substr(0, 3));
    failed_ = failed_ || found == months.end();
    if (failed_) return month(0);
    rest_.remove_prefix(3);
    return month(static_cast<unsigned>(found - months.begin()) + 1);
  }
  /// The name of a day, whole or its first three letters. Which one it is does not matter.
  void day_name(bool is_whole_name) noexcept {
    for (const std::string_view each : days) {
      const std::string_view name = is_whole_name ? each : each.substr(0, 3);
      if (!rest_.starts_with(name)) continue;
      rest_.remove_prefix(name.size());
      return;
    }
    failed_ = true;
  }
  seconds time_of_day() noexcept {
    const unsigned hour = number(2);
    take(":");
    const unsigned minute = number(2);
    take(":");
    const unsigned second = number(2);
    failed_ = failed_ || hour > 23 || minute > 59 || second > 60;
    return hours(hour) + minutes(minute) + seconds(second);
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

std::optional<sys_seconds> instant_of(const date_reader& from, int full_year, month in, unsigned day_of,
                                      seconds time) noexcept {
  const year_month_day date(year(full_year), in, day(day_of));
  if (!from.is_whole() || !date.ok()) return std::nullopt;
  return sys_days(date) + time;
}

std::optional<sys_seconds> parse_fixed_date(std::string_view text) noexcept {
  date_reader in(text);
  in.day_name(false);
  in.take(", ");
  const unsigned day_of = in.number(2);
  in.take(" ");
  const month of = in.month_name();
  in.take(" ");
  const unsigned of_year = in.number(4);
  in.take(" ");
  const seconds time = in.time_of_day();
  in.take(" GMT");
  return instant_of(in, static_cast<int>(of_year), of, day_of, time);
}

/// A year of two digits that seems to be more than 50 years ahead is one of the past.
std::optional<sys_seconds> parse_rfc850_date(std::string_view text, sys_seconds now) noexcept {
  date_reader in(text);
  in.day_name(true);
  in.take(", ");
  const unsigned day_of = in.number(2);
  in.take("-");
  const month of = in.month_name();
  in.take("-");
  const auto two_digits = static_cast<int>(in.number(2));
  in.take(" ");
  const seconds time = in.time_of_day();
  in.take(" GMT");
  const int present = static_cast<int>(year_month_day(floor<std::chrono::days>(now)).year());
  int of_year = present / 100 * 100 + two_digits;
  if (of_year > present + 50) of_year -= 100;
  return instant_of(in, of_year, of, day_of, time);
}

std::optional<sys_seconds> parse_asctime_date(std::string_view text) noexcept {
  date_reader in(text);
  in.day_name(false);
  in.take(" ");
  const month of = in.month_name();
  in.take(" ");
  const unsigned day_of = in.number(2, true);
  in.take(" ");
  const seconds time = in.time_of_day();
  in.take(" ");
  const unsigned of_year = in.number(4);
  return instant_of(in, static_cast<int>(of_year), of, day_of, time);
}

}  // namespace

std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, std::chrono::sys_seconds now,
                                                      std::chrono::seconds longest) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  if (std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    return error != std::errc() ? longest : std::min(longest, seconds(count));
  }
  std::optional<sys_seconds> until = parse_fixed_date(text);
  if (!until) until = parse_rfc850_date(text, now);
  if (!until) until = parse_asctime_date(text);
  if (!until) return std::nullopt;
  return std::clamp(*until - now, seconds(0), longest);
}

}  // namespace foliot::program::webhooks

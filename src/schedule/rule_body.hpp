// What a rule holds: its text as it was read.
//
// Thread safety: immutable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <foliot/schedule/rule.hpp>

#include "schedule/civil.hpp"
#include "schedule/cron_fields.hpp"

namespace foliot::schedule {

/// anchor + n * interval, for n from 0.
struct every_interval {
  seconds interval{};
  sys_seconds anchor{};

  [[nodiscard]] std::optional<sys_seconds> next(sys_seconds after) const noexcept;
  [[nodiscard]] std::optional<sys_seconds> previous(sys_seconds before) const noexcept;
};

/// Every `interval` weeks.
struct every_weeks {
  int interval = 1;
  number_set weekdays{};         ///< Sunday is 0
  std::vector<seconds> times{};  ///< of the day, the earliest first, at least one
  local_days first{};            ///< no occurrence is earlier; its week, from Monday on, is the first

  [[nodiscard]] std::optional<local_seconds> next(local_seconds from) const;
  [[nodiscard]] std::optional<local_seconds> previous(local_seconds from) const;

 private:
  [[nodiscard]] bool has_day(local_days day) const noexcept;
};

struct once {
  written_time at{};
};

struct delay_after {
  seconds delay{};
};

namespace detail {

struct rule_body {
  std::string text{};
  std::variant<cron_fields, every_interval, every_weeks, once, delay_after> what{};
  std::vector<std::string> warnings{};
};

}  // namespace detail

/// What an author of `every` and `after` has written; nothing if it is no length, or not in whole seconds.
[[nodiscard]] std::optional<seconds> read_length(std::string_view text) noexcept;

/// Reads the fields of cron. `before` is how many characters stand before `text` in what the user has written.
[[nodiscard]] std::expected<cron_fields, rule_error> parse_cron(std::string_view text, std::size_t before, dialect how,
                                                                std::vector<std::string>& warnings);

/// The weekday with this name of three letters, in any case; 0 is Sunday, -1 none.
[[nodiscard]] int weekday_named(std::string_view name) noexcept;

/// As rule::words().
[[nodiscard]] std::string words_of(const detail::rule_body& body);

}  // namespace foliot::schedule

#include "job_figures.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <system_error>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>

namespace foliot::program {

namespace {

using jobs::job_counts;

constexpr std::string_view first_line = "foliot-jobs 1\n";

struct count_line {
  std::string_view name;
  std::uint64_t job_counts::* field;
};
constexpr std::array count_lines{
    count_line{"jobs_ready ", &job_counts::ready},
    count_line{"jobs_delayed ", &job_counts::delayed},
    count_line{"jobs_reserved ", &job_counts::reserved},
    count_line{"jobs_buried ", &job_counts::buried},
};

std::string seconds_text(duration length) {
  const std::int64_t milliseconds = length.count() / 1'000'000;
  return fmt::format("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
}

/// These functions read the beginning of the text. On success they remove what they read, and return true.
bool skip(std::string_view& text, std::string_view expected) noexcept {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

bool read(std::string_view& text, std::uint64_t& number) noexcept {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

bool read(std::string_view& text, std::optional<duration>& length) noexcept {
  constexpr std::uint64_t most = 9'223'372'036;  // seconds, some 292 years: what a duration holds
  std::uint64_t seconds = 0;
  std::uint64_t milliseconds = 0;
  if (!read(text, seconds) || seconds > most || !skip(text, ".")) return false;
  const std::size_t before = text.size();
  if (!read(text, milliseconds) || before - text.size() != 3) return false;
  length = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000 + milliseconds));  // saturates
  return true;
}

bool read(std::string_view& text, tube_figures& one) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos || end == 0 || end > jobs::longest_tube_name) return false;
  one.name = text.substr(0, end);
  text.remove_prefix(end);
  for (const auto& [name, field] : count_lines) {
    if (!skip(text, " ") || !read(text, one.counts.*field)) return false;
  }
  return skip(text, "\n");
}

bool read(std::string_view text, job_figures& now) {
  if (!skip(text, first_line)) return false;
  if (skip(text, "tubes ") && !(read(text, now.tubes.emplace()) && skip(text, "\n"))) return false;
  if (text.starts_with(count_lines.front().name)) {
    now.counts.emplace();
    for (const auto& [name, field] : count_lines) {
      if (!skip(text, name) || !read(text, *now.counts.*field) || !skip(text, "\n")) return false;
    }
  }
  if (skip(text, "next_due_seconds ")) {
    if (!read(text, now.next_due) || !skip(text, "\n")) return false;
  } else if (skip(text, "delayed_overdue_seconds ")) {
    now.is_overdue = true;
    if (!skip(text, "-") && !read(text, now.overdue)) return false;
    if (!skip(text, "\n")) return false;
  }
  if (skip(text, "schedules ")) {
    schedule_counts& seen = now.schedules.emplace();
    if (!read(text, seen.all) || !skip(text, " ") || !read(text, seen.due) || !skip(text, "\n")) return false;
  }
  while (skip(text, "tube ")) {
    if (!read(text, now.by_tube.emplace_back())) return false;
  }
  return text == "end\n";
}

}  // namespace

std::string job_figures_text(const job_figures& now) {
  std::string text(first_line);
  if (now.tubes) text += fmt::format("tubes {}\n", *now.tubes);
  if (now.counts) {
    for (const auto& [name, field] : count_lines) text += fmt::format("{}{}\n", name, *now.counts.*field);
  }
  if (now.is_overdue) {
    text += fmt::format("delayed_overdue_seconds {}\n", now.overdue ? seconds_text(*now.overdue) : "-");
  } else if (now.next_due) {
    text += fmt::format("next_due_seconds {}\n", seconds_text(*now.next_due));
  }
  if (now.schedules) text += fmt::format("schedules {} {}\n", now.schedules->all, now.schedules->due);
  for (const tube_figures& each : now.by_tube) {
    text += fmt::format("tube {}", each.name);
    for (const auto& [name, field] : count_lines) text += fmt::format(" {}", each.counts.*field);
    text += '\n';
  }
  return text + "end\n";
}

std::optional<job_figures> parse_job_figures(std::string_view text) {
  job_figures now;
  return read(text, now) ? std::optional(std::move(now)) : std::nullopt;
}

}  // namespace foliot::program

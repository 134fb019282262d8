// What a server tells of its jobs in the text that `foliot top` reads, behind the text of its runtime:
//
//   foliot-jobs 1
//   tubes 2
//   jobs_ready 12
//   jobs_delayed 1000
//   jobs_reserved 3
//   jobs_buried 0
//   next_due_seconds 3.200
//   schedules 7 1
//   tube mail 12 999 3 0
//   tube default 0 1 0 0
//   end
//
// The number in the first line changes when the meaning of any other line does. A line is missing where the server does
// not know: while its store does not answer, or where a count would take long. `next_due_seconds` is missing, too,
// where no job is delayed; `delayed_overdue_seconds` stands in its place while a due job has not been made ready, with
// `-` where it is not known for how long. A line of a tube has its ready, delayed, reserved and buried jobs,
// and that of the schedules how many there are, and how many of them have something to do now. The names
// are those of the figures of several nodes (docs/serve/monitoring.md).
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::program {

struct tube_figures {
  std::string name;
  jobs::job_counts counts{};

  friend bool operator==(const tube_figures&, const tube_figures&) = default;
};

struct schedule_counts {
  std::uint64_t all = 0;
  std::uint64_t due = 0;  ///< have something to do now

  friend bool operator==(const schedule_counts&, const schedule_counts&) = default;
};

struct job_figures {
  std::optional<std::uint64_t> tubes{};
  std::optional<jobs::job_counts> counts{};  ///< `urgent` is not told
  std::optional<duration> next_due{};        ///< until a job is due
  bool is_overdue = false;                   ///< a due job has not been made ready; then there is no next_due
  std::optional<duration> overdue{};         ///< for so long
  std::optional<schedule_counts> schedules{};
  std::vector<tube_figures> by_tube{};

  friend bool operator==(const job_figures&, const job_figures&) = default;
};

/// The lines, to the millisecond.
[[nodiscard]] std::string job_figures_text(const job_figures& now);

/// Reads the lines; nothing if they are others.
[[nodiscard]] std::optional<job_figures> parse_job_figures(std::string_view text);

}  // namespace foliot::program

// The figures: one record for each workload, contestant, number of timers and number of threads, and for single calls
// one for each kind of call; their forms for people and for programs, and where these go.
//
// Thread safety: plain values, and functions without a state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>

#include "benchmark.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "roster.hpp"

namespace foliot::program::bench {

struct serve_results;

// Medians, spreads and percentiles of a few or of many figures. All functions may reorder their argument. Precondition
// of all: it is not empty.

/// Of an even number of figures: the mean of the two in the middle.
[[nodiscard]] inline double median(std::span<double> figures) {
  FOLIOT_ASSERT(!figures.empty(), "the median needs at least one figure");
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::ranges::nth_element(figures, middle);
  if (figures.size() % 2 == 1) return *middle;
  return (*std::max_element(figures.begin(), middle) + *middle) / 2;
}

struct spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
[[nodiscard]] inline spread spread_of(std::span<double> figures) {
  const auto [min, max] = std::ranges::minmax(figures);
  return {.median = median(figures), .min = min, .max = max};
}

struct percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};
/// Nearest rank: the smallest figure that the given share of all figures does not exceed.
[[nodiscard]] inline percentiles percentiles_of(std::span<std::uint32_t> figures) {
  FOLIOT_ASSERT(!figures.empty(), "percentiles need at least one figure");
  std::ranges::sort(figures);
  const auto per_mille = [figures](std::size_t share) {
    const std::size_t rank = (figures.size() * share + 999) / 1000;
    return static_cast<double>(figures[std::max<std::size_t>(rank, 1) - 1]);
  };
  return {.p50 = per_mille(500), .p99 = per_mille(990), .p999 = per_mille(999), .max = per_mille(1000)};
}

// ---------------------------------------------------------------- records

/// In unit_of(what).
struct record {
  workload what = workload::w1;
  std::string call{};  ///< start, stop, reset or expire, where single calls are timed; else empty
  std::string contestant{};
  std::size_t timers = 0;
  int threads = 1;
  spread cost{};                       ///< over the repetitions; of single calls and of sleeps: of their medians
  std::optional<percentiles> calls{};  ///< of single calls: the median repetition's; of sleeps: of all together
  std::optional<double> worst{};       ///< of single calls, sleeps and averages of them: the longest in any repetition
  std::optional<double> per_fired{};   ///< of expire: all calls together, for each timer that fired
  std::optional<double> bytes_per_timer{};
  std::optional<double> bytes_per_task{};
};

/// A contestant that was measured.
struct participant {
  std::string name{};
  std::string version{};
  std::string time{};  ///< virtual, real or none
  std::string remark{};
};

/// A workload that was chosen and is not measured, with the reason.
struct omission {
  workload what = workload::w1;
  std::string reason{};  ///< "none of the contestants named takes part"

  friend bool operator==(const omission&, const omission&) = default;
};

/// Facts of the machine and the build, name and value, in the order in which people read them: processor, cores, …
using machine_facts = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] machine_facts describe_machine();

/// A sentence on why the figures of this build mean little; nothing for an optimised build without checks.
[[nodiscard]] std::optional<std::string> build_warning();

struct results {
  machine_facts machine{};
  std::vector<participant> contestants{};
  std::vector<absence> left_out{};
  std::vector<omission> not_measured{};
  bool with_generations = false;  ///< the text and the page begin with the story of the generations
  std::string reference{};        ///< the contestant that ratios refer to; may be empty
  int repetitions = 0;
  std::vector<record> records{};

  /// The record, or null. `call` is empty but for single calls.
  [[nodiscard]] const record* find(workload what, std::string_view contestant, std::size_t timers,
                                   std::string_view call = {}, int threads = 1) const noexcept {
    for (const record& each : records) {
      if (each.what == what && each.contestant == contestant && each.timers == timers && each.call == call &&
          each.threads == threads)
        return &each;
    }
    return nullptr;
  }

  /// The cost as a multiple of the reference's, if that was measured too.
  [[nodiscard]] std::optional<double> ratio(const record& of) const noexcept {
    const record* base = find(of.what, reference, of.timers, of.call, of.threads);
    if (base == nullptr || base->cost.median <= 0) return std::nullopt;
    return of.cost.median / base->cost.median;
  }
};

/// Tables for a terminal: one for each workload, with a line for each contestant and a column for each number of
/// timers, half the range of the repetitions, and the ratio to the reference.
[[nodiscard]] std::string results_text(const results& all);

/// The story of the generations: one table, then a line on each group of columns and a sentence on each generation. The
/// table has a line for each generation that was measured, in the order of their years, then for the other contestants;
/// columns that do not fit into a line follow below. Empty if no workload of the story was measured.
[[nodiscard]] std::string generations_text(const results& all);

/// JSON; docs/bench.md describes the fields.
[[nodiscard]] std::string results_json(const results& all);

/// Whether this program was built with Chart.js, and so can make the page.
[[nodiscard]] bool report_available() noexcept;

/// One page with charts, as HTML that loads nothing: it contains the style, the script, the figures, and Chart.js with
/// the notice of its MIT licence. Precondition: report_available().
[[nodiscard]] std::string report_page(const results& all);

/// The same for `foliot bench serve` or another command with such figures. Precondition: report_available().
[[nodiscard]] std::string report_page(const serve_results& all);

// ---------------------------------------------------------------- outputs

// Where the figures go: as text to standard output, as JSON and as a page to files; and the progress of a run.

/// The names of the files that the user asks for; "-" is standard output.
struct output_names {
  std::optional<std::string> json{};
  std::optional<std::string> report{};
};

/// The files, opened, and standard output, unless one of them is that.
class outputs {
 public:
  /// Throws failure if two outputs go to the same file, one cannot be made, or this program cannot make the page.
  explicit outputs(const output_names& names);

  /// Writes the figures of timers, or those of servers. Throws failure.
  void publish(const results& all);
  void publish(const serve_results& all);

 private:
  void publish(const auto& all, auto text_of, auto json_of);

  bool standard_output_taken_;
  std::optional<output_file>
      json_;  // made before the long work, so that a name that cannot be written is reported at once
  std::optional<output_file> page_;
};

/// A line of the terminal that shows the progress, and is wiped off at the end.
class progress_line {
 public:
  progress_line() = default;
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// `what` is measured now, after `done` of `all` measurements.
  void show(const std::string& what, std::uint64_t done, std::uint64_t all);

 private:
  progress::writer write_ = standard_error_if_terminal();
};

}  // namespace foliot::program::bench

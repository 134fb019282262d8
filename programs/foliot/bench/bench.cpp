#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../failure.hpp"
#include "../file_identity.hpp"
#include "../output_file.hpp"
#include "../progress.hpp"
#include "../report.hpp"
#include "bench_options.hpp"
#include "choice.hpp"
#include "measure.hpp"
#include "report/report.hpp"
#include "roster.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::string_view standard_output = "-";

/// Whether the JSON or the page goes to standard output, so that the text does not.
bool standard_output_taken(const bench_options& options) noexcept {
  return (options.json && output_file::is_standard_output(*options.json)) ||
         (options.report && output_file::is_standard_output(*options.report));
}

/// No output may take the place of another one.
void check_outputs(const bench_options& options) {
  const auto refuse_if_one = [](const std::optional<std::string>& a, const std::optional<std::string>& b,
                                std::string_view names) {
    if (!a || !b || !same_file(file_identity::of_output(*a), file_identity::of_output(*b))) return;
    throw failure(fmt::format("{} go to the same file: name two", names));
  };
  refuse_if_one(options.json, options.report, "--json and --report");
  if (standard_output_taken(options)) return;
  const std::optional<std::string> text{standard_output};
  refuse_if_one(options.json, text, "--json and standard output");
  refuse_if_one(options.report, text, "--report and standard output");
}

void check(const bench_options& options) {
  check_outputs(options);
  if (options.report && !report_available()) {
    throw failure("--report: Chart.js was not installed when this program was built (Debian: libjs-chart.js)");
  }
}

/// Opens a file before the long work, so that a name that cannot be written is reported at once.
void open(std::optional<output_file>& file, const std::optional<std::string>& name) {
  if (name) file.emplace(*name);
}

void publish(std::optional<output_file>& file, std::string_view text) {
  if (!file) return;
  file->write(text);
  file->publish();
}

/// A line on a terminal with the progress of the run, which is wiped off in the end.
class progress_line {
 public:
  progress_line() = default;
  ~progress_line() { write_(clear); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void operator()(const std::string& what, std::uint64_t done, std::uint64_t all) {
    write_(fmt::format("{}{:3d}%  {}", clear, 100 * done / all, what));
  }

 private:
  static constexpr std::string_view clear = "\r\033[K";
  progress::writer write_ = standard_error_if_terminal();
};

results measure_with_progress(const bench_options& options, roster chosen) {
  progress_line line;
  return measure(options, std::move(chosen),
                 [&line](const std::string& what, std::uint64_t done, std::uint64_t all) { line(what, done, all); });
}

/// Throws failure where all contestants had to be left out, so that there is nothing to write.
void check_figures(const results& all) {
  if (!all.records.empty()) return;
  std::vector<std::string> reasons;
  for (const absence& each : all.left_out) reasons.push_back(fmt::format("{}: {}", each.name, each.reason));
  throw failure(fmt::format("nothing was measured, for all contestants were left out: {}", fmt::join(reasons, "; ")));
}

/// Adds what was chosen and is not measured. An absence that measuring has found already is not added twice.
void add(results& all, const gaps& missing) {
  for (const absence& each : missing.contestants) {
    if (std::ranges::find(all.left_out, each) == all.left_out.end()) all.left_out.push_back(each);
  }
  all.not_measured = missing.workloads;
}

}  // namespace

void run_bench(const bench_options& options) {
  check(options);
  roster chosen = select(all_contestants(), options.contestants);
  const gaps missing = gaps_in(options, chosen);
  std::optional<output_file> json;
  std::optional<output_file> page;
  open(json, options.json);
  open(page, options.report);
  if (const auto warning = build_warning()) report(*warning);
  if (options.names_workloads) {  // otherwise the contestants were asked for, in all that they take part in
    for (const std::string& each : messages_about(missing)) report(each);
  }
  results all = measure_with_progress(options, std::move(chosen));
  add(all, missing);
  check_figures(all);
  publish(json, json ? results_json(all) : "");
  publish(page, page ? report_page(all) : "");
  if (standard_output_taken(options)) return;
  print(results_text(all));
}

}  // namespace foliot::program::bench

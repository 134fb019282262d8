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
constexpr std::string_view clear_line = "\r\033[K";  // of a terminal

/// Whether the JSON or the page goes to standard output, so that the text does not.
bool standard_output_taken(const bench_options& options) noexcept {
  return (options.json && output_file::is_standard_output(*options.json)) ||
         (options.report && output_file::is_standard_output(*options.report));
}

/// Throws failure if two outputs go to the same file.
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

/// Writes the text to the file of this name, if there is one; made before the long work, so that a name that cannot be
/// written is reported at once.
class optional_output {
 public:
  explicit optional_output(const std::optional<std::string>& name) {
    if (name) file_.emplace(*name);
  }
  template <class Text>
  void publish(const results& all, Text text_of) {
    if (!file_) return;
    file_->write(text_of(all));
    file_->publish();
  }

 private:
  std::optional<output_file> file_;
};

/// Shows the progress in a line of the terminal, which is wiped off at the end.
results measure_with_progress(const bench_options& options, roster chosen) {
  struct line {
    progress::writer write = standard_error_if_terminal();
    ~line() { write(clear_line); }
  } shown;
  return measure(options, std::move(chosen), [&](const std::string& what, std::uint64_t done, std::uint64_t all) {
    shown.write(fmt::format("{}{:3d}%  {}", clear_line, 100 * done / all, what));
  });
}

/// Throws failure if all contestants were left out, so that there is nothing to write.
void check_figures(const results& all) {
  if (!all.records.empty()) return;
  std::vector<std::string> reasons;
  for (const absence& each : all.left_out) reasons.push_back(fmt::format("{}: {}", each.name, each.reason));
  throw failure(fmt::format("nothing was measured, for all contestants were left out: {}", fmt::join(reasons, "; ")));
}

/// Adds the chosen contestants and workloads that are not measured. No absence is added twice.
void add(results& all, const gaps& missing) {
  for (const absence& each : missing.contestants) {
    if (std::ranges::find(all.left_out, each) == all.left_out.end()) all.left_out.push_back(each);
  }
  all.not_measured = missing.workloads;
}

}  // namespace

void run_bench(const bench_options& options) {
  check_outputs(options);
  if (options.report && !report_available()) {
    throw failure("--report: Chart.js was not installed when this program was built (Debian: libjs-chart.js)");
  }
  roster chosen = select(all_contestants(), options.contestants);
  const gaps missing = gaps_in(options, chosen);
  optional_output json(options.json);
  optional_output page(options.report);
  if (const auto warning = build_warning()) report(*warning);
  if (options.names_workloads) {  // otherwise the contestants were asked for, in all that they take part in
    for (const std::string& each : messages_about(missing)) report(each);
  }
  results all = measure_with_progress(options, std::move(chosen));
  add(all, missing);
  check_figures(all);
  json.publish(all, results_json);
  page.publish(all, report_page);
  if (!standard_output_taken(options)) print(results_text(all));
}

}  // namespace foliot::program::bench

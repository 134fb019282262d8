#include "record.hpp"

#include <string_view>

#include <fmt/format.h>

#include "output_file.hpp"
#include "serve/serve_results.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::string_view clear_line = "\r\033[K";  // of a terminal

bool standard_output_taken(const output_names& names) noexcept {
  return (names.json && output_file::is_standard_output(*names.json)) ||
         (names.report && output_file::is_standard_output(*names.report));
}

/// Throws failure if two outputs go to the same file, or the page cannot be made. Returns the names.
const output_names& checked(const output_names& names) {
  const auto refuse_if_one = [](const std::optional<std::string>& a, const std::optional<std::string>& b,
                                std::string_view both) {
    if (!a || !b || !same_file(file_identity::of_output(*a), file_identity::of_output(*b))) return;
    throw failure(fmt::format("{} go to the same file: name two", both));
  };
  refuse_if_one(names.json, names.report, "--json and --report");
  if (!standard_output_taken(names)) {
    const std::optional<std::string> text{"-"};
    refuse_if_one(names.json, text, "--json and standard output");
    refuse_if_one(names.report, text, "--report and standard output");
  }
  if (names.report && !report_available()) {
    throw failure("--report: Chart.js was not installed when this program was built (Debian: libjs-chart.js)");
  }
  return names;
}

}  // namespace

outputs::outputs(const output_names& names) : standard_output_taken_(standard_output_taken(checked(names))) {
  if (names.json) json_.emplace(*names.json);
  if (names.report) page_.emplace(*names.report);
}

void outputs::publish(const auto& all, auto text_of, auto json_of) {
  const auto write = [](output_file& file, const std::string& text) {
    file.write(text);
    file.publish();
  };
  if (json_) write(*json_, json_of(all));
  if (page_) write(*page_, report_page(all));
  if (!standard_output_taken_) print(text_of(all));
}

void outputs::publish(const results& all) { publish(all, results_text, results_json); }
void outputs::publish(const serve_results& all) { publish(all, serve_text, serve_json); }

progress_line::~progress_line() { write_(clear_line); }

void progress_line::show(const std::string& what, std::uint64_t done, std::uint64_t all) {
  write_(fmt::format("{}{:3d}%  {}", clear_line, 100 * done / all, what));
}

}  // namespace foliot::program::bench

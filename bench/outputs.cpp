#include "outputs.hpp"

#include <string_view>

#include <fmt/format.h>

#include "output_file.hpp"
#include "report/report.hpp"
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

outputs::outputs(const output_names& names)
    : standard_output_taken_(standard_output_taken(checked(names))), json_(names.json), page_(names.report) {}

void outputs::publish(const std::function<std::string()>& text, const std::function<std::string()>& json,
                      const std::function<std::string()>& page) {
  json_.publish(json);
  page_.publish(page);
  if (!standard_output_taken_) print(text());
}

progress_line::~progress_line() { write_(clear_line); }

void progress_line::show(const std::string& what, std::uint64_t done, std::uint64_t all) {
  write_(fmt::format("{}{:3d}%  {}", clear_line, 100 * done / all, what));
}

}  // namespace foliot::program::bench

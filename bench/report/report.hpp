// The figures, for people and for programs.
//
// Thread safety: functions without a state.
#pragma once

#include <string>
#include <string_view>

#include "bench/record.hpp"

namespace foliot::program::bench {

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

/// The same for the JSON of `foliot bench serve` or another command with such figures: its heading, and a sentence or
/// two below. Precondition: report_available().
[[nodiscard]] std::string serve_page(std::string_view command, std::string_view introduction, std::string json);

}  // namespace foliot::program::bench

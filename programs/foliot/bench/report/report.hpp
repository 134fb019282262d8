// The figures, for people and for programs.
//
// Thread safety: functions without a state.
#pragma once

#include <string>

#include "../record.hpp"

namespace foliot::program::bench {

/// Tables for a terminal: one a workload, a line for each contestant, a column for each number of timers, with half the
/// range of the repetitions and the ratio to the reference.
[[nodiscard]] std::string results_text(const results& all);

/// The story of the generations: one table, whose columns go on below where they are too many for a line, then what the
/// columns are, and a sentence for each generation. Lines are those of the generations that were measured, in the order
/// of their years, and then of the other contestants. Empty where no workload of the story was measured.
[[nodiscard]] std::string generations_text(const results& all);

/// JSON; docs/bench.md describes the fields.
[[nodiscard]] std::string results_json(const results& all);

/// Whether this program was built with Chart.js, and so can make the page.
[[nodiscard]] bool report_available() noexcept;

/// One page with charts, as HTML that needs nothing beside it: the style, the script, the figures and Chart.js, under
/// the MIT licence, whose notice is in the page. Precondition: report_available().
[[nodiscard]] std::string report_page(const results& all);

}  // namespace foliot::program::bench

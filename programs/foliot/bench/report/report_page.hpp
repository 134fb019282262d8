// The figures as one page with charts, which needs nothing beside it: style, script, data and the
// charting library (Chart.js, under the MIT licence, whose notice is in the page) are inside.
#pragma once

#include <string>

#include "../record.hpp"

namespace foliot::program::bench {

/// Whether this program was built with Chart.js.
[[nodiscard]] bool report_available() noexcept;

/// Precondition: report_available().
[[nodiscard]] std::string report_page(const results& all);

}  // namespace foliot::program::bench

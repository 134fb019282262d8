// Files that are part of the program, byte by byte, as they were when it was built.
#pragma once

#include <string_view>

namespace foliot::program::bench {

[[nodiscard]] std::string_view page_style() noexcept;
[[nodiscard]] std::string_view page_script() noexcept;
/// Empty where Chart.js was not installed.
[[nodiscard]] std::string_view chart_library() noexcept;
[[nodiscard]] std::string_view chart_licence() noexcept;

}  // namespace foliot::program::bench

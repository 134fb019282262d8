// The files of the pages that `foliot explain` writes, which are in the program.
#pragma once

#include <string_view>

namespace foliot::program {

/// The text of a file of programs/foliot/explain. Precondition: it is one of explain.html, explain.css and explain.js.
[[nodiscard]] std::string_view page_part(std::string_view name) noexcept;

}  // namespace foliot::program

// A program that lies beside this one, and that users start as a command of this one: it is linked with libraries that
// this one does without.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foliot::program {

/// Becomes the program of this name in the folder of this program. Throws failure if it is not there: `how_built` says
/// how to get it.
[[noreturn]] void start_beside(std::string_view name, const std::vector<std::string>& arguments,
                               std::string_view how_built);

}  // namespace foliot::program

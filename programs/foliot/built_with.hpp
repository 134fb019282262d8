// What this program was built with: for reports of defects.
#pragma once

#include <string>

namespace foliot::program {

/// A line for each thing: the compiler, the build, and the libraries with the versions of their headers. No time and no
/// path, so that the same sources are the same program.
[[nodiscard]] std::string built_with();

}  // namespace foliot::program

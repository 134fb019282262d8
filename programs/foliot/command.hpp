// One command of the program, as the command line chose it.
#pragma once

#include <functional>

namespace foliot::program {

/// What the user asks for; empty until the command line has been read. Throws failure.
using command = std::function<void()>;

}  // namespace foliot::program

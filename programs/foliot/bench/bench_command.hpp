// The command line of `foliot bench`.
#pragma once

#include "commands.hpp"

namespace foliot::program {

/// What `foliot bench` is for, in the helps.
inline constexpr const char* purpose_of_bench =
    "Measure the timers, beside other libraries', and the server, beside beanstalkd";

/// Adds it to that of the program foliot-bench, which is all of it.
void fill_bench(CLI::App& program, command& chosen);

}  // namespace foliot::program

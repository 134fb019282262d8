// The commands of the program. Each add_ function adds its own to `program`, and sets `chosen` to the run when the user
// asks for it.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace foliot::program {

/// What the user asks for; empty until the command line has been read. Throws failure.
using command = std::function<void()>;

/// What `foliot bench` is for, in the helps.
inline constexpr const char* purpose_of_bench =
    "Measure the timers, beside other libraries', and the server, beside beanstalkd";

void add_bench(CLI::App& program, command& chosen);
void add_completion(CLI::App& program, command& chosen);
void add_copy(CLI::App& program, command& chosen);
void add_explain(CLI::App& program, command& chosen);
void add_job(CLI::App& program, command& chosen);
void add_map(CLI::App& program, command& chosen);
void add_replay(CLI::App& program, command& chosen);
void add_sample(CLI::App& program, command& chosen);
void add_serve(CLI::App& program, command& chosen);
void add_token(CLI::App& program, command& chosen);
void add_top(CLI::App& program, command& chosen);

}  // namespace foliot::program

// The kinds of timers that a processor can have, by name (run_options::timers).
//
// Thread safety: all functions from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <foliot/core/instant.hpp>
#include <foliot/runtime/run_options.hpp>

#include "processor_timers.hpp"

namespace foliot::runtime::detail {

/// Throws std::invalid_argument, which lists the names, if this is none of them.
void check_timers_name(std::string_view name);

/// Makes the timers of the processor of that number. Precondition: check_timers_name(options.timers) does not throw.
/// Throws std::bad_alloc.
std::unique_ptr<processor_timers> make_timers(const run_options& options, std::uint32_t processor, instant now);

}  // namespace foliot::runtime::detail

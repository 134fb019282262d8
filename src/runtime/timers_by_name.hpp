// What a processor can keep its timers in, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <foliot/core/instant.hpp>
#include <foliot/runtime/run_options.hpp>

#include "processor_timers.hpp"

namespace foliot::runtime::detail {

/// Throws std::invalid_argument, which lists what there is.
void check_timers_name(std::string_view name);

/// Timers for the processor of that number. Precondition: the name in the options is one.
std::unique_ptr<processor_timers> make_timers(const run_options& options, std::uint32_t processor, instant now);

}  // namespace foliot::runtime::detail

// The stall report of services whose options have none.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/service/stall.hpp>

namespace foliot::detail {

/// Waits that are longer are printed to standard error; zero: none are. 10 s in a library that is built for Debug, else
/// zero. Tests set it, while no service is made.
FOLIOT_EXPORT extern duration default_stall_limit;

/// Prints the report to standard error.
void print_stall(const stall& one);

}  // namespace foliot::detail

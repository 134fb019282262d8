// Statistics as a table for people: what `foliot top` prints.
//
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/service/statistics.hpp>

namespace foliot::program {

/// An earlier reading of the same service's statistics, for rates.
struct earlier_look {
  const service_statistics& then;
  duration ago;
};

/// There are no rates without an earlier reading, or if the service has begun anew since.
[[nodiscard]] std::string statistics_table(std::string_view name, const service_statistics& now,
                                           const earlier_look* earlier = nullptr);

}  // namespace foliot::program

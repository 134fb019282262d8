// Statistics as a table for people: what `foliot top` prints.
//
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/statistics_text.hpp>
#include <foliot/service/statistics.hpp>

#include "snapshot.hpp"

namespace foliot::program {

/// An earlier reading of the same statistics, for rates.
template <class Statistics>
struct earlier_look {
  const Statistics& then;
  duration ago;
};

/// There are no rates without an earlier reading, or if the service or the runtime has begun anew since. With the
/// slowest callbacks, where the service tells them.
[[nodiscard]] std::string statistics_table(std::string_view name, const service_snapshot& snapshot,
                                           const earlier_look<service_snapshot>* earlier = nullptr);
/// The same for a runtime, with the largest groups of its tasks.
[[nodiscard]] std::string statistics_table(std::string_view name, const runtime_snapshot& now,
                                           const earlier_look<runtime_snapshot>* earlier = nullptr);

/// The same for a server, with its jobs and the tubes that have most of them.
[[nodiscard]] std::string statistics_table(std::string_view name, const server_snapshot& now,
                                           const earlier_look<server_snapshot>* earlier = nullptr);

}  // namespace foliot::program

// All contestants, or those that the user names.
//
// A file of contestants/ has a function that adds its contestants, with all that they offer. A library that was not
// installed when the program was configured has no such function.
//
// Thread safety: none, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contestant.hpp"

namespace foliot::program::bench {

/// A contestant that takes no part in some workloads, with the reason.
struct absence {
  std::string name{};
  std::string from{};    ///< the workload, or the beginning of several names: "W5"; empty: from all
  std::string reason{};  ///< "not installed when this program was built"

  friend bool operator==(const absence&, const absence&) = default;
};

/// Whether the absence is one from this workload.
[[nodiscard]] inline bool concerns(const absence& each, workload what) noexcept {
  // NetpollBreak is missing from all of Go's benchmarks.
  return name(what).starts_with(each.from) || (each.from == missing_of_go && kind_of(what) == figure_kind::processors);
}

struct roster {
  std::vector<contestant> contestants{};  ///< each name once
  std::vector<absence> left_out{};  ///< libraries that were not installed, and workloads that a contestant cannot do

  /// The contestant of this name, added at the end if there is none yet.
  contestant& add(std::string_view name);
  /// The contestant of this name, with this offer beside those that it has.
  contestant& add(std::string_view name, offer also);

  /// Null if there is none of this name.
  [[nodiscard]] const contestant* find(std::string_view name) const noexcept {
    const auto known = std::ranges::find(contestants, name, &contestant::name);
    return known == contestants.end() ? nullptr : &*known;
  }
  [[nodiscard]] std::vector<std::string> names() const;
};

void add_queues(roster& to);
void add_floors(roster& to);
void add_multimap(roster& to);
void add_priority_queue(roster& to);
void add_libuv(roster& to);
void add_libev(roster& to);
void add_libevent(roster& to);
void add_asio(roster& to);
void add_services(roster& to);
void add_runtimes(roster& to);
void add_system_calls(roster& to);
void add_other_languages(roster& to);

/// The queues of the project first, then the floors, the libraries, the services and runtimes, the system calls, and
/// the other languages.
[[nodiscard]] roster all_contestants();

/// Those of these names, in this order; all contestants if there are no names. Throws failure for a name that does not
/// exist.
[[nodiscard]] roster select(roster all, const std::vector<std::string>& names);

/// The names of those that take part in any of these workloads.
[[nodiscard]] std::vector<std::string> taking_part(const roster& all, const std::vector<workload>& in);

/// The contestant that ratios refer to: foliot, or else the first queue of the project; empty if there is neither.
[[nodiscard]] std::string_view reference_of(const roster& all);

}  // namespace foliot::program::bench

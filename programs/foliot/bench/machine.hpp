// The machine and the build that were measured.
//
// Thread safety: none, one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foliot::program::bench {

/// Name and value, in the order in which people read them: processor, cores, memory, kernel, …
using machine_facts = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] machine_facts describe_machine();

/// A sentence on why the figures of this build mean little; nothing for an optimised build without checks.
[[nodiscard]] std::optional<std::string> build_warning();

}  // namespace foliot::program::bench

// The machine and the build that the figures belong to.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foliot::program::bench {

/// Name and value, in the order in which people read them: processor, cores, memory, kernel, …
using machine_facts = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] machine_facts describe_machine();

/// Why figures from this build mean little, a sentence; nothing if it is built as it is to be measured.
[[nodiscard]] std::optional<std::string> build_warning();

}  // namespace foliot::program::bench

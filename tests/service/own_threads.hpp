// The threads of this process, as the kernel shows them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::test {

/// The kernel's folders of the threads with this name. A thread gives itself its name, and is shown for a moment after
/// it has been joined.
inline std::vector<std::filesystem::path> threads_named(std::string_view name) {
  std::vector<std::filesystem::path> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, comm);
    if (comm == name) found.push_back(task.path());
  }
  return found;
}

}  // namespace foliot::test

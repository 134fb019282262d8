#include "program_beside.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program {

void start_beside(std::string_view name, const std::vector<std::string>& arguments, std::string_view how_built) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw failure(
      fmt::format("cannot start {}: {}; {}", program.string(), std::generic_category().message(errno), how_built));
}

}  // namespace foliot::program

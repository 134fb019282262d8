// `foliot bench` is a program of its own beside this one, foliot-bench: it is linked with the libraries that foliot is
// measured beside.
#include "bench/bench_command.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "commands.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

/// Becomes the program foliot-bench. Throws failure if it is not there.
void start_bench(const std::vector<std::string>& arguments) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("foliot-bench");
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw failure(
      fmt::format("cannot start {}: {}; it is built beside foliot by 'cmake --build build --target "
                  "foliot-bench', and by 'scripts/run bench'",
                  program.string(), std::generic_category().message(errno)));
}

}  // namespace

void add_bench(CLI::App& program, command& chosen) {
  CLI::App* const line = program.add_subcommand("bench", purpose_of_bench);
  line->set_help_flag();  // all arguments are those of foliot-bench
  line->prefix_command();
  line->callback([line, &chosen] { chosen = [line] { start_bench(line->remaining()); }; });
}

}  // namespace foliot::program

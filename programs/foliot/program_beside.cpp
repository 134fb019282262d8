// `foliot bench` and `foliot job` are programs of their own, foliot-bench and foliot-job, that lie beside this one and
// become its process: the libraries that foliot is measured beside, the library of HTTP of foliot-job, and those that
// it brings along are not linked with the server.
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "commands.hpp"
#include "job/job_command.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

/// Becomes the program of this name in the folder of this program. Throws failure if it is not there: `how_built` says
/// how to get it.
[[noreturn]] void start_beside(std::string_view name, const std::vector<std::string>& arguments,
                               std::string_view how_built) {
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

/// Adds a command whose arguments are all those of the program beside this one.
void add_beside(CLI::App& program, command& chosen, const char* name, const char* purpose, const char* how_built) {
  CLI::App* const line = program.add_subcommand(name, purpose);
  line->set_help_flag();
  line->prefix_command();
  line->callback(
      [=, &chosen] { chosen = [=] { start_beside(std::string("foliot-") + name, line->remaining(), how_built); }; });
}

}  // namespace

void add_bench(CLI::App& program, command& chosen) {
  add_beside(
      program, chosen, "bench", purpose_of_bench,
      "it is built beside foliot, unless it was configured with FOLIOT_BENCH=OFF, by 'cmake --build build --target "
      "foliot-bench', and by 'scripts/run bench'");
}

void add_job(CLI::App& program, command& chosen) {
  add_beside(program, chosen, "job", purpose_of_job,
             "it is built beside foliot where libcurl is installed (Debian: libcurl4-openssl-dev), by 'cmake --build "
             "build --target foliot-job', and by 'scripts/run job'");
}

}  // namespace foliot::program

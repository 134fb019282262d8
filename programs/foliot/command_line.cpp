#include "command_line.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <foliot/version.hpp>
#include <unistd.h>

#include "output_file.hpp"
#include "report.hpp"
#include "text/failure.hpp"
#include "text/nearest.hpp"
#include "text/passwords.hpp"

namespace foliot::program {

namespace {

/// What the command that `line` describes has of the kind of `stray`: options, or commands.
std::vector<std::string> words_beside(const std::string& stray, const CLI::App& line) {
  std::vector<std::string> words;
  if (stray.starts_with('-')) {
    for (const CLI::Option* const each : line.get_options()) {
      for (const std::string& name : each->get_lnames()) words.push_back("--" + name);
    }
  } else {
    for (const CLI::App* const each : line.get_subcommands({})) words.push_back(each->get_name());
  }
  return words;
}

std::string unknown_word(const std::string& name, const std::string& stray, const CLI::App& line) {
  const auto meant = nearest(stray.substr(0, stray.find('=')), words_beside(stray, line));
  return fmt::format("{} has no '{}'{}", name, stray, meant ? fmt::format(": the nearest is '{}'", *meant) : "");
}

/// The message of CLI11, except where that would mislead.
std::string explain(const CLI::ParseError& error, const CLI::App& program) {
  const CLI::App* asked = &program;
  std::string name = program.get_name();
  for (auto lines = program.get_subcommands(); !lines.empty(); lines = asked->get_subcommands()) {
    if (lines.front()->get_fallthrough()) break;  // its options are those of the command that it belongs to
    asked = lines.front();
    name += " " + asked->get_name();
  }
  const auto strays = asked->remaining();
  // CLI11 checks for arguments that no option takes last, but these are the likeliest mistake.
  const std::string sentence = strays.empty() ? error.what() : unknown_word(name, strays.front(), *asked);
  return fmt::format("{}; see {} --help", sentence, name);
}

/// Where nothing is behind the `=`, as where a variable is not set, CLI11 takes the next argument as the value: that
/// may be a log, which would be overwritten.
void refuse_missing_values(std::span<char*> arguments) {
  for (const std::string_view each : arguments) {
    if (each == "--") return;
    if (each.starts_with("--") && each.find('=') == each.size() - 1)
      throw failure(fmt::format("'{}' has no value behind the '='; see foliot --help", each));
  }
}

bool has_argument(std::span<char*> arguments, std::string_view wanted) noexcept {
  return std::ranges::find(arguments, wanted, [](const char* each) { return std::string_view(each); }) !=
         arguments.end();
}

exit_code run(const command_line& what, int argc, char** argv) {
  refuse_missing_values({argv + 1, argv + std::max(argc, 1)});
  command chosen;
  CLI::App program(what.purpose, what.name);
  bool is_verbose = false;
  if (what.built_with != nullptr) {
    program.set_version_flag("--version", "foliot " FOLIOT_VERSION, "Print the version and exit");
    program.add_flag("--verbose", is_verbose, "With --version: print what it was built with, too");
  }
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.get_formatter()->column_width(24);
  program.get_formatter()->label("REQUIRED", "");
  program.require_subcommand(0, 1);  // at most one, so that a log may be called `sample`
  what.fill(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help and --version
    std::ostringstream text;
    program.exit(wanted, text, text);
    const bool is_version = dynamic_cast<const CLI::CallForVersion*>(&wanted) != nullptr;
    if (is_version && has_argument({argv + 1, argv + std::max(argc, 1)}, "--verbose")) text << what.built_with();
    print(text.str());
    return exit_code::success;
  } catch (const CLI::ParseError& error) {
    throw failure(explain(error, program));
  }
  if (is_verbose) throw failure("--verbose goes with --version, or behind a command that has it; see foliot --help");
  hide_passwords({argv, argv + std::max(argc, 0)});  // they were copied
  if (!chosen) throw failure(what.no_command);
  chosen();
  return exit_code::success;
}

/// Where the caller has closed standard input, output or error, a file that is opened next would get its descriptor,
/// and the output of the program. So each closed one is opened here, in a direction in which every use of it fails.
void fill_standard_descriptors() noexcept {
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest free descriptor, which is this one.
    if (::fcntl(each, F_GETFD) < 0) ::open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

exit_code run_and_report(const command_line& what, int argc, char** argv) {
  try {
    return run(what, argc, argv);
  } catch (const failure& error) {
    report(error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    report("there is not enough memory");
  } catch (const std::exception& error) {
    report(error.what());
  }
  return exit_code::error;
}

}  // namespace

int run_program(const command_line& what, int argc, char** argv) {
  fill_standard_descriptors();
  return static_cast<int>(run_and_report(what, argc, argv));
}

}  // namespace foliot::program

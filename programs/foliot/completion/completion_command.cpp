#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "completion/completion.hpp"
#include "job/job_command.hpp"
#include "output_file.hpp"

namespace foliot::program {

namespace {

/// The first line of a text of the help, without a full stop.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// What the name of a type says in the help: FILE, PATH, DIR, or words with | between them.
completion::value value_of(std::string_view type) {
  using completion::value_kind;
  if (type == "FILE" || type == "PATH") return {value_kind::file, {}};
  if (type == "DIR") return {value_kind::folder, {}};
  if (type.find('|') == std::string_view::npos) return {};
  completion::value found{value_kind::words, {}};
  std::istringstream words{std::string(type)};
  for (std::string each; std::getline(words, each, '|');) found.words.push_back(each);
  return found;
}

completion::command described(const CLI::App& line) {
  completion::command found;
  found.name = line.get_name();
  found.help = first_line(line.get_description());
  for (const CLI::Option* const each : line.get_options()) {
    if (each->get_positional()) {
      // Logs and files of tokens are named by arguments.
      const std::string name = each->get_name(true);
      if (name == "FILE" || name == "LOG" || name == "PATH") found.arguments = {completion::value_kind::file, {}};
      if (const auto words = value_of(each->get_type_name()); words.kind != completion::value_kind::none)
        found.arguments = words;
      continue;
    }
    completion::option option;
    for (const std::string& name : each->get_lnames()) option.names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) option.names.push_back("-" + name);
    option.help = first_line(each->get_description());
    option.takes_value = each->get_items_expected_max() > 0;
    option.value = value_of(each->get_type_name());
    found.options.push_back(std::move(option));
  }
  for (const CLI::App* const each : line.get_subcommands({})) found.commands.push_back(described(*each));
  return found;
}

/// All commands, with those of `foliot job`, which are another program's.
completion::command described_program(const CLI::App& program) {
  completion::command all = described(program);
  CLI::App job(purpose_of_job, "job");
  job.set_help_flag("-h,--help", "Print this help and exit");
  command unused;
  fill_job(job, unused, {});
  std::ranges::replace_if(
      all.commands, [](const completion::command& each) { return each.name == "job"; }, described(job));
  return all;
}

}  // namespace

void add_completion(CLI::App& program, command& chosen) {
  CLI::App* const line =
      program.add_subcommand("completion", "Print what makes a shell complete the commands of foliot");
  line->require_subcommand(1);
  struct shell {
    const char* name;
    const char* help;
    std::string (*script)(const completion::command&);
  };
  for (const auto& [name, help, script] :
       {shell{"bash", "For bash: source <(foliot completion bash)", &completion::bash_script},
        shell{"zsh", "For zsh, behind compinit: source <(foliot completion zsh)", &completion::zsh_script},
        shell{"fish", "For fish: foliot completion fish | source", &completion::fish_script}}) {
    line->add_subcommand(name, help)->callback([&program, &chosen, script = script] {
      chosen = [&program, script] { print(script(described_program(program))); };
    });
  }
}

}  // namespace foliot::program

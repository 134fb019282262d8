// Completion in shells: the scripts for bash, zsh and fish, made from one description of all commands.
//
// Thread safety: pure functions.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "job/job_command.hpp"
#include "output_file.hpp"

namespace foliot::program {

namespace completion {

namespace {

/// What a value may be completed to.
enum class value_kind : std::uint8_t { none, file, folder, words };

struct value {
  value_kind kind = value_kind::none;
  std::vector<std::string> words;  ///< of the kind `words`
};

struct option {
  std::vector<std::string> names;  ///< with their hyphens: --tube
  std::string help;                ///< a line
  bool takes_value = false;
  completion::value value;
};

struct command {
  std::string name;
  std::string help;  ///< a line
  std::vector<option> options;
  completion::value arguments;  ///< those that are no options
  std::vector<command> commands;
};

/// The text for bash and zsh, between quotes.
std::string shell_quoted(std::string_view text) {
  std::string done = "'";
  for (const char c : text) c == '\'' ? done += "'\\''" : done += c;
  return done + "'";
}

/// The same for fish, in which a backslash escapes.
std::string fish_quoted(std::string_view text) {
  std::string done = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') done += '\\';
    done += c;
  }
  return done + "'";
}

/// Calls `see` with each command and its path: "foliot job put".
void walk(const command& from, const std::string& path,
          const std::function<void(const command&, const std::string&)>& see) {
  see(from, path);
  for (const command& each : from.commands) walk(each, path + " " + each.name, see);
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string all;
  for (const std::string& each : words) {
    if (!all.empty()) all += between;
    all += each;
  }
  return all;
}

std::string_view kind_name(value_kind kind) noexcept {
  switch (kind) {
    case value_kind::file: return "file";
    case value_kind::folder: return "folder";
    case value_kind::words: return "words";
    case value_kind::none: break;
  }
  return "none";
}

// The scripts of bash and zsh have the same tables, as functions of the path of a command: which words are commands,
// and what the value of an option is. Both find the path by going through the words of the line.

/// A function that tells whether a path is that of a command.
void add_paths(std::string& to, const command& program) {
  to += "_foliot_is_command() {\n  case $1 in\n";
  walk(program, program.name, [&](const command& it, const std::string& path) {
    if (&it != &program) to += fmt::format("    {}) return 0 ;;\n", shell_quoted(path));
  });
  to += "  esac\n  return 1\n}\n";
}

/// One that gets a path and an option, and sets `kind` and `choices` to those of the option's value; fails if it takes
/// none.
void add_values(std::string& to, const command& program) {
  to += "_foliot_value() {\n  kind=none choices=\n  case \"$1 $2\" in\n";
  walk(program, program.name, [&](const command& it, const std::string& path) {
    for (const option& each : it.options) {
      if (!each.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : each.names) patterns.push_back(shell_quoted(path + " " + name));
      to += fmt::format("    {}) kind={} choices={} ;;\n", joined(patterns, "|"), kind_name(each.value.kind),
                        shell_quoted(joined(each.value.words, " ")));
    }
  });
  to += "    *) return 1 ;;\n  esac\n}\n";
}

/// `_foliot_arguments PATH`: the same for the arguments of a command.
void add_arguments(std::string& to, const command& program) {
  to += "_foliot_arguments() {\n  kind=none choices=\n  case $1 in\n";
  walk(program, program.name, [&](const command& it, const std::string& path) {
    if (it.arguments.kind == value_kind::none) return;
    to += fmt::format("    {}) kind={} choices={} ;;\n", shell_quoted(path), kind_name(it.arguments.kind),
                      shell_quoted(joined(it.arguments.words, " ")));
  });
  to += "  esac\n}\n";
}

/// The completion script of a shell, for the program of this description.
std::string bash_script(const command& program) {
  std::string script =
      "# Completion of foliot for bash. Load it by:  source <(foliot completion bash)\n"
      "# or write it to ~/.local/share/bash-completion/completions/foliot\n\n";
  add_paths(script, program);
  add_values(script, program);
  add_arguments(script, program);
  script += "_foliot_words() {\n  case $1 in\n";
  walk(program, program.name, [&](const command& it, const std::string& path) {
    std::vector<std::string> names;
    std::vector<std::string> options;
    for (const command& each : it.commands) names.push_back(each.name);
    for (const option& each : it.options) options.insert(options.end(), each.names.begin(), each.names.end());
    script += fmt::format("    {}) commands={} options={} ;;\n", shell_quoted(path), shell_quoted(joined(names, " ")),
                          shell_quoted(joined(options, " ")));
  });
  script +=
      "  esac\n}\n"
      "_foliot() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} path=foliot kind choices commands options i word pending= only=\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    if [[ -n $pending ]]; then\n"
      "      [[ $word == = && ${COMP_WORDS[i - 1]} == \"$pending\" ]] || pending=  # --state=ready is three words\n"
      "      continue\n"
      "    fi\n"
      "    if [[ -z $only && $word == -- ]]; then only=1; continue; fi\n"
      "    if [[ -z $only && $word == -* ]]; then _foliot_value \"$path\" \"$word\" && pending=$word; continue; fi\n"
      "    if [[ -z $only ]] && _foliot_is_command \"$path $word\"; then path=\"$path $word\"; fi\n"
      "  done\n"
      "  [[ -n $pending && $current == = ]] && current=\n"
      "  COMPREPLY=()\n"
      "  if [[ -n $pending ]]; then\n"
      "    _foliot_value \"$path\" \"$pending\"\n"
      "  else\n"
      "    _foliot_words \"$path\"\n"
      "    if [[ -z $only && $current == -* ]]; then\n"
      "      mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
      "      return\n"
      "    fi\n"
      "    _foliot_arguments \"$path\"\n"
      "    [[ -n $only ]] || choices=\"$commands $choices\"\n"
      "  fi\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")\n"
      "  case $kind in\n"
      "    file) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "
      "\"$current\") ;;\n"
      "    folder) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "
      "\"$current\") ;;\n"
      "  esac\n"
      "}\n"
      "complete -F _foliot foliot\n";
  return script;
}

std::string zsh_script(const command& program) {
  std::string script =
      "#compdef foliot\n"
      "# Completion of foliot for zsh. Load it behind compinit by:  source <(foliot completion zsh)\n"
      "# or write it to a file _foliot in a folder of $fpath\n\n";
  add_paths(script, program);
  add_values(script, program);
  add_arguments(script, program);
  script += "_foliot_words() {\n  case $1 in\n";
  const auto entry = [](std::string_view name, std::string_view help) {
    std::string escaped;
    for (const char c : name) {
      if (c == ':' || c == '\\') escaped += '\\';
      escaped += c;
    }
    return shell_quoted(fmt::format("{}:{}", escaped, help));
  };
  walk(program, program.name, [&](const command& it, const std::string& path) {
    std::vector<std::string> names;
    std::vector<std::string> options;
    for (const command& each : it.commands) names.push_back(entry(each.name, each.help));
    for (const option& each : it.options) {
      for (const std::string& name : each.names) options.push_back(entry(name, each.help));
    }
    script += fmt::format("    {})\n      commands=({})\n      options=({}) ;;\n", shell_quoted(path),
                          joined(names, " "), joined(options, " "));
  });
  script +=
      "  esac\n}\n"
      "_foliot() {\n"
      "  emulate -L zsh\n"
      "  local current=${words[CURRENT]} at=foliot kind choices pending= only= word\n"
      "  local -a commands options\n"
      "  integer i\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    word=${words[i]}\n"
      "    if [[ -n $pending ]]; then pending=; continue; fi\n"
      "    if [[ -z $only && $word == -- ]]; then only=1; continue; fi\n"
      "    if [[ -z $only && $word == -* ]]; then _foliot_value $at $word && pending=$word; continue; fi\n"
      "    if [[ -z $only ]] && _foliot_is_command \"$at $word\"; then at=\"$at $word\"; fi\n"
      "  done\n"
      "  if [[ -n $pending ]]; then\n"
      "    _foliot_value $at $pending\n"
      "  else\n"
      "    _foliot_words $at\n"
      "    if [[ -z $only && $current == -* ]]; then\n"
      "      _describe -o option options\n"
      "      return\n"
      "    fi\n"
      "    _foliot_arguments $at\n"
      "    [[ -n $only ]] || (( ! $#commands )) || _describe command commands\n"
      "  fi\n"
      "  [[ -z $choices ]] || compadd -- ${=choices}\n"
      "  case $kind in\n"
      "    file) _files ;;\n"
      "    folder) _files -/ ;;\n"
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _foliot ]]; then _foliot \"$@\"; else compdef _foliot foliot; fi\n";
  return script;
}

std::string fish_script(const command& program) {
  std::string script =
      "# Completion of foliot for fish. Load it by:  foliot completion fish | source\n"
      "# or write it to ~/.config/fish/completions/foliot.fish\n\n";
  // Which command the line has come to. Options that take a value are skipped with it.
  script += "function __foliot_takes_value\n  switch \"$argv\"\n";
  walk(program, program.name, [&](const command& it, const std::string& path) {
    for (const option& each : it.options) {
      if (!each.takes_value) continue;
      for (const std::string& name : each.names)
        script += fmt::format("    case {}\n      return 0\n", fish_quoted(path + " " + name));
    }
  });
  script += "  end\n  return 1\nend\nfunction __foliot_is_command\n  switch \"$argv\"\n";
  walk(program, program.name, [&](const command& it, const std::string& path) {
    if (&it != &program) script += fmt::format("    case {}\n      return 0\n", fish_quoted(path));
  });
  script +=
      "  end\n  return 1\nend\n"
      "function __foliot_at\n"
      "  set -l path foliot\n"
      "  set -l skip 0\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if test $skip = 1\n"
      "      set skip 0\n"
      "    else if string match -q -- '-*' $word\n"
      "      if __foliot_takes_value $path $word\n"
      "        set skip 1\n"
      "      end\n"
      "    else if __foliot_is_command $path $word\n"
      "      set path \"$path $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$path\" = \"$argv\"\n"
      "end\n"
      "complete -c foliot -e\n"
      "complete -c foliot -f\n";
  const auto value_of = [](const value& it) -> std::string {
    switch (it.kind) {
      case value_kind::file: return " -F";
      case value_kind::folder: return " -a '(__fish_complete_directories)'";
      case value_kind::words: return fmt::format(" -a {}", fish_quoted(joined(it.words, " ")));
      case value_kind::none: break;
    }
    return "";
  };
  walk(program, program.name, [&](const command& it, const std::string& path) {
    const std::string at = fmt::format("complete -c foliot -n {}", fish_quoted("__foliot_at " + path));
    for (const command& each : it.commands)
      script += fmt::format("{} -a {} -d {}\n", at, fish_quoted(each.name), fish_quoted(each.help));
    if (it.arguments.kind != value_kind::none) script += at + value_of(it.arguments) + "\n";
    for (const option& each : it.options) {
      script += at;
      for (const std::string& name : each.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (each.takes_value) script += each.value.kind == value_kind::file ? " -r" : " -x";
      script += fmt::format("{} -d {}\n", each.takes_value ? value_of(each.value) : "", fish_quoted(each.help));
    }
  });
  return script;
}

}  // namespace

}  // namespace completion

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

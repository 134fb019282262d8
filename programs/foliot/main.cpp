// The program `foliot`.
#include "built_with.hpp"
#include "command_line.hpp"
#include "commands.hpp"

namespace {

using namespace foliot::program;

void add_commands(CLI::App& line, command& chosen) {
  add_replay(line, chosen);
  add_sample(line, chosen);
  add_explain(line, chosen);
  add_bench(line, chosen);
  add_top(line, chosen);
  add_serve(line, chosen);
  add_job(line, chosen);
  add_copy(line, chosen);
  add_map(line, chosen);
  add_token(line, chosen);
  add_completion(line, chosen);
}

}  // namespace

int main(int argc, char** argv) {
  const command_line all{
      .name = "foliot",
      .purpose = "foliot: timers for C++ servers, at work on real input",
      .no_command =
          "no command: name one of 'foliot serve', 'foliot job', 'foliot token', 'foliot copy FROM TO', "
          "'foliot map DATABASE', 'foliot completion SHELL', 'foliot replay LOG', 'foliot sample', "
          "'foliot explain ENGINE', 'foliot bench' and 'foliot top PATH'; see foliot --help",
      .built_with = built_with,
      .fill = add_commands,
  };
  return run_program(all, argc, argv);
}

// The program `foliot-job`. Users start it as `foliot job`.
#include "command_line.hpp"
#include "job/job_command.hpp"

namespace {

using namespace foliot::program;

void fill(CLI::App& line, command& chosen) { fill_job(line, chosen, &terminal::run_job); }

}  // namespace

int main(int argc, char** argv) {
  const command_line all{
      .name = "foliot job",
      .purpose = purpose_of_job,
      .no_command = "no command: name one, such as 'foliot job list'; see foliot job --help",
      .fill = fill,
  };
  return run_program(all, argc, argv);
}

// `foliot job` is a program of its own beside this one, foliot-job: the server does without its library of HTTP, and
// without those that this brings along.
#include "job/job_command.hpp"

#include "commands.hpp"
#include "program_beside.hpp"

namespace foliot::program {

void add_job(CLI::App& program, command& chosen) {
  CLI::App* const line = program.add_subcommand("job", purpose_of_job);
  line->set_help_flag();  // all arguments are those of foliot-job
  line->prefix_command();
  line->callback([line, &chosen] {
    chosen = [line] {
      start_beside("foliot-job", line->remaining(),
                   "it is built beside foliot where libcurl is installed (Debian: libcurl4-openssl-dev), by 'cmake "
                   "--build build --target foliot-job', and by 'scripts/run job'");
    };
  });
}

}  // namespace foliot::program

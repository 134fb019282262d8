// `foliot bench` is a program of its own beside this one, foliot-bench: it is linked with the libraries that foliot is
// measured beside.
#include "commands.hpp"
#include "program_beside.hpp"

namespace foliot::program {

void add_bench(CLI::App& program, command& chosen) {
  CLI::App* const line = program.add_subcommand("bench", purpose_of_bench);
  line->set_help_flag();  // all arguments are those of foliot-bench
  line->prefix_command();
  line->callback([line, &chosen] {
    chosen = [line] {
      start_beside(
          "foliot-bench", line->remaining(),
          "it is built beside foliot by 'cmake --build build --target foliot-bench', and by 'scripts/run bench'");
    };
  });
}

}  // namespace foliot::program

// The program `foliot-bench`. Users start it as `foliot bench`.
#include "bench/bench_command.hpp"
#include "command_line.hpp"

int main(int argc, char** argv) {
  using namespace foliot::program;
  return run_program({.name = "foliot bench", .purpose = purpose_of_bench, .has_version = false, .fill = fill_bench},
                     argc, argv);
}

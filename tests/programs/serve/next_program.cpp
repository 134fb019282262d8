// `foliot serve` of a later release, for tests: the next version of the schema, which adds a column and an index to
// tables of this one. With FOLIOT_NEXT_ADMITS_NONE it does not admit programs of this one.
#include <cstdlib>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "jobs/postgresql/schema.hpp"
#include "jobs/postgresql/schema_history.hpp"

namespace foliot::jobs::detail {

schema_history history_of_schema() noexcept {
  static const schema_step steps[] = {
      {2, schema_step_2()},
      {5, schema_step_5()},
      {6, schema_step_6()},
      {8,
       "ALTER TABLE foliot.tube ADD COLUMN note text; ALTER TABLE foliot.job ADD COLUMN origin text; "
       "ALTER TABLE foliot.node ADD COLUMN place text; CREATE INDEX job_made ON foliot.job (made)"}};
  return {.version = 8, .oldest_program = std::getenv("FOLIOT_NEXT_ADMITS_NONE") == nullptr ? 1 : 8, .steps = steps};
}

}  // namespace foliot::jobs::detail

int main(int argc, char** argv) {
  foliot::program::command chosen;
  CLI::App program("foliot of a later release", "foliot");
  foliot::program::add_serve(program, chosen);
  CLI11_PARSE(program, argc, argv);
  try {
    chosen();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "foliot: {}\n", error.what());
    return 1;
  }
}

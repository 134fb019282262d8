#include "schema_history.hpp"

#include "schema.hpp"

namespace foliot::jobs::detail {

schema_history history_of_schema() noexcept {
  static const schema_step steps[] = {{2, schema_step_2()}, {5, schema_step_5()}, {6, schema_step_6()}};
  // Version 3 has functions that version 2 does not have (sql/versions.sql), version 4 those of sql/lists.sql, and
  // version 7 those of sql/holders.sql; the tables are those of the version before.
  return {.version = 7, .oldest_program = 1, .steps = steps};
}

}  // namespace foliot::jobs::detail

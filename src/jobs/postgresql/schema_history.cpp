#include "schema_history.hpp"

#include "schema.hpp"

namespace foliot::jobs::detail {

schema_history history_of_schema() noexcept {
  static const schema_step steps[] = {{2, schema_step_2()}};
  return {.version = 2, .oldest_program = 1, .steps = steps};
}

}  // namespace foliot::jobs::detail

#include "schema_history.hpp"

namespace foliot::jobs::detail {

schema_history history_of_schema() noexcept { return {.version = 1, .oldest_program = 1, .steps = {}}; }

}  // namespace foliot::jobs::detail

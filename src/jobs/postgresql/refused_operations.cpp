// If the database refuses one operation, because a row is damaged or a trigger raises an error, the other operations of
// the batch are executed. First the batch is tried again with the functions of sql/patient.sql, which leave jobs that
// cannot be made ready as they are. If it is refused again, it is divided in halves until the operation is alone. See
// postgresql_node.hpp.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include <foliot/core/clock.hpp>

#include "jobs/execution_news.hpp"
#include "postgresql_node.hpp"

namespace foliot::jobs::detail {

execution postgresql_node::execute_halves(std::span<operation> batch) {
  const std::size_t half = batch.size() / 2;
  execution made = execute(batch.first(half), 1);
  map_state map = std::move(map_seen_);
  try {
    execution rest = execute(batch.subspan(half), 1);
    std::ranges::move(rest.answers, std::back_inserter(made.answers));
    add_news(made, rest);
    map.version = map_seen_.version;
    map.sends = map.sends || map_seen_.sends;
    for (const std::size_t each : map_seen_.elsewhere) map.elsewhere.push_back(half + each);
  } catch (const store_unavailable& lost) {
    // What has become of the first half is known, and must be told.
    made.answers.resize(batch.size(), unavailable_answer{lost.is_in_doubt(), lost.what()});
  } catch (const store_failure& failure) {  // which the next batch meets as well
    made.answers.resize(batch.size(), unavailable_answer{false, failure.what()});
  }
  map_seen_ = std::move(map);
  return made;
}

execution postgresql_node::refuse_operation(const std::string& why) {
  execution made = execute({});
  made.answers.emplace_back(
      unavailable_answer{false, "foliot: the database " + place_ + " refuses this operation: " + why});
  return made;
}

void postgresql_node::note_refusal(std::string_view why) {
  if (!modes_.note_refusal(monotonic_clock::instance().now())) return;
  warn("the database " + place_ + " refuses an operation, and the rest goes on: " + std::string(why));
}

}  // namespace foliot::jobs::detail

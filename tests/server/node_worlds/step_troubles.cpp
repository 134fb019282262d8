#include "step_troubles.hpp"

#include <algorithm>

namespace foliot::program::worlds {

using jobs::nodes::node_timeout;
using jobs::nodes::simulated_database;
using jobs::nodes::simulated_process;

step_troubles::step_troubles(node_world& in, std::size_t most) : in_(in), left_(most) {
  for (const auto& each : in.databases) {
    each->meets_batch = [this, &at = *each](std::span<const jobs::operation> batch, simulated_process& by) {
      const auto its =
          std::ranges::find_if(in_.processes, [&](const auto& one) { return one->process.process.get() == &by; });
      if (left_ == 0 || its == in_.processes.end() || by.is_dead()) return commit_fate::arrives;
      return meet(at, batch, **its);
    };
  }
}

step_troubles::~step_troubles() {
  for (const auto& each : in_.databases) each->meets_batch = nullptr;
}

step_troubles::commit_fate step_troubles::strike(http_node& node) {
  --left_;
  in_.expect_end_of(node.name, in_.time_now() + duration(node_timeout) / 2);
  return in_.seen.has_outages ? strike_any(node) : die(node);
}

step_troubles::commit_fate step_troubles::strike_any(http_node& node) {
  switch (in_.below(8)) {
    case 0: return commit_fate::is_lost;
    case 1: return commit_fate::loses_answer;
    case 2: return commit_fate::goes_down;
    case 3: return commit_fate::fails_over;
    case 4: return die(node);
    case 5: return commit_fate::is_sent_late;
    default:
      // After it, other nodes have taken this one for dead, and maybe its work.
      node.process.process->stop_for(duration(node_timeout) + jobs::milliseconds(in_.below(4000)));
      return commit_fate::arrives;
  }
}

step_troubles::commit_fate step_troubles::die(http_node& node) {
  if (!in_.may_lose_one()) return commit_fate::arrives;
  in_.note_death(node);
  if (in_.one_in(2)) return commit_fate::ends_with_node;
  node.process.process->die();
  return commit_fate::arrives;
}

}  // namespace foliot::program::worlds

#include "node_life.hpp"

#include <chrono>
#include <utility>

#include "foliot_simulation/world.hpp"
#include "jobs/postgresql/postgresql_node.hpp"

namespace foliot::jobs::nodes {

namespace {

using namespace std::chrono_literals;
using simulation::choose;

bool one_in(std::uint64_t count) { return choose(count) == 0; }

duration up_to(duration longest) {
  return duration::nanoseconds(1 + static_cast<std::int64_t>(choose(static_cast<std::uint64_t>(longest.count()))));
}

std::unique_ptr<job_store> open(const std::string& name, const std::shared_ptr<simulated_process>& process,
                                const std::string& database, const node_life::changed_store& change) {
  postgresql_options options;
  options.database = database;
  options.node = name;
  options.node_timeout = node_timeout;
  options.give_up_after = 1s;
  options.scan_every = scan_every;
  auto made = detail::postgresql_node::as_store(std::make_unique<detail::postgresql_node>(options, process));
  return change ? change(std::move(made)) : std::move(made);
}

}  // namespace

node_life::node_life(std::string name, std::span<const std::unique_ptr<simulated_database>> databases,
                     const changed_store& change)
    : process(std::make_shared<simulated_process>(databases)),
      store(open(name, process, databases.front()->connection_string(), change)),
      broker(*store) {}

void trouble_database(simulated_database& one, bool loses_commits) {
  switch (choose(6)) {
    case 0: {
      one.primary().stop(one_in(2));
      simulation::pass_time(up_to(one_in(3) ? duration(4s) : duration(300ms)));
      if (!one.primary().is_up) one.primary().is_up = true;
      break;
    }
    case 1: {
      const bool loses = loses_commits || one.wrong == flaw::answers_before_commit;
      const old_primary stays = loses_commits ? old_primary::goes_on : old_primary::confirms_nothing;
      one.fail_over(loses ? choose(4) : 0, one_in(2) ? stays : old_primary::is_down);
      break;
    }
    case 2:
      one.primary().is_full = true;
      simulation::pass_time(up_to(1s));
      one.primary().is_full = false;
      break;
    case 3: one.interrupt_listeners(); break;
    default: one.deliver_late();
  }
}

}  // namespace foliot::jobs::nodes

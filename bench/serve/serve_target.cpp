#include "serve_target.hpp"

#include "serve_results.hpp"

namespace foliot::program::bench {

serve_targets all_serve_targets() {
  serve_targets all;
  add_throughput_targets(all);
  add_batches_targets(all);
  add_heartbeats_targets(all);
  add_idle_polls_targets(all);
  add_lateness_targets(all);
  add_flood_targets(all);
  add_stored_jobs_targets(all);
  return all;
}

std::vector<target_outcome> outcomes_of(const serve_results& all) {
  std::vector<target_outcome> outcomes;
  for (const serve_target& each : all.targets) {
    const serve_record* const own = all.find(each.family, each.parameters, each.contestant, each.figure);
    if (own == nullptr) continue;
    double measured = own->amount.median;
    if (!each.against.empty()) {
      const bool is_same = each.against_family.empty();
      const serve_record* const other =
          all.find(is_same ? each.family : each.against_family, is_same ? each.parameters : each.against_parameters,
                   each.against, each.figure);
      if (other == nullptr || other->amount.median <= 0) continue;
      measured /= other->amount.median;
    }
    outcomes.push_back({each, measured, each.at_least ? measured >= each.bound : measured <= each.bound});
  }
  return outcomes;
}

}  // namespace foliot::program::bench

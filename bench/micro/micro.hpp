// The micro-benchmarks of `foliot bench micro`: what single operations cost, in loops of Google Benchmark.
//
// A source adds its own under names of the form FAMILY/LINE or FAMILY/LINE/COLUMN; an argument is the column of a name
// without one.
#pragma once

namespace foliot::program::bench {

void add_channel_costs();
void add_json_costs();
void add_replay_costs();
void add_service_costs();

}  // namespace foliot::program::bench

#include "serve_workload.hpp"

namespace foliot::program::bench {

serve_workloads all_serve_workloads(const serve_scale& scale) {
  serve_workloads all;
  add_throughput(all, scale);
  add_batches(all, scale);
  add_heartbeats(all, scale);
  add_idle_polls(all, scale);
  add_lateness(all, scale);
  add_flood(all, scale);
  add_stored_jobs(all, scale);
  add_lists(all, scale);
  return all;
}

}  // namespace foliot::program::bench

#include "serve_workload.hpp"

#include "lateness.hpp"
#include "throughput.hpp"

namespace foliot::program::bench {

serve_workloads all_serve_workloads(const serve_scale& scale) {
  serve_workloads all;
  add_throughput(all, scale);
  add_lateness(all, scale);
  return all;
}

}  // namespace foliot::program::bench

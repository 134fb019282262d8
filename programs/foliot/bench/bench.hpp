// `foliot bench`: measures the queues of the project beside what else there is.
#pragma once

#include "bench_options.hpp"

namespace foliot::program::bench {

/// Measures, and says what came out: as text on standard output unless a file goes there, as JSON and as
/// a page where the options say so. On a terminal it says how far it has come. Throws failure.
void run_bench(const bench_options& options);

}  // namespace foliot::program::bench

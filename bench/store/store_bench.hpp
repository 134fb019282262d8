// `foliot bench store`: what the embedded store costs without a server. It decides about the store's options and its
// windows; see docs/decisions/0012-the-embedded-store.md.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/outputs.hpp"

namespace foliot::program::bench {

struct store_bench_options {
  std::string folder = "/var/tmp";  ///< in which the store is, while it is measured
  std::size_t jobs = 1'000'000;     ///< that are delayed
  std::vector<std::string> only{};  ///< batches, flood, delayed; all if empty
  bool quick = false;               ///< tiny counts, to see that it works
  output_names files{};
};

[[nodiscard]] const std::vector<std::string>& store_families();

/// Measures synced batches of puts, cycles of put, claim and finish, jobs that become ready at one instant, and delayed
/// jobs: their puts, the opening of the store, their drain. Writes the figures. Throws failure, also if the program was
/// built without RocksDB.
void run_store_bench(const store_bench_options& options);

}  // namespace foliot::program::bench

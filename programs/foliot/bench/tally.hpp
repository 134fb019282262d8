// What a stretch of a workload did: how much, how long it took, and whether it was what was asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foliot::program::bench {

struct tally {
  std::uint64_t operations = 0;  ///< as operation_of(workload) counts them
  std::uint64_t fired = 0;
  std::int64_t nanoseconds = 0;
  std::string wrong{};  ///< what did not happen as it should have, a sentence; empty if all did

  tally& operator+=(const tally& other) {
    operations += other.operations;
    fired += other.fired;
    nanoseconds += other.nanoseconds;
    if (wrong.empty()) wrong = other.wrong;
    return *this;
  }
};

/// How long each single call took, in ns. Calls that took 4.29 s or longer count as that.
struct call_times {
  std::vector<std::uint32_t> start{};
  std::vector<std::uint32_t> stop{};
  std::vector<std::uint32_t> reset{};
  std::vector<std::uint32_t> expire{};
  std::uint64_t fired = 0;
  std::int64_t expire_nanoseconds = 0;  ///< of all calls together
  std::string wrong{};                  ///< as in tally
};

}  // namespace foliot::program::bench

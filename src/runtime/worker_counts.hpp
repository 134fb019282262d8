// What a processor's worker counts.
//
// Thread safety: the count_ functions by the worker; the others by any thread. relaxed throughout: each number stands
// for itself, and only the worker changes it.
#pragma once

#include <cstdint>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/statistics.hpp>

namespace foliot::runtime::detail {

class worker_counts {
 public:
  void count_turn() noexcept { add(turns_, 1); }
  void count_spent_turn() noexcept { add(spent_turns_, 1); }
  void count_steal(std::uint64_t tasks) noexcept {
    add(steals_, 1);
    add(stolen_, tasks);
  }
  void count_park() noexcept { add(parks_, 1); }

  void add_to(runtime_counters& sum) const noexcept {
    sum.turns += turns_.load(seam::relaxed);
    sum.spent_turns += spent_turns_.load(seam::relaxed);
    sum.steals += steals_.load(seam::relaxed);
    sum.stolen += stolen_.load(seam::relaxed);
    sum.parks += parks_.load(seam::relaxed);
  }

 private:
  using number = seam::atomic<std::uint64_t>;
  static void add(number& to, std::uint64_t more) noexcept { to.store(to.load(seam::relaxed) + more, seam::relaxed); }

  number turns_{0};
  number spent_turns_{0};
  number steals_{0};
  number stolen_{0};
  number parks_{0};
};

}  // namespace foliot::runtime::detail

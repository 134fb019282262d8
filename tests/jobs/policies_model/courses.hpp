// The courses of the walks over stores in memory.
#pragma once

#include <memory>

#include <foliot/jobs/memory_store.hpp>

#include "jobs/conformance/journal_store.hpp"
#include "walk.hpp"

namespace foliot::jobs::policies_model {

class memory_under_test final : public conformance::store_under_test {
 public:
  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    return std::make_unique<memory_store>(clocks);
  }
};

/// Nothing fails, and the store is asked whenever it wants to be.
inline course strict_course() {
  return {.store = [] { return std::make_unique<memory_under_test>(); }};
}
/// The store below refuses, and is asked late.
inline course loose_course() {
  return {.store = [] { return std::make_unique<memory_under_test>(); },
          .rigour = judge::rigour::loose,
          .refuses_one_of = 8,
          .claims_by_id = false};
}
/// The store is opened again; it keeps its jobs in a journal in memory.
inline course reopened_course() {
  return {.store = [] { return std::make_unique<conformance::journal_under_test>(conformance::flaw::none); },
          .reopens_one_of = 25};
}

/// All that walks have come to.
inline void add(outcome& to, const outcome& more) {
  to.seen.handed_out += more.seen.handed_out;
  to.seen.condemned += more.seen.condemned;
  to.seen.moved += more.seen.moved;
  to.seen.expired += more.seen.expired;
  to.seen.retried += more.seen.retried;
  to.seen.timed_out += more.seen.timed_out;
  to.seen.kicked += more.seen.kicked;
  to.seen.in_doubt += more.seen.in_doubt;
  to.seen.full += more.seen.full;
  to.refused += more.refused;
  to.replays += more.replays;
  to.reopened += more.reopened;
}

}  // namespace foliot::jobs::policies_model

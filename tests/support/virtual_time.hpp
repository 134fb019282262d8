// Runs a test's task on virtual time.
#pragma once

#include <utility>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/run.hpp>

namespace foliot::test {

/// Runs `main`, a task or what returns one, by this clock; on one processor unless `options` says otherwise.
template <class Main>
void on_virtual_time(virtual_clock& clock, Main main, runtime::run_options options = {}) {
  options.clock = &clock;
  runtime::run(std::move(main), options);
}

/// By a clock of its own.
template <class Main>
void on_virtual_time(Main main) {
  virtual_clock clock;
  on_virtual_time(clock, std::move(main));
}

}  // namespace foliot::test

// The runtimes that tests run their tasks on: virtual time with one and several processors, and real time; each with
// every kind of timers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/run.hpp>

namespace foliot::test {

/// The kinds of timers of a processor: see run_options::timers.
inline constexpr std::string_view kinds_of_timers[] = {"foliot", "processor-heaps", "processor-heaps-1.14"};

/// Runs the task of `main` on virtual time, for several numbers of processors and seeds.
template <class Main>
void in_virtual_worlds(Main main, runtime::run_options options = {}) {
  for (const std::string_view timers : kinds_of_timers) {
    SCOPED_TRACE(timers);
    options.timers = timers;
    for (const std::size_t processors : {1U, 2U, 3U}) {
      for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        virtual_clock clock;
        options.processors = processors;
        options.seed = seed;
        options.clock = &clock;
        runtime::run(main(), options);
      }
    }
  }
}

/// The same on real time, with workers.
template <class Main>
void on_real_processors(Main main, runtime::run_options options = {}) {
  for (const std::string_view timers : kinds_of_timers) {
    SCOPED_TRACE(timers);
    options.timers = timers;
    for (const std::size_t processors : {1U, 2U, 4U}) {
      options.processors = processors;
      runtime::run(main(), options);
    }
  }
}

/// Runs the task on virtual time and on real time.
template <class Main>
void everywhere(Main main) {
  in_virtual_worlds(main);
  on_real_processors(main);
}

}  // namespace foliot::test

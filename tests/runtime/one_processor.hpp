// Runs on virtual time and one processor, where each number that a runtime tells of itself is known.
#pragma once

#include <chrono>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <gtest/gtest.h>

#include <foliot/runtime.hpp>

#include "worlds.hpp"

namespace foliot::test {

/// The line of the call.
constexpr std::uint_least32_t line_of(std::source_location where = std::source_location::current()) {
  return where.line();
}

/// Runs the task of `main` with each kind of timers, on virtual time and one processor.
template <class Main>
void on_one_processor(Main main, runtime::run_options options = {}) {
  for (const std::string_view timers : kinds_of_timers) {
    SCOPED_TRACE(timers);
    virtual_clock clock;
    options.timers = timers;
    options.processors = 1;
    options.clock = &clock;
    runtime::run(main(clock), options);
  }
}

inline task<> sleeps(duration length) { co_await runtime::sleep(length); }

}  // namespace foliot::test

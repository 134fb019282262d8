// One input of the fuzzer: the script that its bytes are, run over every queue beside the model.
//
// FOLIOT_FUZZ_QUEUE=name, in the environment, leaves the other queues out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "queue/conformance/all_queues.hpp"
#include "queue/conformance/twin.hpp"
#include "script_bytes.hpp"

namespace foliot::conformance {

template <class... Queues>
::testing::Types<foliot_queue, Queues...> with_foliot_queue(::testing::Types<Queues...>);

/// What is fuzzed: foliot's queue as it ships, and all that are quickly made.
using fuzzed_queues = decltype(with_foliot_queue(all_light_queues{}));

template <class Queue>
std::optional<std::string> failure_of(const script& s, rigour between) {
  twin<Queue> queue(timers_in(s), s.origin);
  return queue.run(s, between);
}

/// The first sentence of a twin, over those of the queues that `only` names; over all where it is empty.
template <class... Queues>
std::optional<std::string> first_failure(const script& s, rigour between, std::string_view only,
                                         ::testing::Types<Queues...>) {
  std::optional<std::string> failure;
  static_cast<void>(
      (((only.empty() || only == Queues::name) && (failure = failure_of<Queues>(s, between)).has_value()) || ...));
  return failure;
}

/// The name in FOLIOT_FUZZ_QUEUE, or nothing. A name that no queue has ends the program: a run that
/// tests nothing must not look like one that finds nothing.
template <class... Queues>
std::string_view chosen_queue(::testing::Types<Queues...>) {
  const char* const name = std::getenv("FOLIOT_FUZZ_QUEUE");
  if (name == nullptr || *name == '\0' || ((name == Queues::name) || ...)) return name == nullptr ? "" : name;
  std::cerr << "FOLIOT_FUZZ_QUEUE: there is no queue '" << name << "'; the queues are:";
  ((std::cerr << ' ' << Queues::name), ...);
  std::cerr << '\n';
  std::exit(2);
}

/// Runs one input; where a queue fails, says which, how, and after which script, and aborts.
/// A fuzzer leaves the invariants for the end of a script: to walk them is what takes time, and every
/// beginning of a script is one too.
template <class Queues>
void run_one_input(std::span<const std::uint8_t> bytes, rigour between) {
  static const std::string_view only = chosen_queue(Queues{});
  const script s = decode(bytes);
  if (const auto failure = first_failure(s, between, only, Queues{})) {
    std::cerr << *failure << "\nafter a script where the " << s << std::flush;
    std::abort();
  }
}

}  // namespace foliot::conformance

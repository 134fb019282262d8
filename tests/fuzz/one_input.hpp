// One input of the fuzzer: its bytes are a script, which every queue runs beside the reference queue.
//
// FOLIOT_FUZZ_QUEUE=name, in the environment, leaves the other queues out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "queue/conformance/tested_queue.hpp"
#include "queue/conformance/twin.hpp"
#include "script_bytes.hpp"

namespace foliot::conformance {

/// The first failure of the queues that `only` names; of all of them where it is empty.
inline std::optional<std::string> first_failure(const script& s, rigour between, std::span<const queue_kind> queues,
                                                std::string_view only = {}) {
  for (const queue_kind& each : queues) {
    if (!only.empty() && only != each.name) continue;
    if (auto failure = twin(each, timers_in(s), s.origin).run(s, between)) return failure;
  }
  return std::nullopt;
}

/// The name in FOLIOT_FUZZ_QUEUE, or nothing. A name that no queue has ends the program: a run that
/// tests nothing must not look like one that finds nothing.
inline std::string_view chosen_queue(std::span<const queue_kind> queues) {
  const char* const name = std::getenv("FOLIOT_FUZZ_QUEUE");
  if (name == nullptr || *name == '\0') return "";
  if (std::ranges::find(queues, std::string_view(name), &queue_kind::name) != queues.end()) return name;
  std::cerr << "FOLIOT_FUZZ_QUEUE: there is no queue '" << name << "'; the queues are:";
  for (const queue_kind& each : queues) std::cerr << ' ' << each;
  std::cerr << '\n';
  std::exit(2);
}

/// Runs one input. If a queue fails, prints which, how, and after which script, and aborts.
/// A fuzzer checks the invariants at the end of a script alone: the walk over them is what takes time, and every
/// beginning of a script is an input too.
inline void run_one_input(std::span<const std::uint8_t> bytes, rigour between, std::span<const queue_kind> queues) {
  static const std::string_view only = chosen_queue(queues);
  const script s = decode(bytes);
  if (const auto failure = first_failure(s, between, queues, only)) {
    std::cerr << *failure << "\nafter a script where the " << s << std::flush;
    std::abort();
  }
}

}  // namespace foliot::conformance

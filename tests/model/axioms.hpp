// The C++ memory model in the words of the standard: which outcomes a small program of atomics has.
//
// Not how the checker does it, so that each can be held against the other. Candidates are made by running the
// program in every order with every load reading any earlier store; then happens-before is computed, and a
// candidate stays if it keeps [intro.races] (coherence) and [atomics.order] (the order of seq_cst).
// Candidates whose modification orders or seq_cst order contradict the order of execution, or that read
// from the future, are not made: neither does the checker.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "foliot_model/model.hpp"

namespace foliot::model {

struct instruction {
  enum class kind : std::uint8_t { load, store, exchange, compare_exchange, fence } what{};
  order with = order::relaxed;
  order failing = order::relaxed;  // compare_exchange only: which expects 0
  std::size_t where = 0;           // one of two atomics, that begin with 0
  int value = 0;                   // what it stores
};

using program = std::vector<std::vector<instruction>>;  // by thread

std::string to_string(const program& all);

/// Each outcome is what the instructions read, thread by thread, and then the two last values.
std::set<std::string> outcomes_by_axioms(const program& all);

}  // namespace foliot::model

// The C++ memory model by the axioms of the standard: which outcomes a small program of atomics has.
//
// This is another method than the checker's, so that the two can be compared. It makes candidates by running the
// program in every order with every load reading any earlier store. Then it computes happens-before, and keeps a
// candidate if it obeys [intro.races] (coherence) and [atomics.order] (the order of seq_cst). It makes no candidates
// whose modification orders or seq_cst order contradict the order of execution, or that read from the future; neither
// does the checker.
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
  order failing = order::relaxed;  // compare_exchange only, which expects 0
  std::size_t where = 0;           // the index of one of two atomics, which begin with 0
  int value = 0;                   // the stored value
};

using program = std::vector<std::vector<instruction>>;  // by thread

std::string to_string(const program& all);

/// An outcome is the list of the values that the instructions read, thread by thread, and then the two last values.
std::set<std::string> outcomes_by_axioms(const program& all);

}  // namespace foliot::model

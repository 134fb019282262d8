// How GoogleTest names contestants of trials, as parameters and in messages.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "bench/trials/trial.hpp"

namespace foliot::program::bench {

inline void PrintTo(const trial_contestant& each, std::ostream* out) { *out << each.name; }

inline std::string test_name(const testing::TestParamInfo<trial_contestant>& each) {
  std::string name = each.param.name;
  std::erase(name, '-');
  return name;
}

}  // namespace foliot::program::bench

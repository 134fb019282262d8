// Contestants as parameters of tests, and how GoogleTest names them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "bench/roster.hpp"

namespace foliot::program::bench {

inline void PrintTo(const contestant& each, std::ostream* out) { *out << each.name; }

inline std::string test_name(const testing::TestParamInfo<contestant>& each) {
  std::string name = each.param.name;
  std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
  return name;
}

/// Those of this program that take part in a workload of this kind.
inline std::vector<contestant> that_take(figure_kind kind) {
  std::vector<contestant> all = all_contestants().contestants;
  std::erase_if(all, [kind](const contestant& each) {
    const auto takes = [&](workload what) { return kind_of(what) == kind && each.takes_part(what); };
    return each.prepare || std::ranges::none_of(all_workloads, takes);
  });
  return all;
}

/// The workloads of this kind in which the contestant takes part.
inline std::vector<workload> taken_by(const contestant& who, figure_kind kind) {
  std::vector<workload> takes;
  for (const workload each : all_workloads) {
    if (kind_of(each) == kind && who.takes_part(each)) takes.push_back(each);
  }
  return takes;
}

inline samples run(const contestant& who, const request& asked) { return who.offer_for(asked.what)->run(asked); }

}  // namespace foliot::program::bench

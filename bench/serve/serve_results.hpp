// The figures of `foliot bench serve`: one record for each workload, server and figure; and which targets they reach.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/record.hpp"
#include "bench/statistics.hpp"
#include "serve_target.hpp"

namespace foliot::program::bench {

using serve_parameters = std::vector<std::pair<std::string, std::uint64_t>>;

struct serve_record {
  std::string family{};
  serve_parameters parameters{};
  std::string contestant{};
  std::string figure{};  ///< the name
  std::string unit{};
  std::string head{};  ///< of its column; empty: in no table
  spread amount{};     ///< over the repetitions
};

struct serve_family {
  std::string name{};
  std::string title{};
};

struct serve_results {
  std::string command = "foliot bench serve";
  machine_facts machine{};
  std::vector<participant> contestants{};
  std::vector<absence> left_out{};
  std::vector<serve_family> families{};  ///< that were measured
  int repetitions = 0;
  bool has_load_generator = true;
  std::vector<serve_record> records{};
  std::vector<serve_target> targets{};

  /// The record, or null.
  [[nodiscard]] const serve_record* find(std::string_view family, const serve_parameters& parameters,
                                         std::string_view contestant, std::string_view figure) const noexcept {
    for (const serve_record& each : records) {
      if (each.family == family && each.contestant == contestant && each.figure == figure &&
          each.parameters == parameters) {
        return &each;
      }
    }
    return nullptr;
  }
};

/// A target with what was measured.
struct target_outcome {
  const serve_target& target;
  double measured = 0;  ///< the ratio, or the amount
  bool reached = false;
};

/// The outcomes of those targets of which everything was measured.
[[nodiscard]] std::vector<target_outcome> outcomes_of(const serve_results& all);

/// Tables for a terminal: one for each family, with a line for each server; then the targets.
[[nodiscard]] std::string serve_text(const serve_results& all);
/// JSON; docs/serve/bench.md describes the fields.
[[nodiscard]] std::string serve_json(const serve_results& all);

}  // namespace foliot::program::bench

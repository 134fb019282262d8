// The figures of `foliot bench serve`: one record for each workload, server and figure; and what foliot should reach.
//
// Thread safety: plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/record.hpp"

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
  std::vector<double> amounts{};
};

struct serve_family {
  std::string name{};
  std::string title{};
};

/// A ratio to another server in the same run, or an amount.
struct serve_target {
  std::string what{};  ///< "puts, 64 connections"
  std::string family{};
  serve_parameters parameters{};
  std::string figure{};
  std::string contestant{};
  std::string against{};  ///< the server that `contestant` is compared with; empty: the amount itself counts
  /// The workload in which `against` was measured; empty: the same.
  std::string against_family{};
  serve_parameters against_parameters{};
  double bound = 1;      ///< of the ratio contestant / against, or of the amount
  bool at_least = true;  ///< else at most
};

/// All targets, in the order of the report.
[[nodiscard]] std::vector<serve_target> all_serve_targets();

struct serve_results {
  std::string command = "foliot bench serve";
  /// A sentence or two at the beginning of the page.
  std::string_view introduction =
      "Job servers, measured side by side in one run: compare its lines with "
      "each other, and no two runs.";
  machine_facts machine = describe_machine();
  std::vector<participant> contestants{};
  std::vector<absence> left_out{};
  std::vector<serve_family> families{};  ///< that were measured
  int repetitions = 0;
  bool has_load_generator = true;
  std::vector<serve_record> records{};
  std::vector<serve_target> targets{};

  /// Adds an amount to this record, which is made if there is none.
  void note(serve_record of, double amount) {
    auto known = std::ranges::find_if(records, [&of](const serve_record& each) {
      return each.family == of.family && each.parameters == of.parameters && each.contestant == of.contestant &&
             each.figure == of.figure && each.head == of.head;
    });
    if (known == records.end()) known = records.insert(known, std::move(of));
    known->amounts.push_back(amount);
    known->amount = spread_of(known->amounts);
  }

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

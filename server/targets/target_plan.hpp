// The plan of a target: where the jobs of a tube are delivered to, and how. It is what a client puts, as JSON:
//
//   {"url": "https://hooks.example.com/in", "secret": "billing", "time_out": "15s", "at_once": 10,
//    "tries": 10, "delays": ["5s", "1m", "10m", "1h"]}
//
// Only `url` and `secret`, the name of a secret in the operator's file, are needed. Whether the operator allows the
// URL, and has the secret, is no business of the plan: see target_deliveries::fault_of().
//
// Thread safety: values. O(bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/job.hpp>

#include "server/http/json.hpp"

namespace foliot::program {

/// How often a job is delivered, and when. This is the one place that knows: a policy of the tube can take it over.
struct retry_plan {
  static constexpr std::uint32_t most_tries = 1000;
  static constexpr std::size_t most_delays = 20;

  /// After so many failed tries the job is buried.
  std::uint32_t tries = 10;
  /// Between two tries; the last one is repeated.
  std::vector<jobs::milliseconds> delays{std::chrono::seconds(5), std::chrono::minutes(1), std::chrono::minutes(10),
                                         std::chrono::hours(1)};

  /// Whether a job that has failed so often is tried again.
  [[nodiscard]] bool goes_on_after(std::uint32_t failed) const noexcept { return failed < tries; }
  /// How long it waits then. Precondition: `failed` is not 0.
  [[nodiscard]] jobs::milliseconds delay_after(std::uint32_t failed) const noexcept {
    if (delays.empty()) return jobs::milliseconds(0);
    return failed > delays.size() ? delays.back() : delays[failed - 1];
  }
  friend bool operator==(const retry_plan&, const retry_plan&) = default;
};

/// What is wrong with a plan.
struct target_fault {
  std::string pointer;  ///< a JSON pointer to the value; empty: the plan as a whole
  std::string detail;   ///< a sentence: what is wrong, and what would be right
  /// The operator has to allow it by an option; the plan may be right.
  bool needs_operator = false;
};

struct target_plan {
  static constexpr std::size_t most_at_once = 1000;
  static constexpr std::uint64_t most_each_second = 100'000;
  static constexpr std::size_t most_headers = 20;
  static constexpr std::size_t longest_secret_name = 64;
  static constexpr jobs::milliseconds longest_time_out = std::chrono::minutes(5);

  std::string url;
  std::string secret;  ///< the name of one
  /// Of the jobs that have none of their own.
  std::string content_type = "application/octet-stream";
  /// Of a delivery. One of a job whose TTR is shorter ends before that does: time_out_within().
  jobs::milliseconds time_out = std::chrono::seconds(15);
  std::size_t at_once = 10;       ///< deliveries under way, of each node
  std::uint64_t each_second = 0;  ///< deliveries that begin in a second, of each node; 0: no limit
  std::uint64_t burst = 0;        ///< at once, after a silence; 0: as many as in a second
  retry_plan retries{};
  std::map<std::string, std::string> headers{};  ///< that each delivery has, beside its own
  std::size_t failures_to_open = 5;              ///< in a row open the circuit; 0: it never opens
  jobs::milliseconds first_pause = std::chrono::seconds(5);
  jobs::milliseconds longest_pause = std::chrono::minutes(10);

  /// Reads what a client has put, or what text() has written.
  [[nodiscard]] static std::expected<target_plan, target_fault> read(const http::json& from);
  /// All members.
  [[nodiscard]] http::ordered_json json() const;
  /// The time-out for a job with this TTR: a delivery ends before its reservation does.
  [[nodiscard]] jobs::milliseconds time_out_within(jobs::milliseconds ttr) const noexcept;

  friend bool operator==(const target_plan&, const target_plan&) = default;
};

/// Whether a secret can have this name: 1 to longest_secret_name letters, digits, `-`, `_` and `.`, which do not begin
/// as a secret itself does.
[[nodiscard]] bool is_secret_name(std::string_view name) noexcept;
inline constexpr std::string_view form_of_secret_names = "1 to 64 letters, digits, `-`, `_` and `.`";

}  // namespace foliot::program

// `foliot sample`: writes an invented access log of a busy day of a web site.
//
// The day is made with timers on a virtual clock: each client has one, which fires when the client makes a request and
// is then started for the next; a request that is slow to answer has a timer of its own, which writes its line.
// docs/sample.md describes the model.
//
// Thread safety: none, one thread. Memory: O(clients), and independent of the number of lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/instant.hpp>

#include "identity.hpp"

namespace foliot::program {

struct traffic_options {
  std::uint64_t seed = 1;
  std::uint64_t lines = 500'000;
  std::uint32_t clients = 20'000;  ///< at most most_clients
  instant start;                   ///< of the day; the curve of the day is in UTC
  unsigned late_permille = 2;      ///< requests whose line is written when they end, not when they begin
};

/// The most requests that a client can make in about a day.
inline constexpr std::uint64_t most_lines_per_client = 1000;

/// Receives each line with its newline, in the order of the log.
using line_sink = callable<void(std::string_view)>;

/// Makes exactly `lines` lines; the same options make the same lines. Throws what the sink throws. Precondition: at
/// least one client, and at most most_lines_per_client lines for each.
void generate_traffic(const traffic_options& options, line_sink sink);

struct sample_options {
  traffic_options traffic;
  std::string output = "-";  ///< "-" is standard output; a name that ends in .gz makes gzip data
};

/// Writes the lines to the output. Throws failure; then no file is written.
void sample(const sample_options& options);

}  // namespace foliot::program

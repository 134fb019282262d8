// The options of `foliot bench serve`, and its run.
//
// Thread safety: none, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/address.hpp>

#include "bench/outputs.hpp"
#include "serve_workload.hpp"
#include "server_kind.hpp"
#include "server_process.hpp"

namespace foliot::program::bench {

struct serve_bench_options {
  std::vector<std::string> only{};                ///< families of workloads, in any order; all if empty
  std::vector<const server_kind*> contestants{};  ///< all that are installed if empty
  std::optional<runtime::address> address{};      ///< of a server that the user has started, which is then measured
  std::string tube = "foliot-bench";              ///< for a server at `address`: one that nothing else uses
  std::string folder = "/var/tmp";                ///< in which the data of the servers are, while they are measured
  std::string old_program{};                      ///< that of the contestant foliot-old; empty: it does not take part
  transport way = transport::tcp;
  serve_scale scale{};
  int repetitions = 3;
  std::uint64_t seed = 1;
  output_names files{};
};

/// The names of the families, each once, in the order of the report.
[[nodiscard]] std::vector<std::string> serve_families();

/// Throws failure for a name that is no family's.
[[nodiscard]] std::vector<std::string> parse_serve_families(const std::vector<std::string>& names);
/// The path of a program that can be executed. Throws failure.
[[nodiscard]] std::string parse_old_program(const std::string& path);
/// The servers of these names, each once. Throws failure.
[[nodiscard]] std::vector<const server_kind*> parse_servers(const std::vector<std::string>& names);
/// ADDRESS:PORT, NAME:PORT, a port alone on 127.0.0.1, or unix:PATH. Throws failure.
[[nodiscard]] runtime::address parse_server_address(const std::string& text);
/// Seconds, 0.01 to 3600. Throws failure.
[[nodiscard]] duration parse_seconds(std::string_view text);
/// Throws failure unless the protocol allows this name of a tube.
[[nodiscard]] std::string parse_tube(const std::string& name);

/// Measures, and writes the figures. Shows progress on a terminal. Throws failure; `interrupted` if the user ends it,
/// after all servers have ended and all files are removed.
void run_serve_bench(const serve_bench_options& options);

}  // namespace foliot::program::bench

#include "other_languages.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>
#include <nlohmann/json.hpp>

#include "bench/child_process.hpp"
#include "bench/peer_programs.hpp"
#include "bench/roster.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr duration patience_with_start = 60s;
constexpr std::int64_t patience_factor = 20;  // a busy machine, a million timers

// ---------------------------------------------------------------- how they are built

/// How a peer is called, before its arguments.
using command_for = std::function<std::vector<std::string>(const request& asked)>;

command_for build_go() {
  const std::string go = find_go();
  const std::string source = source_of_peer("go").string();
  const std::string program = (build_folder_of_peer("go") / "peer").string();
  // Downloads no toolchain, and asks for no state of a repository.
  build_peer({.words = {go, "build", "-buildvcs=false", "-o", program, "."},
              .environment = {"GOTOOLCHAIN=local", "GOWORK=off"},
              .folder = source});
  return [program](const request&) { return std::vector{program}; };
}

/// A build of the peer in Rust: each has a folder of its own, since cargo builds all crates anew for other flags.
command_for build_cargo(std::string_view name, const std::vector<std::string>& options, std::string flags) {
  const std::string cargo = find_tool("cargo", "~/.cargo/bin");
  const std::string source = source_of_peer("rust").string();
  const fs::path target = build_folder_of_peer(name);
  // Cargo.lock names the crates; cargo fetches those that are missing.
  child_command command{.words = {cargo, "build", "--release", "--locked", "--quiet", "--target-dir", target.string()},
                        .folder = source};
  command.words.insert(command.words.end(), options.begin(), options.end());
  if (!flags.empty()) command.environment.push_back("RUSTFLAGS=" + std::move(flags));
  build_peer(command);
  const std::string program = (target / "release" / "foliot-peer").string();
  return [program](const request&) { return std::vector{program}; };
}

command_for build_tokio() { return build_cargo("rust", {}, ""); }
command_for build_tokio_alternative() { return build_cargo("rust-alternative", {}, "--cfg tokio_unstable"); }
command_for build_pingora() { return build_cargo("rust-pingora", {"--features", "pingora"}, ""); }

command_for build_erlang() {
  const std::string erlc = find_tool("erlc");
  const std::string erl = find_tool("erl");
  const std::string source = (source_of_peer("erlang") / "foliot_peer.erl").string();
  const std::string folder = build_folder_of_peer("erlang").string();
  build_peer({.words = {erlc, "-o", folder, source}});
  return [erl, folder](const request& asked) {
    const std::string schedulers = fmt::format("{0}:{0}", asked.threads);
    return std::vector<std::string>{erl, "+S", schedulers, "-noinput", "-pa", folder, "-run", "foliot_peer", "main"};
  };
}

// ---------------------------------------------------------------- how they are run

std::string output_of(std::vector<std::string> words, const request& asked) {
  const bool sleeps = kind_of(asked.what) == figure_kind::lateness;
  words.emplace_back(name(asked.what));
  words.push_back(std::to_string(sleeps ? asked.sleeps : asked.timers));
  words.push_back(std::to_string(asked.threads));
  words.push_back(std::to_string(std::max<std::int64_t>(asked.time / duration(1ms), 1)));
  words.push_back(std::to_string(asked.seed));
  const duration patience = patience_with_start + patience_factor * asked.time;
  child_outcome outcome = run_child({.words = std::move(words)}, patience);
  if (!outcome.wrong.empty()) throw failure(outcome.wrong);
  return std::move(outcome.output);
}

struct peer {
  std::string_view name;
  std::vector<workload> takes;
  command_for (*build)();
  std::string_view remark = {};
};

void add_peer(roster& to, peer what) {
  contestant& added = to.add(what.name);
  const auto command = std::make_shared<command_for>();  // empty until it has been built
  added.prepare = [command, build = what.build, first = what.takes.front()] {
    *command = build();
    const request little{.what = first, .timers = 10, .time = 1ms, .quick = true};
    return version_in(output_of((*command)(little), little));
  };
  added.offers.push_back(
      {.takes = std::move(what.takes),
       .remark = std::string(what.remark),
       .may_be_left_out = true,
       .run = [command](const request& asked) { return samples_in(output_of((*command)(asked), asked), asked); }});
}

// ---------------------------------------------------------------- what they answer

/// ns: an hour an operation is nonsense.
constexpr double largest_cost = 3.6e12;

/// Discarded if the output is not JSON.
json parse(std::string_view output) { return json::parse(output, nullptr, /*allow_exceptions=*/false); }

std::optional<double> number_in(const json& answer, const char* name) {
  const auto found = answer.find(name);
  return found == answer.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

sample cost_in(const json& answer) {
  const std::optional<double> figure = number_in(answer, "ns");
  if (!figure) throw failure("it reported no figure");
  if (!(*figure > 0 && *figure < largest_cost)) throw failure(fmt::format("its figure is {}", *figure));
  return {.figure = *figure, .worst = number_in(answer, "worst_ns"), .bytes = number_in(answer, "bytes")};
}

sample lateness_in(const json& answer, std::size_t sleeps) {
  const auto all = answer.find("lateness_ns");
  if (all == answer.end() || !all->is_array()) throw failure("it reported no lateness");
  if (all->size() != sleeps) throw failure(fmt::format("it slept {} times, not {}", all->size(), sleeps));
  sample found;
  for (const json& each : *all) {
    if (!each.is_number_integer()) throw failure("its lateness is no number");
    const auto late = each.get<std::int64_t>();
    if (late < 0) throw failure(fmt::format("it woke up {} ns early", -late));
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    found.each.push_back(static_cast<std::uint32_t>(std::min(late, most)));
  }
  return found;
}

}  // namespace

samples samples_in(std::string_view output, const request& asked) {
  const json answer = parse(output);
  if (!answer.is_object()) throw failure("it answered nothing that is JSON");
  if (kind_of(asked.what) == figure_kind::lateness) return {lateness_in(answer, asked.sleeps)};
  sample found = cost_in(answer);
  if (about(asked.what).has_worst && !(found.worst >= found.figure)) {
    throw failure("it reported no worst lateness, or one below the average");
  }
  return {found};
}

std::string version_in(std::string_view output) {
  const json answer = parse(output);
  if (!answer.is_object()) return {};
  const auto version = answer.find("version");
  return version == answer.end() || !version->is_string() ? std::string() : version->get<std::string>();
}

void add_other_languages(roster& to) {
  using enum workload;
  std::vector<workload> of_go{w5w1, w5w1_remote, w5w2, w6_100us, w6_1ms, w6_10ms};
  of_go.insert(of_go.end(), go_workloads.begin(), go_workloads.end());
  const std::vector<workload> of_tokio{w5w1, w5w2, w6_100us, w6_1ms, w6_10ms};
  add_peer(to, {"go", std::move(of_go), build_go});
  add_peer(to, {"tokio", of_tokio, build_tokio, "one wheel of all workers"});
  add_peer(to, {"tokio-alternative", of_tokio, build_tokio_alternative,
                "a wheel for each worker: enable_alt_timer(), built with tokio_unstable"});
  add_peer(
      to,
      {"pingora", of_tokio, build_pingora,
       "timeouts of pingora-timeout: slots of 10 ms, which a dropped timeout does not leave; Tokio's timeouts above "
       "15 minutes"});
  add_peer(to, {"erlang", {w5w1, w5w2, w6_1ms, w6_10ms}, build_erlang});
  to.left_out.push_back(
      {"go", std::string(missing_of_go), "what it measures is not public outside of Go's package runtime"});
  for (const char* const each : {"tokio", "tokio-alternative"}) {
    to.left_out.push_back({each, "W5W1-remote", "a Sleep belongs to its task"});
  }
  to.left_out.push_back({"pingora", "W5W1-remote", "a timeout belongs to its task"});
  to.left_out.push_back({"erlang", "W5W1-remote", "each stop would be a message to the owner"});
  to.left_out.push_back({"erlang", "W6-100us", "it counts milliseconds"});
}

}  // namespace foliot::program::bench

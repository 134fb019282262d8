#include "other_languages.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bench/child_process.hpp"
#include "bench/roster.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr duration patience_with_builds = 600s;
constexpr duration patience_with_start = 60s;
constexpr std::int64_t patience_factor = 20;  // a busy machine, a million timers

// ---------------------------------------------------------------- where the programs are

/// The value of a variable of the environment; empty if it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The sources of one peer: a folder of this name in $FOLIOT_BENCH_PEERS, or in the source tree that this program was
/// built from. Throws failure if it is not there, as with an installed program.
fs::path source_of(std::string_view name) {
  const std::string given = variable("FOLIOT_BENCH_PEERS");
  const fs::path source = fs::path(given.empty() ? FOLIOT_BENCH_PEERS_DIR : given) / name;
  std::error_code ignored;
  if (!fs::is_directory(source, ignored)) throw failure("its source is not here: set FOLIOT_BENCH_PEERS");
  return fs::absolute(source);
}

fs::path cache() {
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg;
  if (const std::string home = variable("HOME"); home.starts_with('/')) return fs::path(home) / ".cache";
  throw failure("it cannot be built without a folder: set XDG_CACHE_HOME or HOME");
}

/// The folder in which one peer is built, outside of the source tree; made if it is missing. Throws failure.
fs::path build_folder_of(std::string_view name) {
  const fs::path folder = cache() / "foliot" / "bench" / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw failure(fmt::format("{}: {}", folder.string(), error.message()));
  return folder;
}

bool is_program(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// A program in $PATH, or else in `further`, a folder ("~/" is $HOME). Throws failure if it is in none.
std::string tool(std::string_view program, std::string_view further = {}) {
  std::string folders = variable("PATH") + ':';
  folders += further.starts_with("~/") ? variable("HOME") + std::string(further.substr(1)) : std::string(further);
  for (const auto part : std::views::split(folders, ':')) {
    const fs::path file = fs::path(part.begin(), part.end()) / program;
    if (!std::ranges::empty(part) && is_program(file)) return fs::absolute(file).string();
  }
  throw failure(fmt::format("{} is not installed", program));
}

// ---------------------------------------------------------------- how they are built

void build(const child_command& command) {
  const child_outcome outcome = run_child(command, patience_with_builds);
  if (!outcome.wrong.empty()) throw failure("it cannot be built: " + outcome.wrong);
}

/// How a peer is called, before its arguments.
using command_for = std::function<std::vector<std::string>(const request& asked)>;

command_for build_go() {
  const std::string go = tool("go", "/usr/local/go/bin");
  const std::string source = source_of("go").string();
  const std::string program = (build_folder_of("go") / "peer").string();
  // Downloads no toolchain, and asks for no state of a repository.
  build({.words = {go, "build", "-buildvcs=false", "-o", program, "."},
         .environment = {"GOTOOLCHAIN=local", "GOWORK=off"},
         .folder = source});
  return [program](const request&) { return std::vector{program}; };
}

command_for build_rust() {
  const std::string cargo = tool("cargo", "~/.cargo/bin");
  const std::string source = source_of("rust").string();
  const fs::path target = build_folder_of("rust");
  // Cargo.lock names the crates; cargo fetches those that are missing.
  build({.words = {cargo, "build", "--release", "--locked", "--quiet", "--target-dir", target.string()},
         .folder = source});
  const std::string program = (target / "release" / "foliot-peer").string();
  return [program](const request&) { return std::vector{program}; };
}

command_for build_erlang() {
  const std::string erlc = tool("erlc");
  const std::string erl = tool("erl");
  const std::string source = (source_of("erlang") / "foliot_peer.erl").string();
  const std::string folder = build_folder_of("erlang").string();
  build({.words = {erlc, "-o", folder, source}});
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

void add_peer(roster& to, std::string_view name, std::vector<workload> takes, command_for (*build_it)()) {
  contestant& peer = to.add(name);
  const auto command = std::make_shared<command_for>();  // empty until it has been built
  peer.prepare = [command, build_it, first = takes.front()] {
    *command = build_it();
    const request little{.what = first, .timers = 10, .time = 1ms, .quick = true};
    return version_in(output_of((*command)(little), little));
  };
  peer.offers.push_back({.takes = std::move(takes), .may_be_left_out = true, .run = [command](const request& asked) {
                           return samples_in(output_of((*command)(asked), asked), asked);
                         }});
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
  add_peer(to, "go", std::move(of_go), build_go);
  add_peer(to, "tokio", {w5w1, w5w2, w6_100us, w6_1ms, w6_10ms}, build_rust);
  add_peer(to, "erlang", {w5w1, w5w2, w6_1ms, w6_10ms}, build_erlang);
  to.left_out.push_back(
      {"go", std::string(missing_of_go), "what it measures is not public outside of Go's package runtime"});
  to.left_out.push_back({"tokio", "W5W1-remote", "a Sleep belongs to its task"});
  to.left_out.push_back({"erlang", "W5W1-remote", "each stop would be a message to the owner"});
  to.left_out.push_back({"erlang", "W6-100us", "it counts milliseconds"});
}

}  // namespace foliot::program::bench

// The peers in other languages: programs in bench/peers that do what the threads of this program do, built
// when they are first wanted, and run once for each trial:
//
//   peer WORKLOAD N THREADS MILLISECONDS SEED
//
// N is the number of timers, or of sleeps. bench/peers/README.md says what they answer.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>

#include "../../failure.hpp"
#include "../trials/trial_contestants.hpp"
#include "answer.hpp"
#include "child_process.hpp"
#include "places.hpp"

namespace foliot::program::bench {

namespace {

constexpr duration patience_with_builds = duration::nanoseconds(600'000'000'000);
constexpr std::int64_t patience_with_start = 60'000'000'000;
constexpr std::int64_t patience_factor = 20;  // a busy machine, a million timers

using command_for = std::function<std::vector<std::string>(const trial& asked)>;

void build(const child_command& command) {
  const child_outcome outcome = run_child(command, patience_with_builds);
  if (!outcome.wrong.empty()) throw failure("it cannot be built: " + outcome.wrong);
}

std::vector<std::string> arguments_of(const trial& asked) {
  const bool sleeps = kind_of(asked.what) == figure_kind::lateness;
  return {std::string(name(asked.what)), std::to_string(sleeps ? asked.sleeps : asked.timers),
          std::to_string(asked.threads), std::to_string(std::max<std::int64_t>(asked.nanoseconds / 1'000'000, 1)),
          std::to_string(asked.seed)};
}

child_outcome run_peer(std::vector<std::string> words, const trial& asked) {
  for (std::string& each : arguments_of(asked)) words.push_back(std::move(each));
  const duration patience = duration::nanoseconds(patience_with_start + patience_factor * asked.nanoseconds);
  return run_child({.words = std::move(words)}, patience);
}

finding answer_of(const command_for& command, const trial& asked) {
  const child_outcome outcome = run_peer(command(asked), asked);
  if (!outcome.wrong.empty()) return {.wrong = outcome.wrong};
  return finding_in(outcome.output, asked);
}

/// A peer that `make` builds, and says how it is called.
trial_contestant foreign_peer(std::string name, std::vector<workload> takes, std::function<command_for()> make) {
  const auto command = std::make_shared<command_for>();  // known once it is built
  const workload first = takes.front();
  return {.name = std::move(name),
          .takes = std::move(takes),
          .may_be_left_out = true,
          .prepare =
              [command, make = std::move(make), first] {
                *command = make();
                const trial little{.what = first, .timers = 10, .nanoseconds = 1'000'000, .quick = true};
                const child_outcome outcome = run_peer((*command)(little), little);
                if (!outcome.wrong.empty()) throw failure(outcome.wrong);
                return version_in(outcome.output);
              },
          .run = [command](const trial& asked) { return answer_of(*command, asked); }};
}

command_for make_go() {
  const std::string go = toolchain("go", {"/usr/local/go/bin"}).string();
  const std::string source = peer_source("go").string();
  const std::string program = (peer_build_folder("go") / "peer").string();
  // No toolchain is downloaded, and no state of the repository is asked for.
  build({.words = {go, "build", "-buildvcs=false", "-o", program, "."},
         .environment = {"GOTOOLCHAIN=local", "GOWORK=off"},
         .folder = source});
  return [program](const trial&) { return std::vector{program}; };
}

command_for make_rust() {
  const std::string cargo = toolchain("cargo", {"~/.cargo/bin"}).string();
  const std::string source = peer_source("rust").string();
  const std::filesystem::path target = peer_build_folder("rust");
  // Cargo.lock says which crates; they are fetched where they are not there yet.
  build({.words = {cargo, "build", "--release", "--locked", "--quiet", "--target-dir", target.string()},
         .folder = source});
  const std::string program = (target / "release" / "foliot-peer").string();
  return [program](const trial&) { return std::vector{program}; };
}

command_for make_erlang() {
  const std::string erlc = toolchain("erlc").string();
  const std::string erl = toolchain("erl").string();
  const std::string source = (peer_source("erlang") / "foliot_peer.erl").string();
  const std::string folder = peer_build_folder("erlang").string();
  build({.words = {erlc, "-o", folder, source}});
  return [erl, folder](const trial& asked) {
    const std::string schedulers = fmt::format("{0}:{0}", asked.threads);
    return std::vector<std::string>{erl, "+S", schedulers, "-noinput", "-pa", folder, "-run", "foliot_peer", "main"};
  };
}

}  // namespace

void add_foreign_peers(std::vector<trial_contestant>& to) {
  using enum workload;
  std::vector<workload> of_go{w5w1, w5w1_remote, w5w2, w6_100us, w6_1ms, w6_10ms};
  of_go.insert(of_go.end(), go_workloads.begin(), go_workloads.end());
  to.push_back(foreign_peer("go", std::move(of_go), make_go));
  // A Sleep belongs to its task, a process stops only its own timers without a message for each.
  to.push_back(foreign_peer("tokio", {w5w1, w5w2, w6_100us, w6_1ms, w6_10ms}, make_rust));
  to.push_back(foreign_peer("erlang", {w5w1, w5w2, w6_1ms, w6_10ms}, make_erlang));
}

}  // namespace foliot::program::bench

#include <string>
#include <utility>

#include <fmt/format.h>

#include "serve_results.hpp"

namespace foliot::program::bench {

namespace {

serve_parameters load_of(std::uint64_t connections, std::uint64_t in_flight) {
  return {{"connections", connections}, {"in_flight", in_flight}, {"body", 100}};
}

/// Of the commands that are answered in a second.
serve_target rate_target(const char* shape, std::uint64_t connections, std::string contestant, std::string against,
                         double bound) {
  return {.what = fmt::format("{}, {} connection{}", shape, connections, connections == 1 ? "" : "s"),
          .family = shape,
          .parameters = load_of(connections, 1),
          .figure = "rate",
          .contestant = std::move(contestant),
          .against = std::move(against),
          .bound = bound};
}
serve_target pipelined_target(std::string contestant) {
  return {.what = "puts, 4 connections, 64 in flight",
          .family = "pipelined-puts",
          .parameters = load_of(4, 64),
          .figure = "rate",
          .contestant = contestant,
          .against = "beanstalkd",
          .bound = contestant == "foliot" ? 0.8 : 1};
}

/// Of an amount that may be at most `bound`; with `against` of the ratio.
serve_target amount_target(std::string what, std::string family, serve_parameters parameters, std::string figure,
                           double bound, std::string contestant = "foliot", std::string against = {}) {
  return {.what = std::move(what),
          .family = std::move(family),
          .parameters = std::move(parameters),
          .figure = std::move(figure),
          .contestant = std::move(contestant),
          .against = std::move(against),
          .bound = bound,
          .at_least = false};
}

}  // namespace

std::vector<serve_target> all_serve_targets() {
  constexpr double two_thirds = 2.0 / 3;
  constexpr double as_quick = 0.95;  // what a run can tell from nothing
  std::vector<serve_target> all{rate_target("puts", 1, "foliot", "beanstalkd-f0", 1),
                                rate_target("cycles", 1, "foliot", "beanstalkd-f0", 1),
                                rate_target("puts", 64, "foliot", "beanstalkd-f0", 10),
                                rate_target("cycles", 64, "foliot", "beanstalkd-f0", 6),
                                rate_target("puts", 64, "foliot", "beanstalkd-F", 0.8),
                                rate_target("cycles", 64, "foliot", "beanstalkd-F", 0.8),
                                pipelined_target("foliot"),
                                rate_target("puts", 1, "foliot-memory", "beanstalkd", 1),
                                rate_target("cycles", 1, "foliot-memory", "beanstalkd", 1),
                                rate_target("puts", 64, "foliot-memory", "beanstalkd", 1),
                                rate_target("cycles", 64, "foliot-memory", "beanstalkd", 1),
                                pipelined_target("foliot-memory")};
  for (const char* const shape : {"puts", "cycles"}) {
    all.push_back(rate_target(shape, 64, "foliot", "foliot-old", as_quick));
    all.push_back(rate_target(shape, 64, "foliot-tls", "foliot", two_thirds));
    all.push_back(rate_target(shape, 64, "foliot-token", "foliot", as_quick));
    all.push_back(rate_target(shape, 64, "foliot-http-tls", "foliot-http", two_thirds));
    all.push_back(rate_target(shape, 64, "foliot-http-token", "foliot-http", as_quick));
  }
  all.push_back(rate_target("puts", 64, "foliot-http", "foliot", 0.5));
  serve_target batches = rate_target("batches", 64, "foliot-http", "foliot-old", 2);
  batches.what = "batches of 100, against single puts";
  batches.parameters.push_back({"batch", 100});
  batches.against_family = "puts";
  batches.against_parameters = load_of(64, 1);
  all.push_back(std::move(batches));
  const serve_parameters keys{{"keys", 100'000}};
  all.push_back(amount_target("heartbeats over devices, in cores", "heartbeats", keys, "cores", 0.5, "foliot-http"));
  all.push_back(
      amount_target("heartbeats over gateways, in cores", "heartbeats", keys, "gateway-cores", 0.5, "foliot-http"));
  for (const auto& [contestant, kibibytes] : {std::pair("foliot-http", 8), std::pair("foliot-http-tls", 56)}) {
    all.push_back(amount_target("10,000 idle polls, bytes for each", "idle-polls", {{"polls", 10'000}}, "bytes",
                                kibibytes * 1024, contestant));
  }
  all.push_back(
      amount_target("lateness, 10,000 due a second, p99 in ms", "lateness", {{"due_per_second", 10'000}}, "p99", 5));
  all.push_back(amount_target("flood, the other tube's p99 in ms", "flood", {{"jobs", 1'000'000}}, "p99", 50));
  const serve_parameters jobs{{"jobs", 10'000'000}};
  all.push_back(
      amount_target("memory, 10,000,000 delayed jobs", "stored-jobs", jobs, "resident", 0.1, "foliot", "beanstalkd-F"));
  all.push_back(amount_target("start with them, in seconds", "stored-jobs", jobs, "start", 2));
  all.push_back(amount_target("start after kill -9, in seconds", "stored-jobs", jobs, "start-after-kill", 2));
  return all;
}

std::vector<target_outcome> outcomes_of(const serve_results& all) {
  std::vector<target_outcome> outcomes;
  for (const serve_target& each : all.targets) {
    const serve_record* const own = all.find(each.family, each.parameters, each.contestant, each.figure);
    if (own == nullptr) continue;
    double measured = own->amount.median;
    if (!each.against.empty()) {
      const bool is_same = each.against_family.empty();
      const serve_record* const other =
          all.find(is_same ? each.family : each.against_family, is_same ? each.parameters : each.against_parameters,
                   each.against, each.figure);
      if (other == nullptr || other->amount.median <= 0) continue;
      measured /= other->amount.median;
    }
    outcomes.push_back({each, measured, each.at_least ? measured >= each.bound : measured <= each.bound});
  }
  return outcomes;
}

}  // namespace foliot::program::bench

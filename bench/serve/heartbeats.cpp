// What devices cost that say now and then that they live: each has a job with a key, which it replaces before the job
// becomes due.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "bench/resident_memory.hpp"
#include "load_generator.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

namespace {

struct heartbeats {
  std::size_t keys = 100'000;
  duration period{};               ///< in which each key is replaced once
  duration length{};               ///< for so long this is measured
  std::size_t batch = 100;         ///< of a gateway
  std::size_t gateways = 4;        ///< connections that send the beats of all devices
  std::uint64_t delay = 3600;      ///< seconds after which a device counts as lost
  std::size_t most_connections{};  ///< of devices; 0: a connection for each key, where the system allows as many
};

constexpr std::size_t body_length = 20;
constexpr std::size_t puts_at_once = 100;
constexpr const char* tube = "foliot-bench";

/// The beats of all keys, over and over, each at its time.
class heartbeats_run {
 public:
  /// `batch`: how many beats a connection sends at once.
  heartbeats_run(const heartbeats& asked, const server_process& server, std::size_t connections, std::size_t batch)
      : asked_(asked), server_(server), batch_(batch), clients_(server.place(), connections) {
    for (std::size_t each = 0; each < clients_.size(); ++each) clients_.enter(each, tube);
  }

  /// The figures, with `name` in front of their names. The jobs are put first, which is not measured.
  std::vector<serve_figure> measure(const std::string& name) {
    put_all();
    const duration before = server_.usage().processor_time;
    const instant begin = now();
    const auto handle = [](std::size_t, const reply& got) { note(got); };
    std::size_t sent = 0;
    for (;;) {
      const duration since = std::min(now() - begin, asked_.length);
      for (const std::size_t due = beats_until(since); sent + batch_ <= due; sent += batch_) send(sent);
      if (since == asked_.length) break;
      clients_.turn(handle, std::chrono::milliseconds(1));
    }
    clients_.finish(handle);
    const double seconds = static_cast<double>((now() - begin).count()) / 1e9;
    const double cores = static_cast<double>((server_.usage().processor_time - before).count()) / 1e9 / seconds;
    const auto amount = [&](const char* figure, const char* unit, double value) {
      return serve_figure{.name = name + figure, .unit = unit, .head = {}, .amount = value};
    };
    std::vector<serve_figure> figures{amount("cores", "cores", cores),
                                      amount("beats", "operations/s", static_cast<double>(sent) / seconds),
                                      amount("connections", "connections", static_cast<double>(clients_.size()))};
    figures.front().head = name.empty() ? "devices" : "gateways";
    return figures;
  }

 private:
  [[nodiscard]] std::size_t beats_until(duration since) const noexcept {
    const double periods = static_cast<double>(since.count()) / static_cast<double>(asked_.period.count());
    return static_cast<std::size_t>(periods * static_cast<double>(asked_.keys));
  }

  [[nodiscard]] keyed_put job(std::size_t beat) const {
    return {.key = fmt::format("device-{:06}", beat % asked_.keys), .delay = asked_.delay};
  }

  /// This beat and those of the batch behind it. A device has one connection.
  void send(std::size_t beat) {
    const std::size_t client = beat / batch_ % clients_.size();
    const client_protocol& of = clients_.protocol();
    if (batch_ == 1) return clients_.send(client, of.replace(tube, job(beat), body_length));
    std::vector<keyed_put> together;
    for (std::size_t i = 0; i < batch_; ++i) together.push_back(job(beat + i));
    clients_.send(client, of.replace_many(tube, together, body_length));
  }

  void put_all() {
    std::size_t sent = 0;
    const auto send_one = [&](std::size_t client) {
      std::vector<keyed_put> together;
      for (; together.size() < puts_at_once && sent < asked_.keys; ++sent) together.push_back(job(sent));
      clients_.send(client, clients_.protocol().replace_many(tube, together, body_length));
    };
    clients_.send_all((asked_.keys + puts_at_once - 1) / puts_at_once, std::min<std::size_t>(4, clients_.size()), 1,
                      send_one, note);
  }

  static void note(const reply& got) {
    using enum reply_kind;
    if (got.kind != inserted && got.kind != replaced && got.kind != ok) throw_unexpected(got, "a put that replaces");
  }

  const heartbeats asked_;
  const server_process& server_;
  const std::size_t batch_;
  load_generator clients_;
};

/// Starts a server, puts a job for each key, and replaces all evenly: over connections of the devices, then by
/// gateways, with a server of its own. Throws failure.
std::vector<serve_figure> measure_heartbeats(const heartbeats& asked, const server_ground& ground) {
  server_settings settings = ground.settings;
  const std::size_t wanted = asked.most_connections == 0 ? asked.keys : std::min(asked.keys, asked.most_connections);
  const std::size_t devices = clients_that_fit(wanted, settings.way == transport::tcp);
  settings.connections = devices + 100;
  const auto measure = [&](const char* name, std::size_t connections, std::size_t batch) {
    const std::filesystem::path folder = ground.folder / (name + std::string("server"));
    std::filesystem::create_directory(folder);
    const server_process server(ground.kind, folder, settings);
    return heartbeats_run(asked, server, connections, batch).measure(name);
  };
  std::vector<serve_figure> figures = measure("", devices, 1);
  std::ranges::move(measure("gateway-", asked.gateways, asked.batch), std::back_inserter(figures));
  return figures;
}

}  // namespace

void add_heartbeats(serve_workloads& to, const serve_scale& scale) {
  using namespace std::chrono_literals;
  heartbeats asked{.period = 10s, .length = 10s};
  if (scale.quick) asked = {.keys = 100, .period = 100ms, .length = 100ms, .batch = 10};
  to.push_back({.family = "heartbeats",
                .title = fmt::format("{} keys, each replaced every {} ms: processor time of the server, in cores; over "
                                     "connections of the devices, and by {} gateways in batches of {}",
                                     asked.keys, asked.period.count() / 1'000'000, asked.gateways, asked.batch),
                .parameters = {{"keys", asked.keys}},
                .takes_part =
                    [](const server_kind& kind) {
                      return kind.is_foliot && kind.keeps == durability::each_change && !kind.is_old;
                    },
                .measure_own = [asked](const server_ground& ground) { return measure_heartbeats(asked, ground); }});
}

}  // namespace foliot::program::bench

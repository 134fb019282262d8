#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bench/bench_options.hpp"
#include "bench/child_process.hpp"
#include "bench/owners.hpp"
#include "bench/record.hpp"
#include "bench/workloads/quick_random.hpp"
#include "client_socket.hpp"
#include "interruption.hpp"
#include "load_generator.hpp"
#include "report.hpp"
#include "serve_results.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

serve_workloads all_serve_workloads(const serve_scale& scale) {
  serve_workloads all;
  for (const auto add : {add_throughput, add_batches, add_heartbeats, add_idle_polls, add_lateness, add_flood,
                         add_stored_jobs, add_lists}) {
    add(all, scale);
  }
  return all;
}

namespace {

constexpr std::string_view given_server = "server";

/// A server that takes part: one that is started for each measurement, or that of --address.
struct contender {
  std::string name{};
  const server_kind* kind = nullptr;  // null: the server of --address
};

/// Why a server of this kind cannot be started; nothing if it can, or if that is known when it has been built.
std::optional<std::string> absence_of(const server_kind& kind, const std::filesystem::path& old, transport way) {
  if (kind.speaks == spoken_protocol::nats) {
    if (way == transport::tcp) return std::nullopt;
    return "it listens on no unix socket: leave out --unix";
  }
  if (!kind.is_foliot && !program_of(kind)) return "beanstalkd is not installed (Debian: beanstalkd)";
  if (kind.is_old && !program_of(kind, old)) return "name the program of another version with --old";
  if ((kind.has_tls || kind.has_token) && !has_tls()) {
    return "OpenSSL was not installed when this program was built (Debian: libssl-dev)";
  }
  if (kind.has_tls && !run_child({.words = {"openssl", "version"}}, std::chrono::seconds(60)).wrong.empty()) {
    return "the program openssl is not installed (Debian: openssl)";  // it makes the certificate
  }
#ifndef FOLIOT_HAS_EMBEDDED_STORE
  if (kind.is_foliot && kind.keeps != durability::none) {
    return "RocksDB was not installed when this program was built (Debian: librocksdb-dev)";
  }
#endif
  return std::nullopt;
}

/// What the server of --address says of itself in the answer to `stats`.
struct given_facts {
  std::string version{};
  std::uint64_t max_body = 0;
};

given_facts facts_of(const runtime::address& server) {
  load_generator client(server, 1);
  given_facts facts;
  client.send(0, "stats\r\n");
  client.finish([&facts](std::size_t, const reply& got) {
    expect_reply(got, reply_kind::ok, "stats");
    facts = {std::string(statistic_in(got.body, "version")), number_in(got.body, "max-job-size")};
  });
  return facts;
}

bool measures(const serve_workload& workload, const server_kind& kind) {
  return !workload.takes_part || workload.takes_part(kind);
}

void report_absence(const absence& one) {
  report(fmt::format("{} is left out{}: {}", one.name, one.from.empty() ? "" : " of " + one.from, one.reason));
}

/// The bytes of the bodies of this workload; 0 if it has none of one size.
std::uint64_t body_of(const serve_workload& workload) noexcept {
  for (const auto& [name, value] : workload.parameters) {
    if (name == "body") return value;
  }
  return 0;
}

/// One run of the benchmark: chooses the servers and the workloads that take part, measures each workload of each
/// server in every round, the servers in another order each time, and makes the records of what was measured.
class serve_run {
 public:
  /// Throws failure if nothing can be measured. Starts and builds nothing.
  explicit serve_run(const serve_bench_options& options) : options_(options), random_(options.seed) {
    if (options.address) take_given();
    choose_workloads();
    if (options.address) return;
    const temporary_folder usable(options.folder);
    choose_contenders();
  }

  /// The contestants, and those that are left out; before measure(), which leaves out those that it cannot build.
  [[nodiscard]] const serve_results& so_far() const noexcept { return all_; }

  /// Precondition: the first call. Throws failure, with the names of workload and server, or interrupted.
  serve_results measure() {
    build_contenders();
    all_.repetitions = options_.repetitions;
    all_.targets = all_serve_targets();
    progress_line shown;
    const std::uint64_t count = workloads_.size() * contenders_.size() * static_cast<std::size_t>(options_.repetitions);
    std::uint64_t done = 0;
    for (int round = 0; round < options_.repetitions; ++round) {
      for (const serve_workload& workload : workloads_) {
        shuffle();
        for (const contender& each : contenders_) {
          const bool takes_part = each.kind == nullptr || measures(workload, *each.kind);
          shown.show(fmt::format("{}, {}", workload.family, each.name), done++, count);
          if (takes_part && round < workload.most_repetitions) measure_one(workload, each);
        }
      }
    }
    put_in_order();
    return std::move(all_);
  }

 private:
  /// Whether the server of --address, if there is one, can do the workload; else it is left out of it.
  [[nodiscard]] bool can_be_measured(const serve_workload& workload) {
    if (!options_.address) return true;
    std::string reason;
    if (!workload.measure) reason = "it starts servers of its own";
    if (body_of(workload) > given_.max_body) {
      reason = fmt::format("bodies of {} bytes are larger than the server's limit of {}", body_of(workload),
                           given_.max_body);
    }
    if (reason.empty()) return true;
    const bool known = std::ranges::any_of(
        all_.left_out, [&](const absence& each) { return each.from == workload.family && each.reason == reason; });
    if (known) return false;
    all_.left_out.push_back({.name = std::string(given_server), .from = workload.family, .reason = reason});
    return false;
  }

  void take_given() {
    given_ = facts_of(*options_.address);
    contenders_.push_back({.name = std::string(given_server)});
    all_.contestants.push_back({.name = std::string(given_server),
                                .version = given_.version,
                                .remark = "at " + options_.address->to_string()});
  }

  void choose_workloads() {
    for (serve_workload& each : all_serve_workloads(options_.scale)) {
      const bool wanted = options_.only.empty() || std::ranges::find(options_.only, each.family) != options_.only.end();
      if (wanted && can_be_measured(each)) workloads_.push_back(std::move(each));
    }
    expect_something(!workloads_.empty());
  }

  void choose_contenders() {
    for (const server_kind& each : server_kinds) {
      const bool named = std::ranges::find(options_.contestants, &each) != options_.contestants.end();
      if (!named && !options_.contestants.empty()) continue;
      if (each.is_old && !named && options_.old_program.empty()) continue;  // nobody has asked for one
      if (is_built_in_vain(each)) {
        if (named) leave_out(each, "none of the workloads measures it");
      } else if (const auto reason = absence_of(each, options_.old_program, options_.way)) {
        leave_out(each, *reason);
      } else {
        const bool is_built = each.speaks != spoken_protocol::nats;
        contenders_.push_back({.name = std::string(each.name), .kind = &each});
        all_.contestants.push_back({.name = std::string(each.name),
                                    .version = is_built ? version_of(each, options_.old_program) : "",
                                    .remark = std::string(each.remark)});
      }
    }
    expect_something(!contenders_.empty());
  }

  /// Whether this is a server that would have to be built, and no workload that was chosen measures it.
  [[nodiscard]] bool is_built_in_vain(const server_kind& kind) const {
    return kind.speaks == spoken_protocol::nats &&
           std::ranges::none_of(workloads_, [&kind](const serve_workload& each) { return measures(each, kind); });
  }

  /// Builds NATS if it takes part, and leaves it out if that fails. Throws failure if nothing else is there.
  void build_contenders() {
    const auto nats = std::ranges::find_if(contenders_, [](const contender& each) {
      return each.kind != nullptr && each.kind->speaks == spoken_protocol::nats;
    });
    if (nats == contenders_.end()) return;
    const server_kind& kind = *nats->kind;
    const auto shown = std::ranges::find(all_.contestants, kind.name, &participant::name);
    try {
      build_nats();
      shown->version = version_of(kind);
    } catch (const interrupted&) {
      throw;
    } catch (const failure& error) {
      contenders_.erase(nats);
      all_.contestants.erase(shown);
      leave_out(kind, error.what());
      expect_something(!contenders_.empty());
      report_absence(all_.left_out.back());
    }
  }

  void leave_out(const server_kind& kind, std::string reason) {
    all_.left_out.push_back({.name = std::string(kind.name), .reason = std::move(reason)});
  }

  /// Throws failure if this does not hold.
  void expect_something(bool is_there) const {
    if (!is_there) throw failure(fmt::format("nothing can be measured: {}", all_.left_out.front().reason));
  }

  void shuffle() {
    for (std::size_t i = contenders_.size(); i > 1; --i) {
      std::swap(contenders_[i - 1], contenders_[upper_below(random_.next(), i)]);
    }
  }

  void measure_one(const serve_workload& workload, const contender& of) {
    try {
      note(workload, of, of.kind == nullptr ? measure_given(workload) : measure_started(workload, *of.kind));
    } catch (const interrupted&) {
      throw;
    } catch (const failure& error) {
      throw failure(fmt::format("{} of {}: {}", workload.family, of.name, error.what()));
    }
  }

  [[nodiscard]] std::vector<serve_figure> measure_given(const serve_workload& workload) const {
    const server_place place(*options_.address);
    return workload.measure({.place = place, .tube = options_.tube});
  }

  [[nodiscard]] std::vector<serve_figure> measure_started(const serve_workload& workload,
                                                          const server_kind& kind) const {
    const temporary_folder folder(options_.folder);
    const server_settings settings{.way = options_.way, .old_program = options_.old_program};
    if (workload.measure_own) return workload.measure_own({kind, folder.path(), settings});
    server_process server(kind, folder.path(), settings);
    try {
      return workload.measure({.place = server.place(), .tube = options_.tube, .process = &server});
    } catch (const interrupted&) {
      throw;
    } catch (const failure&) {
      check_still_running(server);
      throw;
    }
  }

  /// Throws failure with the last message of the server if it ends within a second: that says more than its closed
  /// connection.
  static void check_still_running(server_process& server) {
    for (int i = 0; i < 100; ++i) {
      server.check_running();
      foliot::note nobody_wakes;
      static_cast<void>(nobody_wakes.sleep_until(monotonic_clock::instance().now() + std::chrono::milliseconds(10)));
    }
  }

  void note(const serve_workload& workload, const contender& of, const std::vector<serve_figure>& figures) {
    for (const serve_figure& each : figures) {
      all_.note({.family = workload.family,
                 .parameters = workload.parameters,
                 .contestant = of.name,
                 .figure = each.name,
                 .unit = each.unit,
                 .head = each.head},
                each.amount);
    }
  }

  /// The records by workload and contestant, in the order of both, and the families.
  void put_in_order() {
    for (const serve_workload& each : workloads_) {
      const auto known = std::ranges::find(all_.families, each.family, &serve_family::name);
      if (known == all_.families.end()) all_.families.push_back({each.family, each.title});
    }
    std::ranges::stable_sort(all_.records, {}, [this](const serve_record& each) {
      const auto is_its = [&each](const serve_workload& one) {
        return one.family == each.family && one.parameters == each.parameters;
      };
      const auto workload = std::ranges::find_if(workloads_, is_its);
      const auto of = std::ranges::find(all_.contestants, each.contestant, &participant::name);
      return std::pair(workload - workloads_.begin(), of - all_.contestants.begin());
    });
  }

  const serve_bench_options& options_;
  quick_random random_;
  given_facts given_;
  std::vector<contender> contenders_;
  serve_workloads workloads_;
  serve_results all_;
};

/// Whether the folder is in a file system that keeps its files in memory, where a sync costs nothing.
bool is_in_memory(const std::string& folder) noexcept {
  struct statfs system{};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

void report_doubts(const serve_bench_options& options, const serve_results& all) {
  if (const auto warning = build_warning()) report(*warning);
  const bool has_files = std::ranges::any_of(all.contestants, [](const participant& each) {
    const server_kind* const kind = find_server_kind(each.name);
    return kind != nullptr && kind->keeps != durability::none;
  });
  if (has_files && is_in_memory(options.folder)) {
    report(fmt::format("'{}' is in memory, where a sync costs nothing: name a folder on a disk with --folder",
                       options.folder));
  }
  for (const absence& each : all.left_out) report_absence(each);
}

}  // namespace

std::vector<std::string> serve_families() {
  std::vector<std::string> names;
  for (const serve_workload& each : all_serve_workloads({})) {
    if (std::ranges::find(names, each.family) == names.end()) names.push_back(each.family);
  }
  return names;
}

std::vector<std::string_view> server_names() {
  std::vector<std::string_view> names;
  for (const server_kind& each : server_kinds) names.push_back(each.name);
  return names;
}

std::vector<const server_kind*> parse_servers(const std::vector<std::string>& names) {
  std::vector<const server_kind*> found;
  for (const std::string& each : names) {
    const server_kind* const known = find_server_kind(each);
    if (known == nullptr) {
      throw failure(
          fmt::format("--contestants: there is no server '{}'; there are {}", each, fmt::join(server_names(), ", ")));
    }
    if (std::ranges::find(found, known) == found.end()) found.push_back(known);
  }
  return found;
}

std::string parse_old_program(const std::string& path) {
  if (::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path)) return path;
  throw failure(fmt::format("--old: '{}' is no program that can be executed", path));
}

std::string parse_tube(const std::string& name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";
  constexpr std::size_t most = 200;
  if (!name.empty() && name.size() <= most && name.front() != '-' &&
      name.find_first_not_of(allowed) == std::string::npos) {
    return name;
  }
  throw failure(
      fmt::format("--tube: '{}' is no name of a tube: write 1 to {} letters, digits and -+/;.$_(), the first "
                  "of them no -",
                  name, most));
}

void run_serve_bench(const serve_bench_options& options) {
  outputs to(options.files);
  try {
    const interruptible while_running;
    serve_run run(options);
    report_doubts(options, run.so_far());
    const serve_results all = run.measure();
    to.publish(all);
  } catch (const interrupted&) {
    die_if_interrupted();
    throw;
  }
}

}  // namespace foliot::program::bench

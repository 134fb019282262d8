// How late the jobs of one tube reach their workers while a flood of jobs in another tube has become due at one
// instant, and workers drain it.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "late_jobs.hpp"
#include "load_generator.hpp"
#include "serve_target.hpp"
#include "serve_workload.hpp"
#include "text/failure.hpp"
#include "tube.hpp"
#include "unread_lists.hpp"

namespace foliot::program::bench {

namespace {

struct flood {
  std::size_t jobs = 1'000'000;     ///< of the flood
  std::size_t per_second = 100;     ///< due in the other tube, evenly, from the flood on
  std::size_t seconds = 10;         ///< for so long
  std::size_t flood_workers = 32;   ///< connections that drain the flood
  std::size_t steady_workers = 16;  ///< connections that wait for the other tube's jobs
};

constexpr std::size_t body_length = 100;
constexpr std::size_t usual_jobs = 1'000'000;
constexpr std::size_t usual_tubes = 10'000;
constexpr std::size_t puts_in_flight = 256;
/// The flood is due after the time that its puts need at this rate, in the first attempt.
constexpr std::size_t puts_a_second = 20'000;
constexpr std::int64_t longest_wait = 600;  // seconds
constexpr double target_milliseconds = 50;

std::int64_t wall_now() noexcept { return wall_clock::instance().now().nanoseconds(); }

/// Client 0 puts the flood, client 1 the other tube's jobs; then come the workers of the other tube and of the flood.
class flood_run {
 public:
  flood_run(const flood& asked, const server_process& server)
      : asked_(asked),
        is_foliot_(server.kind().is_foliot),
        clients_(server.address(), 2 + asked.steady_workers + asked.flood_workers),
        due_(asked.per_second * asked.seconds) {
    for (std::size_t each = 0; each < clients_.size(); ++each) {
      enter_tube(clients_, each, is_for_flood(each) ? "foliot-bench-flood" : "foliot-bench-steady");
    }
    lateness_.reserve(due_.size());
  }

  /// Nothing if the puts took longer than `wait` seconds, after which the flood is due.
  std::optional<std::vector<serve_figure>> measure(std::int64_t wait) {
    // A whole second, because beanstalkd counts in seconds.
    flood_at_ = (wall_now() / second + 1 + wait) * second;
    put_flood();
    put_steady();
    if (wall_now() > flood_at_) return std::nullopt;
    for (std::size_t each = 2; each < clients_.size(); ++each) clients_.send(each, "reserve\r\n");
    const duration patience = std::chrono::seconds(wait) + load_generator::longest_silence;
    const auto handle = [this](std::size_t client, const reply& got) { go_on(client, got); };
    while (deleted_ < due_.size()) {
      if (!clients_.turn(handle, patience)) clients_.throw_silent();
    }
    const double seconds = static_cast<double>(wall_now() - flood_at_) / 1e9;
    std::vector<serve_figure> figures = late_figures(lateness_, "");
    figures.push_back(
        {.name = "drained", .unit = "jobs/s", .head = "drained", .amount = static_cast<double>(drained_) / seconds});
    return figures;
  }

 private:
  static constexpr std::int64_t second = 1'000'000'000;
  static constexpr std::int64_t millisecond = 1'000'000;

  [[nodiscard]] bool is_for_flood(std::size_t client) const noexcept {
    return client == 0 || client >= 2 + asked_.steady_workers;
  }

  /// foliot takes the due time itself, beanstalkd the seconds until then.
  [[nodiscard]] std::string put_command(std::int64_t due, std::int64_t seconds, std::size_t job) const {
    const std::string begin =
        is_foliot_ ? fmt::format("x-put keep - 0 @{} 600000", due / millisecond) : fmt::format("put 0 {} 600", seconds);
    return fmt::format("{} {}\r\n{:0{}}\r\n", begin, body_length, job, body_length);
  }

  /// Rounded up, so that beanstalkd's jobs are due within the second after `due`; 0 if it has passed.
  [[nodiscard]] static std::int64_t seconds_until(std::int64_t due) noexcept {
    return std::max<std::int64_t>((due - wall_now() + second - 1) / second, 0);
  }

  void put_flood() {
    std::size_t sent = 0;
    const auto send_one = [&] { clients_.send(0, put_command(flood_at_, seconds_until(flood_at_), sent++)); };
    while (sent < std::min(asked_.jobs, puts_in_flight)) send_one();
    clients_.finish([&](std::size_t, const reply& got) {
      expect_reply(got, reply_kind::inserted, "put");
      if (sent < asked_.jobs) send_one();
    });
  }

  void put_steady() {
    for (std::size_t job = 0; job < due_.size(); ++job) {
      const auto offset = static_cast<std::int64_t>(job) * second / static_cast<std::int64_t>(asked_.per_second);
      due_[job] = (flood_at_ + offset) / millisecond * millisecond;
      const std::int64_t seconds = seconds_until(due_[job]);
      clients_.send(1, put_command(due_[job], seconds, job));
      // beanstalkd counts from when it takes the job, which was before its reply came.
      if (!is_foliot_) due_[job] = seconds * second;
    }
    std::size_t answered = 0;
    clients_.finish([&](std::size_t, const reply& got) {
      expect_reply(got, reply_kind::inserted, "put");
      if (!is_foliot_) due_[answered] += wall_now();
      ++answered;
    });
  }

  void go_on(std::size_t client, const reply& got) {
    const std::int64_t now = wall_now();
    if (got.kind == reply_kind::deleted) {
      ++(is_for_flood(client) ? drained_ : deleted_);
      return;
    }
    // A worker of the flood holds nothing while it waits, so a reserve ends with a job.
    expect_reply(got, reply_kind::reserved, "reserve");
    if (!is_for_flood(client)) note_lateness(got, now);
    clients_.send(client, fmt::format("delete {}\r\nreserve\r\n", got.number), 2);
  }

  void note_lateness(const reply& got, std::int64_t now) {
    std::size_t job = due_.size();
    std::from_chars(got.body.data(), got.body.data() + got.body.size(), job);
    if (job >= due_.size()) throw failure(fmt::format("a worker got job {}, which was not put", got.number));
    lateness_.push_back(std::max<std::int64_t>(now - due_[job], 0));
  }

  const flood asked_;
  const bool is_foliot_;
  load_generator clients_;
  std::int64_t flood_at_ = 0;
  std::vector<std::int64_t> due_;  // of the other tube's jobs, on the wall clock
  std::vector<std::int64_t> lateness_;
  std::size_t deleted_ = 0;  // of the other tube
  std::size_t drained_ = 0;  // of the flood
};

/// Starts a server, puts all jobs, and measures until workers have deleted those of the other tube. Where the puts took
/// longer than planned, begins again with another server and more time. Throws failure.
std::vector<serve_figure> measure_flood(const flood& asked, const server_ground& ground) {
  std::int64_t wait = 1 + static_cast<std::int64_t>(asked.jobs / puts_a_second);
  for (; wait <= longest_wait; wait *= 2) {
    const std::filesystem::path folder = ground.folder / std::to_string(wait);
    std::filesystem::create_directory(folder);
    const server_process server(ground.kind, folder, ground.settings);
    if (auto figures = flood_run(asked, server).measure(wait)) return *figures;
  }
  throw failure(fmt::format("the server needed more than {} s for the puts of {} jobs", wait / 2, asked.jobs));
}

}  // namespace

void add_flood(serve_workloads& to, const serve_scale& scale) {
  const flood asked{.jobs = scale.quick ? std::size_t{1000} : usual_jobs,
                    .seconds = scale.quick ? std::size_t{1} : std::size_t{10}};
  const unread_lists lists{.tubes = scale.quick ? std::size_t{100} : usual_tubes,
                           .length = scale.quick ? std::chrono::milliseconds(100) : std::chrono::seconds(5)};
  serve_workload made;
  made.family = "flood";
  made.title = fmt::format(
      "{} jobs due at one instant, drained by workers: how late another tube's jobs are, in milliseconds; lists: the "
      "cycle of a client while {} others leave lists of {} tubes unread",
      asked.jobs, lists.readers, lists.tubes);
  made.parameters = {{"jobs", asked.jobs}};
  made.most_repetitions = 1;
  made.takes_part = [](const server_kind& kind) {
    return kind.is_usual() && (kind.is_foliot || kind.keeps != durability::each_change);
  };
  made.measure_own = [asked, lists](const server_ground& ground) {
    std::vector<serve_figure> figures = measure_flood(asked, ground);
    std::ranges::move(measure_unread_lists(lists, ground), std::back_inserter(figures));
    return figures;
  };
  to.push_back(std::move(made));
}

void add_flood_targets(serve_targets& to) {
  to.push_back({.what = "flood, the other tube's p99 in ms",
                .family = "flood",
                .parameters = {{"jobs", usual_jobs}},
                .figure = "p99",
                .contestant = "foliot",
                .bound = target_milliseconds,
                .at_least = false});
}

}  // namespace foliot::program::bench

// How late a server hands out delayed jobs that become due evenly, so many in a second, while workers wait for them.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "late_jobs.hpp"
#include "load_generator.hpp"
#include "serve_target.hpp"
#include "serve_workload.hpp"
#include "text/failure.hpp"
#include "tube.hpp"

namespace foliot::program::bench {

namespace {

struct due_rate {
  std::size_t per_second = 1000;
  std::size_t seconds = 10;
  std::size_t workers = 64;  ///< connections that reserve a job, delete it, and reserve the next one
};

constexpr std::size_t body_length = 100;
constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
constexpr std::int64_t nanoseconds_per_millisecond = 1'000'000;
constexpr double target_milliseconds = 5;
constexpr std::size_t most_of_nats = 1000;  // due a second

/// In nanoseconds of the wall clock, whose time is that of due jobs.
std::int64_t wall_now() noexcept { return wall_clock::instance().now().nanoseconds(); }

/// Client 0 puts, the others are workers.
class lateness_run {
 public:
  lateness_run(const due_rate& asked, const server_process& server, const std::string& tube)
      : asked_(asked),
        is_foliot_(server.kind().is_foliot),
        takes_due_time_(server.kind().is_foliot || server.kind().speaks == spoken_protocol::nats),
        tube_(tube),
        clients_(server.place(), asked.workers + 1),
        due_(asked.per_second * asked.seconds) {
    for (std::size_t each = 0; each < clients_.size(); ++each) enter_tube(clients_, each, tube);
    lateness_.reserve(due_.size());
  }

  std::vector<serve_figure> measure() {
    const commands reserve = clients_.protocol().reserve(tube_);
    for (std::size_t each = 1; each < clients_.size(); ++each) clients_.send(each, reserve);
    const auto handle = [this](std::size_t client, const reply& got) { go_on(client, got); };
    const std::int64_t begin = wall_now();
    for (std::size_t next = 0; next < due_.size();) {
      while (next < due_.size() && begin + offset_of(next) <= wall_now()) put(next++);
      clients_.turn(handle, std::chrono::milliseconds(1));
    }
    const duration patience = delay() + load_generator::longest_silence;
    while (deleted_ < due_.size()) {
      if (!clients_.turn(handle, patience)) clients_.throw_silent();
    }
    return late_figures(lateness_, fmt::format("{}/s ", asked_.per_second));
  }

 private:
  [[nodiscard]] std::int64_t offset_of(std::size_t job) const noexcept {
    return static_cast<std::int64_t>(job) * nanoseconds_per_second / static_cast<std::int64_t>(asked_.per_second);
  }
  [[nodiscard]] duration delay() const noexcept { return std::chrono::seconds(asked_.seconds + 1); }

  /// foliot and NATS take the due time itself, in milliseconds; beanstalkd a delay in seconds, which it counts from the
  /// put.
  void put(std::size_t job) {
    const std::int64_t due = (wall_now() + delay().count()) / nanoseconds_per_millisecond;
    if (takes_due_time_) due_[job] = due * nanoseconds_per_millisecond;
    const std::string body = fmt::format("{:0{}}", job, body_length);
    if (is_foliot_) {
      clients_.send(0, fmt::format("x-put keep - 0 @{} 600000 {}\r\n{}\r\n", due, body_length, body));
    } else {
      clients_.send(0, clients_.protocol().put_delayed(
                           tube_, {.number = job, .due = due, .delay = asked_.seconds + 1, .body = body}));
    }
    unanswered_.push_back(job);
  }

  void go_on(std::size_t client, const reply& got) {
    const std::int64_t now = wall_now();
    switch (got.kind) {
      case reply_kind::inserted: return note_inserted(now);
      case reply_kind::reserved: return note_reserved(client, got, now);
      case reply_kind::deleted: ++deleted_; return;
      default: throw_unexpected(got, "put, reserve or delete");
    }
  }

  /// beanstalkd took the job before its answer came, so its lateness is at least what is counted from now.
  void note_inserted(std::int64_t now) {
    if (!takes_due_time_) due_[unanswered_.front()] = now + delay().count();
    unanswered_.pop_front();
  }

  void note_reserved(std::size_t client, const reply& got, std::int64_t now) {
    std::size_t job = due_.size();
    std::from_chars(got.body.data(), got.body.data() + got.body.size(), job);
    if (job >= due_.size()) throw failure(fmt::format("a worker got job {}, which was not put", got.number));
    lateness_.push_back(std::max<std::int64_t>(now - due_[job], 0));
    clients_.send(client, clients_.protocol().finish(got));
    clients_.send(client, clients_.protocol().reserve(tube_));
  }

  const due_rate asked_;
  const bool is_foliot_;
  const bool takes_due_time_;
  const std::string tube_;
  load_generator clients_;
  std::vector<std::int64_t> due_;       // of each job, on the wall clock
  std::deque<std::size_t> unanswered_;  // jobs whose put has no reply yet
  std::vector<std::int64_t> lateness_;
  std::size_t deleted_ = 0;
};

/// Starts a server, puts the jobs at that rate, and measures until workers have deleted all of them. Each job becomes
/// due `seconds` + 1 seconds after its put, so no put disturbs the deliveries. Throws failure.
std::vector<serve_figure> measure_lateness(const due_rate& asked, const server_ground& ground) {
  const server_process server(ground.kind, ground.folder, ground.settings);
  return lateness_run(asked, server, "foliot-bench").measure();
}

}  // namespace

void add_lateness(serve_workloads& to, const serve_scale& scale) {
  const std::vector<std::size_t> rates =
      scale.quick ? std::vector<std::size_t>{50, 100} : std::vector<std::size_t>{1000, 10'000};
  for (const std::size_t rate : rates) {
    const due_rate asked{.per_second = rate, .seconds = scale.quick ? std::size_t{1} : std::size_t{10}};
    serve_workload made;
    made.family = "lateness";
    made.title = "how late delayed jobs reach waiting workers, in milliseconds, by the jobs due a second";
    made.parameters = {{"due_per_second", rate}};
    made.most_repetitions = 1;
    made.takes_part = [rate](const server_kind& kind) {
      // It syncs each put, and each job again when that becomes due.
      if (kind.speaks == spoken_protocol::nats) return rate <= most_of_nats;
      return kind.is_usual() && (kind.is_foliot || kind.keeps != durability::each_change);
    };
    made.measure_own = [asked](const server_ground& ground) { return measure_lateness(asked, ground); };
    to.push_back(std::move(made));
  }
}

void add_lateness_targets(serve_targets& to) {
  to.push_back({.what = "lateness, 10,000 due a second, p99 in ms",
                .family = "lateness",
                .parameters = {{"due_per_second", 10'000}},
                .figure = "p99",
                .contestant = "foliot",
                .bound = target_milliseconds,
                .at_least = false});
}

}  // namespace foliot::program::bench

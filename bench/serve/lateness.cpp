// How late jobs are, and clients. `lateness`: delayed jobs that become due evenly, so many in a second, while workers
// wait for them. `flood`: such jobs of one tube while a flood of jobs in another one, all due at one instant, is
// drained; and the cycle of one client while others have asked for the list of all tubes and do not read it.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "load_generator.hpp"
#include "serve_workload.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t body_length = 100;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t millisecond = 1'000'000;
constexpr std::size_t most_of_nats = 1000;  // due a second

/// In nanoseconds of the wall clock, whose time is that of due jobs.
std::int64_t wall_now() noexcept { return wall_clock::instance().now().nanoseconds(); }

/// p50, p90, p99, p99.9 and max in milliseconds, by nearest rank; the table shows the first, third and last, with
/// `head` in front of their names. `nanoseconds` must not be empty, and is sorted by this.
std::vector<serve_figure> late_figures(std::vector<std::int64_t>& nanoseconds, std::string_view head) {
  std::ranges::sort(nanoseconds);
  constexpr std::array<std::pair<std::string_view, std::size_t>, 5> ranks{
      {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"max", 1000}}};
  std::vector<serve_figure> made;
  for (const auto& [name, per_mille] : ranks) {
    const std::size_t rank = std::max<std::size_t>((nanoseconds.size() * per_mille + 999) / 1000, 1);
    const bool in_table = name != "p90" && name != "p99.9";
    made.push_back({.name = std::string(name),
                    .unit = "ms",
                    .head = in_table ? std::string(head) + std::string(name) : std::string(),
                    .amount = static_cast<double>(nanoseconds[rank - 1]) / 1e6});
  }
  return made;
}

/// Measures the lateness of the jobs in one tube. Client 0 puts these jobs, and clients 1 to `workers` reserve and
/// delete them. The `others` clients after these empty a second tube, which client 0 has filled before.
class late_jobs {
 public:
  late_jobs(const server_process& server, std::size_t jobs, std::size_t workers, std::size_t others = 0)
      : is_foliot_(server.kind().is_foliot),
        takes_due_time_(is_foliot_ || server.kind().speaks == spoken_protocol::nats),
        workers_(workers),
        clients_(server.place(), 1 + workers + others),
        due_(jobs) {
    for (std::size_t each = 0; each < clients_.size(); ++each) {
      clients_.enter(each, tube_of(each));
    }
    lateness_.reserve(jobs);
  }

  /// Puts `count` jobs that are due at this instant in the other tube.
  void put_others(std::size_t count, std::int64_t due) {
    clients_.expect(0, "use foliot-bench-flood\r\n", 1, reply_kind::used);
    clients_.send_all(
        count, 1, 256, [&](std::size_t) { send_put(due, seconds_until(due), count); },
        [](const reply& got) { expect_reply(got, reply_kind::inserted, "put"); });
    clients_.expect(0, "use foliot-bench-steady\r\n", 1, reply_kind::used);
  }

  /// Sends the put of the next job.
  void put(std::int64_t due) {
    const std::int64_t seconds = seconds_until(due);
    send_put(due, seconds, put_);
    due_[put_++] = takes_due_time_ ? due / millisecond * millisecond : seconds * second;
  }
  [[nodiscard]] bool all_put() const noexcept { return put_ == due_.size(); }
  void await_puts() {
    clients_.finish([this](std::size_t client, const reply& got) { go_on(client, got); });
  }

  void begin_work() {
    for (std::size_t each = 1; each < clients_.size(); ++each) reserve(each);
  }
  bool turn(duration patience) {
    return clients_.turn([this](std::size_t client, const reply& got) { go_on(client, got); }, patience);
  }
  /// Until all jobs are deleted, which are due after this time at the latest.
  void finish(duration due) {
    while (deleted_ < due_.size()) {
      if (!turn(due + load_generator::longest_silence)) clients_.throw_silent();
    }
  }

  [[nodiscard]] std::size_t drained() const noexcept { return drained_; }
  std::vector<serve_figure> figures(std::string_view head) { return late_figures(lateness_, head); }

 private:
  [[nodiscard]] bool is_other(std::size_t client) const noexcept { return client > workers_; }
  [[nodiscard]] const char* tube_of(std::size_t client) const noexcept {
    return is_other(client) ? "foliot-bench-flood" : "foliot-bench-steady";
  }
  void reserve(std::size_t client) { clients_.send(client, clients_.protocol().reserve(tube_of(client))); }

  /// foliot and NATS take the due time itself, in milliseconds; beanstalkd the seconds until then.
  void send_put(std::int64_t due, std::int64_t seconds, std::size_t job) {
    const std::string body = fmt::format("{:0{}}", job, body_length);
    if (is_foliot_) {
      clients_.send(0, fmt::format("x-put keep - 0 @{} 600000 {}\r\n{}\r\n", due / millisecond, body_length, body));
    } else {
      clients_.send(0, clients_.protocol().put_delayed(tube_of(0), {.number = job,
                                                                    .due = due / millisecond,
                                                                    .delay = static_cast<std::uint64_t>(seconds),
                                                                    .body = body}));
    }
  }

  /// Rounded up, so that beanstalkd's jobs are due within the second after `due`; 0 if it has passed.
  [[nodiscard]] static std::int64_t seconds_until(std::int64_t due) noexcept {
    return std::max<std::int64_t>((due - wall_now() + second - 1) / second, 0);
  }

  void go_on(std::size_t client, const reply& got) {
    const std::int64_t now = wall_now();
    switch (got.kind) {
      case reply_kind::inserted:
        // beanstalkd took the job before its answer came, so its lateness is at least what is counted from now.
        if (!takes_due_time_) due_[inserted_] += now;
        ++inserted_;
        return;
      case reply_kind::deleted: ++(is_other(client) ? drained_ : deleted_); return;
      case reply_kind::reserved:
        if (!is_other(client)) note_lateness(got, now);
        clients_.send(client, clients_.protocol().finish(got));
        return reserve(client);
      default: throw_unexpected(got, "put, reserve or delete");
    }
  }

  void note_lateness(const reply& got, std::int64_t now) {
    std::size_t job = due_.size();
    std::from_chars(got.body.data(), got.body.data() + got.body.size(), job);
    if (job >= due_.size()) throw failure(fmt::format("a worker got job {}, which was not put", got.number));
    lateness_.push_back(std::max<std::int64_t>(now - due_[job], 0));
  }

  const bool is_foliot_;
  const bool takes_due_time_;
  const std::size_t workers_;
  load_generator clients_;
  std::vector<std::int64_t> due_;  // of each job, on the wall clock; of beanstalkd's before their replies: the delay
  std::vector<std::int64_t> lateness_;
  std::size_t put_ = 0;
  std::size_t inserted_ = 0;
  std::size_t deleted_ = 0;
  std::size_t drained_ = 0;  // of the other tube
};

std::int64_t offset_of(std::size_t job, std::size_t per_second) noexcept {
  return static_cast<std::int64_t>(job) * second / static_cast<std::int64_t>(per_second);
}

// ---------------------------------------------------------------- lateness

struct due_rate {
  std::size_t per_second = 1000;
  std::size_t seconds = 10;
};

/// Puts the jobs at that rate, and measures until 64 workers have deleted all of them. Each job becomes due `seconds` +
/// 1 seconds after its put, so no put disturbs the deliveries. Throws failure.
std::vector<serve_figure> measure_lateness(const due_rate& asked, const server_ground& ground) {
  const server_process server(ground.kind, ground.folder, ground.settings);
  const duration delay = std::chrono::seconds(asked.seconds + 1);
  late_jobs jobs(server, asked.per_second * asked.seconds, 64);
  jobs.begin_work();
  const std::int64_t begin = wall_now();
  for (std::size_t next = 0; !jobs.all_put();) {
    for (; !jobs.all_put() && begin + offset_of(next, asked.per_second) <= wall_now(); ++next) {
      jobs.put(wall_now() + delay.count());
    }
    jobs.turn(std::chrono::milliseconds(1));
  }
  jobs.finish(delay);
  return jobs.figures(fmt::format("{}/s ", asked.per_second));
}

// ---------------------------------------------------------------- flood

struct flood {
  std::size_t jobs = 1'000'000;     ///< of the flood
  std::size_t per_second = 100;     ///< due in the other tube, evenly, from the flood on
  std::size_t seconds = 10;         ///< for so long
  std::size_t flood_workers = 32;   ///< connections that drain the flood
  std::size_t steady_workers = 16;  ///< connections that wait for the other tube's jobs
};

/// The flood is due after the time that its puts need at this rate, in the first attempt.
constexpr std::size_t puts_a_second = 20'000;
constexpr std::int64_t longest_wait = 600;  // seconds

/// Nothing if the puts took longer than `wait` seconds, after which the flood is due.
std::optional<std::vector<serve_figure>> figures_of_flood(const flood& asked, const server_process& server,
                                                          std::int64_t wait) {
  late_jobs jobs(server, asked.per_second * asked.seconds, asked.steady_workers, asked.flood_workers);
  // A whole second, because beanstalkd counts in seconds.
  const std::int64_t flood_at = (wall_now() / second + 1 + wait) * second;
  jobs.put_others(asked.jobs, flood_at);
  for (std::size_t job = 0; !jobs.all_put(); ++job) jobs.put(flood_at + offset_of(job, asked.per_second));
  jobs.await_puts();
  if (wall_now() > flood_at) return std::nullopt;
  jobs.begin_work();
  jobs.finish(std::chrono::seconds(wait));
  const double seconds = static_cast<double>(wall_now() - flood_at) / 1e9;
  std::vector<serve_figure> figures = jobs.figures("");
  figures.push_back({"drained", "jobs/s", "drained", static_cast<double>(jobs.drained()) / seconds});
  return figures;
}

/// Starts a server, puts all jobs, and measures until workers have deleted those of the other tube. Where the puts took
/// longer than planned, begins again with another server and more time. Throws failure.
std::vector<serve_figure> measure_flood(const flood& asked, const server_ground& ground) {
  std::int64_t wait = 1 + static_cast<std::int64_t>(asked.jobs / puts_a_second);
  for (; wait <= longest_wait; wait *= 2) {
    const std::filesystem::path folder = ground.folder / std::to_string(wait);
    std::filesystem::create_directory(folder);
    const server_process server(ground.kind, folder, ground.settings);
    if (auto figures = figures_of_flood(asked, server, wait)) return *figures;
  }
  throw failure(fmt::format("the server needed more than {} s for the puts of {} jobs", wait / 2, asked.jobs));
}

// ---------------------------------------------------------------- lists that are not read

struct unread_lists {
  std::size_t tubes = 10'000;  ///< with names of 200 bytes
  std::size_t readers = 100;   ///< connections that each ask for the list, and do not read it
  duration length{};           ///< for so long one more connection puts, reserves and deletes a job
};

/// foliot lets a connection watch 1,000.
constexpr std::size_t tubes_of_a_connection = 900;
constexpr std::size_t name_length = 200;

void make_tubes(load_generator& keepers, std::size_t tubes) {
  for (std::size_t first = 0; first < tubes; first += tubes_of_a_connection) {
    const std::size_t last = std::min(first + tubes_of_a_connection, tubes);
    std::string commands;
    for (std::size_t tube = first; tube < last; ++tube)
      commands += fmt::format("watch t{:0{}}\r\n", tube, name_length - 1);
    keepers.expect(first / tubes_of_a_connection, commands, last - first, reply_kind::watching);
  }
}

/// Starts a server in a folder of its own in that of `ground`. The figures are those of the time from a put to the
/// answer of the delete: `lists-p50` and so on. Throws failure.
std::vector<serve_figure> measure_unread_lists(const unread_lists& asked, const server_ground& ground) {
  const std::filesystem::path folder = ground.folder / "lists";
  std::filesystem::create_directory(folder);
  const server_process server(ground.kind, folder, ground.settings);
  load_generator keepers(server.address(), (asked.tubes + tubes_of_a_connection - 1) / tubes_of_a_connection);
  make_tubes(keepers, asked.tubes);
  load_generator other(server.address(), 1);
  other.enter(0, "foliot-bench-steady");
  load_generator readers(server.address(), asked.readers);
  for (std::size_t each = 0; each < readers.size(); ++each) readers.send(each, "list-tubes\r\n");
  readers.turn([](std::size_t, const reply&) {}, duration::zero());  // and never again
  const clock& time = monotonic_clock::instance();
  const instant end = time.now() + asked.length;
  std::vector<std::int64_t> lengths;
  do {
    const instant began = time.now();
    std::uint64_t job = 0;
    other.send(0, "put 0 0 600 1\r\nx\r\nreserve\r\n", 2);
    other.finish([&job](std::size_t, const reply& got) {
      if (got.kind == reply_kind::reserved) job = got.number;
    });
    other.expect(0, fmt::format("delete {}\r\n", job), 1, reply_kind::deleted);
    lengths.push_back((time.now() - began).count());
  } while (time.now() < end);
  std::vector<serve_figure> figures = late_figures(lengths, "lists ");
  for (serve_figure& each : figures) each.name = "lists-" + each.name;
  return figures;
}

bool hands_out_in_time(const server_kind& kind) {
  return kind.is_usual() && (kind.is_foliot || kind.keeps != durability::each_change);
}

}  // namespace

void add_lateness(serve_workloads& to, const serve_scale& scale) {
  for (const std::size_t rate :
       scale.quick ? std::vector<std::size_t>{50, 100} : std::vector<std::size_t>{1000, 10'000}) {
    const due_rate asked{.per_second = rate, .seconds = scale.quick ? std::size_t{1} : std::size_t{10}};
    to.push_back({.family = "lateness",
                  .title = "how late delayed jobs reach waiting workers, in milliseconds, by the jobs due a second",
                  .parameters = {{"due_per_second", rate}},
                  .most_repetitions = 1,
                  .takes_part =
                      [rate](const server_kind& kind) {
                        // It syncs each put, and each job again when that becomes due.
                        if (kind.speaks == spoken_protocol::nats) return rate <= most_of_nats;
                        return hands_out_in_time(kind);
                      },
                  .measure_own = [asked](const server_ground& ground) { return measure_lateness(asked, ground); }});
  }
}

void add_flood(serve_workloads& to, const serve_scale& scale) {
  flood asked;
  unread_lists lists{.length = std::chrono::seconds(5)};
  if (scale.quick) {
    asked.jobs = 1000;
    asked.seconds = 1;
    lists = {.tubes = 100, .length = std::chrono::milliseconds(100)};
  }
  to.push_back(
      {.family = "flood",
       .title = fmt::format("{} jobs due at one instant, drained by workers: how late another tube's jobs are, in "
                            "milliseconds; lists: the cycle of a client while {} others leave lists of {} tubes unread",
                            asked.jobs, lists.readers, lists.tubes),
       .parameters = {{"jobs", asked.jobs}},
       .most_repetitions = 1,
       .takes_part = hands_out_in_time,
       .measure_own = [asked, lists](const server_ground& ground) {
         std::vector<serve_figure> figures = measure_flood(asked, ground);
         std::ranges::move(measure_unread_lists(lists, ground), std::back_inserter(figures));
         return figures;
       }});
}

}  // namespace foliot::program::bench

// How many commands a server answers in a second: puts, and cycles of put, reserve and delete, from one connection to
// many, with bodies of several sizes, with several puts in flight on a connection, and with many puts in a batch.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "bench/resident_memory.hpp"
#include "bench/workloads/quick_random.hpp"
#include "load_generator.hpp"
#include "replay/usage.hpp"
#include "serve_workload.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

enum class load_shape : std::uint8_t {
  puts,
  delayed_puts,  ///< due after an hour, within a day
  cycles,        ///< put a job, reserve one, delete that one
};

struct load {
  load_shape shape = load_shape::puts;
  std::size_t connections = 1;
  std::size_t in_flight = 1;  ///< puts of a connection that are not answered yet; 1 for cycles
  std::size_t body = 100;     ///< bytes
  std::size_t batch = 1;      ///< puts that are sent at once, and count as one in flight; 1 for cycles
};

constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
constexpr std::int64_t warm_up_share = 5;
constexpr std::size_t usual_body = 100;
constexpr std::size_t usual_connections = 64;
constexpr std::size_t usual_batch = 100;
constexpr std::uint64_t hour = 3600;  // seconds
constexpr std::uint64_t day = 86'400;

/// How far the run was at an instant.
struct mark {
  instant when{};
  std::uint64_t operations = 0;
  duration server_time{};
  duration own_time{};
};

class load_run {
 public:
  load_run(const load& asked, const server_under_load& server)
      : asked_(asked), server_(server), clients_(server.place, asked.connections) {
    const client_protocol& of = clients_.protocol();
    put_ = asked.batch == 1 ? of.put(server.tube, asked.body) : of.put_many(server.tube, asked.batch, asked.body);
    reserve_ = of.reserve(server.tube);
    puts_of_a_reply_ = asked.batch / put_.count;
    for (std::size_t each = 0; each < clients_.size(); ++each) clients_.enter(each, server.tube);
  }

  std::vector<serve_figure> measure(duration length) {
    for (std::size_t each = 0; each < clients_.size(); ++each) {
      for (std::size_t i = 0; i < asked_.in_flight; ++i) put(each);
    }
    const std::uint64_t most =
        asked_.shape == load_shape::cycles
            ? UINT64_MAX
            : std::max<std::uint64_t>(most_bytes / asked_.body, 2 * asked_.batch * asked_.connections);
    run_until(now() + length / warm_up_share, most / warm_up_share);
    const mark first = mark_now();
    run_until(first.when + length, most);
    const mark last = mark_now();
    running_ = false;
    clients_.finish([this](std::size_t client, const reply& got) { go_on(client, got); });
    return figures_between(first, last);
  }

 private:
  void put(std::size_t client) {
    if (asked_.shape != load_shape::delayed_puts) return clients_.send(client, put_);
    const std::uint64_t delay = hour + upper_below(random_.next(), day);
    const std::int64_t now = wall_clock::instance().now().nanoseconds() / 1'000'000;
    clients_.send(client,
                  clients_.protocol().put_delayed(server_.tube, {.number = ++delayed_,
                                                                 .due = now + 1000 * static_cast<std::int64_t>(delay),
                                                                 .delay = delay,
                                                                 .body = body_}));
  }

  void go_on(std::size_t client, const reply& got) {
    const bool is_cycle = asked_.shape == load_shape::cycles;
    switch (got.kind) {
      case reply_kind::inserted:
        if (is_cycle) return clients_.send(client, reserve_);
        break;
      case reply_kind::ok: break;  // of a batch
      case reply_kind::reserved: return clients_.send(client, clients_.protocol().finish(got));
      case reply_kind::deleted: break;
      default: throw_unexpected(got, is_cycle ? "put, reserve or delete" : "put");
    }
    operations_ += is_cycle ? 1 : puts_of_a_reply_;
    // The replies to a batch that was sent as several commands come together: the last one counts.
    if (running_ && (asked_.batch == 1 || clients_.awaited(client) == 0)) put(client);
  }

  /// At least one operation ends meanwhile.
  void run_until(instant end, std::uint64_t most_operations) {
    const std::uint64_t before = operations_;
    do {
      const auto handle = [this](std::size_t client, const reply& got) { go_on(client, got); };
      if (!clients_.turn(handle)) clients_.throw_silent();
    } while (operations_ == before || (operations_ < most_operations && now() < end));
  }

  [[nodiscard]] mark mark_now() const {
    const duration server_time = server_.process == nullptr ? duration{} : server_.process->usage().processor_time;
    return {.when = now(), .operations = operations_, .server_time = server_time, .own_time = processor_time()};
  }

  [[nodiscard]] std::vector<serve_figure> figures_between(const mark& first, const mark& last) const {
    const auto count = static_cast<double>(last.operations - first.operations);
    const auto microseconds_each = [count](duration time) { return static_cast<double>(time.count()) / 1e3 / count; };
    const double seconds = static_cast<double>((last.when - first.when).count()) * 1e-9;
    std::vector<serve_figure> figures{
        {"rate", "operations/s", {}, count / seconds},
        {"generator-cpu", "us/operation", {}, microseconds_each(last.own_time - first.own_time)}};
    if (server_.process != nullptr) {
      figures.push_back({"server-cpu", "us/operation", {}, microseconds_each(last.server_time - first.server_time)});
    }
    return figures;
  }

  const load asked_;
  const server_under_load& server_;
  const std::string body_{std::string(asked_.body, 'x')};
  load_generator clients_;
  quick_random random_{1};
  std::uint64_t delayed_ = 0;
  commands put_;
  commands reserve_;
  std::uint64_t puts_of_a_reply_ = 1;
  std::uint64_t operations_ = 0;
  bool running_ = true;
};

// ---------------------------------------------------------------- the tube of a server that the user has started

constexpr std::size_t asked_at_once = 256;

/// The jobs of a tube, from the reply to `stats-tube`. Those that are urgent are among the ready ones.
std::uint64_t jobs_in(std::string_view yaml) {
  std::uint64_t sum = 0;
  for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
    sum += number_in(yaml, fmt::format("current-jobs-{}", state));
  }
  return sum;
}

std::uint64_t count_jobs(load_generator& clients, const std::string& tube) {
  std::uint64_t jobs = 0;
  clients.send(0, fmt::format("stats-tube {}\r\n", tube));
  clients.finish([&](std::size_t, const reply& got) { jobs = jobs_in(got.body); });
  return jobs;
}

/// Sends the command so often, and returns the ids in the answers of this kind.
std::vector<std::uint64_t> ask(load_generator& clients, std::string_view command, std::size_t count, reply_kind kind) {
  std::string commands;
  for (std::size_t i = 0; i < count; ++i) commands += command;
  std::vector<std::uint64_t> ids;
  clients.send(0, commands, count);
  clients.finish([&](std::size_t, const reply& got) {
    if (got.kind == kind) ids.push_back(got.number);
  });
  return ids;
}

/// Throws failure if the tube has jobs: they are another program's.
void check_empty(const runtime::address& server, const std::string& tube) {
  load_generator clients(server, 1);
  if (const std::uint64_t jobs = count_jobs(clients, tube); jobs > 0) {
    throw failure(fmt::format("tube '{}' of the server at {} has {} job{}: name one of its own with --tube", tube,
                              server.to_string(), jobs, jobs == 1 ? "" : "s"));
  }
}

/// Deletes all jobs of the tube, those that are delayed, buried or reserved by connections that have ended included.
/// Throws failure, also if another client holds some of them for a minute.
void empty_tube(const runtime::address& server, const std::string& tube) {
  load_generator clients(server, 1);
  clients.enter(0, tube);
  const clock& time = monotonic_clock::instance();
  instant progress = time.now();
  while (const std::uint64_t jobs = count_jobs(clients, tube)) {
    if (time.now() - progress > load_generator::longest_silence) {
      throw failure(fmt::format("another client holds {} job{} of tube '{}' of the server at {}", jobs,
                                jobs == 1 ? "" : "s", tube, server.to_string()));
    }
    static_cast<void>(ask(clients, fmt::format("kick {}\r\n", asked_at_once), 1, reply_kind::kicked));
    auto ids = ask(clients, "reserve-with-timeout 0\r\n", asked_at_once, reply_kind::reserved);
    if (ids.empty()) {  // another client may hold the rest
      ids = ask(clients, "reserve-with-timeout 1\r\n", 1, reply_kind::reserved);
    }
    std::string commands;
    for (const std::uint64_t id : ids) commands += fmt::format("delete {}\r\n", id);
    if (ids.empty()) continue;
    progress = time.now();
    clients.send(0, commands, ids.size());
    clients.finish([](std::size_t, const reply&) {});
  }
}

// ---------------------------------------------------------------- loads

std::string size_text(std::size_t bytes) {
  return bytes >= 1024 ? fmt::format("{} KB", bytes / 1024) : fmt::format("{} B", bytes);
}

struct column_of {
  std::string family;
  std::string title;
  std::string head;
};

/// Loads the server for a fifth of `length`, then measures for `length`, or until some hundred megabytes were put.
/// Leaves no job in the tube of a server that the user has started. Throws failure.
std::vector<serve_figure> measure_load(const load& asked, duration length, const server_under_load& server) {
  if (server.process != nullptr) return load_run(asked, server).measure(length);
  check_empty(server.place.address, server.tube);
  std::vector<serve_figure> figures;
  try {
    figures = load_run(asked, server).measure(length);
  } catch (...) {
    try {
      empty_tube(server.place.address, server.tube);
    } catch (const failure&) {  // the first failure says more
    }
    throw;
  }
  empty_tube(server.place.address, server.tube);
  return figures;
}

/// `of_all`: whether servers take part of which clients do not speak the beanstalk protocol as usual.
void add_load(serve_workloads& to, const serve_scale& scale, const load& asked, column_of where, bool of_all = false) {
  serve_workload made;
  made.family = std::move(where.family);
  made.title = std::move(where.title);
  made.parameters = {{"connections", asked.connections}, {"in_flight", asked.in_flight}, {"body", asked.body}};
  if (asked.batch > 1) made.parameters.push_back({"batch", asked.batch});
  if (!of_all) made.takes_part = [](const server_kind& kind) { return kind.is_usual(); };
  made.measure = [asked, length = scale.length, head = std::move(where.head)](const server_under_load& server) {
    std::vector<serve_figure> figures = measure_load(asked, length, server);
    for (serve_figure& each : figures) {
      if (each.name != "generator-cpu") each.head = head;
    }
    return figures;
  };
  to.push_back(std::move(made));
}

}  // namespace

void add_throughput(serve_workloads& to, const serve_scale& scale) {
  const std::vector<std::size_t> connections =
      scale.quick ? std::vector<std::size_t>{1, 4} : std::vector<std::size_t>{1, 4, 16, 64, 256};
  const std::vector<std::size_t> bodies =
      scale.quick ? std::vector<std::size_t>{8, 80 * 1024} : std::vector<std::size_t>{8, 1024, 8 * 1024, 80 * 1024};
  const std::size_t many = scale.quick ? 4 : usual_connections;
  for (const load_shape shape : {load_shape::puts, load_shape::cycles}) {
    const bool puts = shape == load_shape::puts;
    for (const std::size_t each : connections) {
      add_load(to, scale, {shape, each, 1, usual_body},
               {puts ? "puts" : "cycles",
                fmt::format("{} a second, bodies of {} bytes, by the number of connections",
                            puts ? "puts" : "cycles of put, reserve and delete", usual_body),
                std::to_string(each)},
               each == many);
    }
  }
  for (const std::size_t in_flight : {std::size_t{8}, std::size_t{64}}) {
    add_load(
        to, scale, {load_shape::puts, 4, in_flight, usual_body},
        {"pipelined-puts",
         fmt::format("puts a second, bodies of {} bytes, 4 connections, by the puts in flight on each", usual_body),
         std::to_string(in_flight)});
  }
  for (const auto& [connections_of, in_flight] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {many, 1}, {std::size_t{4}, scale.quick ? 8 : 64}}) {
    add_load(
        to, scale, {load_shape::delayed_puts, connections_of, in_flight, usual_body},
        {"delayed-puts",
         fmt::format("puts a second of jobs that are due within a day, bodies of {} bytes, by connections and the puts "
                     "in flight on each",
                     usual_body),
         fmt::format("{} x {}", connections_of, in_flight)});
    to.back().takes_part = [](const server_kind& kind) { return kind.delays_jobs(); };
  }
  for (const load_shape shape : {load_shape::puts, load_shape::cycles}) {
    const bool puts = shape == load_shape::puts;
    for (const std::size_t body : bodies) {
      add_load(to, scale, {shape, many, 1, body},
               {puts ? "put-sizes" : "cycle-sizes",
                fmt::format("{} a second, {} connections, by the size of the body",
                            puts ? "puts" : "cycles of put, reserve and delete", many),
                size_text(body)});
    }
  }
}

void add_batches(serve_workloads& to, const serve_scale& scale) {
  const std::size_t connections = scale.quick ? 4 : usual_connections;
  const std::size_t batch = scale.quick ? 10 : usual_batch;
  const load asked{.connections = connections, .batch = batch};
  add_load(
      to, scale, asked,
      {"batches",
       fmt::format("puts a second, bodies of {} bytes, {} connections, each of which sends {} puts at once: by HTTP "
                   "one request",
                   usual_body, connections, batch),
       std::to_string(batch)},
      true);
  to.back().takes_part = [](const server_kind& kind) {
    return kind.is_foliot && kind.keeps == durability::each_change;
  };
}

}  // namespace foliot::program::bench

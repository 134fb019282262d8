#include "queue_load.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>

#include "bench/bench_options.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr double lead = 2;                 // seconds between the last put and the first due time
constexpr double puts_in_a_second = 1500;  // at the least
constexpr std::string_view due_field = R"({"due":)";

double number_at_front(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::int64_t wall_nanoseconds() noexcept { return wall_clock::instance().now().nanoseconds(); }

/// The part of a line with these latenesses, which this sorts; empty if there are none.
std::string late_part(std::string_view before, std::vector<double>& late) {
  if (late.empty()) return {};
  std::ranges::sort(late);
  const auto at = [&](double part) {
    return late[static_cast<std::size_t>(static_cast<double>(late.size() - 1) * part)];
  };
  const auto early = std::ranges::count_if(late, [](double each) { return each < 0; });
  return fmt::format(R"(, "{0}early": {1}, "{0}p50": {2:.4f}, "{0}p99": {3:.4f}, "{0}max": {4:.4f})", before, early,
                     at(0.5), at(0.99), at(1));
}

}  // namespace

queue_shape parse_queue_shape(const std::string& name) {
  const std::vector<std::string> all{"backlog", "flow", "lateness", "far", "steady", "keys"};
  static_cast<void>(known_names("--workload", "workload", {name}, all));
  return static_cast<queue_shape>(std::ranges::find(all, name) - all.begin());
}

void run_queue_load(const queue_load& asked) {
  if (asked.nodes.empty() == asked.library.empty()) throw failure("name either --nodes or --library");
  if (asked.library.empty()) return run_queue_clients(asked);
  if (asked.shape == queue_shape::steady || asked.shape == queue_shape::keys) {
    throw failure(fmt::format("--library: the workload '{}' is for --nodes",
                              asked.shape == queue_shape::steady ? "steady" : "keys"));
  }
  run_queue_workers(asked);
}

void pass(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
}

due_times::due_times(const queue_load& given) noexcept {
  constexpr double day = 86'400;
  if (given.shape == queue_shape::far) first_ = wall_seconds() + day;
  if (given.shape != queue_shape::lateness) return;
  first_ = wall_seconds() + lead + static_cast<double>(given.first_jobs()) / puts_in_a_second;
  rate_ = static_cast<double>(given.rate);
}

void due_times::check() const {
  if (rate_ > 0 && wall_seconds() > first_) throw failure("jobs became due before all were put: take a lower rate");
}

std::string body_of(double due, bool is_delayed, std::size_t least) {
  std::string body = fmt::format("{}{}", due_field, static_cast<std::int64_t>(due * 1000));
  if (least > 0) body += fmt::format(R"(,"us":{},"delayed":{:d})", static_cast<std::int64_t>(due * 1e6), is_delayed);
  body += '}';
  body.resize(std::max(body.size(), least), ' ');
  return body;
}

queue_tally::queue_tally(const queue_load& given) noexcept
    : is_timed_(given.shape == queue_shape::lateness || given.shape == queue_shape::steady) {}

void queue_tally::begin(std::string_view body) {
  const std::int64_t at = wall_nanoseconds();
  std::int64_t none = 0;
  first_start_.compare_exchange_strong(none, at);
  if (!is_timed_) return;
  const std::size_t us = body.find(R"("us":)");
  const bool is_delayed = body.find(R"("delayed":1)") != std::string_view::npos;
  const double due_ms = us == std::string_view::npos ? number_at_front(body.substr(due_field.size()))
                                                     : number_at_front(body.substr(us + 5)) / 1e3;
  const lock held(mutex_);
  (is_delayed ? delayed_ : late_).push_back(static_cast<double>(at) * 1e-6 - due_ms);
}

void queue_tally::finish() noexcept {
  last_finish_.store(wall_nanoseconds());
  finished_.fetch_add(1);
}

std::string queue_tally::figures(std::int64_t jobs, double seconds, std::string_view more) {
  const lock held(mutex_);
  std::string line = fmt::format(R"({{"jobs": {}, "seconds": {:.4f}{}{}{}}})", jobs, seconds, late_part("", late_),
                                 late_part("delayed_", delayed_), more);
  late_.clear();
  delayed_.clear();
  return line;
}

#ifndef FOLIOT_HAS_POSTGRESQL_STORE

namespace {

[[noreturn]] void throw_no_library() {
  throw failure("PostgreSQL's library was not installed when this program was built (Debian: libpq-dev)");
}

}  // namespace

void run_queue_workers(const queue_load&) { throw_no_library(); }
void run_batches(const std::string&) { throw_no_library(); }

#endif

bool flow_window::is_over() noexcept {
  const double at = steady_seconds();
  if (from_ == 0 && at >= begin_ + 1) {
    from_ = at;
    before_ = all_.finished();
  }
  seconds_ = at - from_;
  return from_ > 0 && seconds_ >= given_.seconds;
}

}  // namespace foliot::program::bench

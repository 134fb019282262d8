#include "world.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <foliot/service/timer.hpp>

#include "draws.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

void access_line_writer::append(std::string& to, const identity& who, instant time, const served_request& request) {
  constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
  const std::int64_t second = time.nanoseconds() / nanoseconds_per_second;
  if (second_text_.empty() || second != second_) {
    second_ = second;
    second_text_.clear();
    append_log_time(second_text_, time);
  }
  append_address(to, who);
  to += " - ";
  append_user(to, who);
  fmt::format_to(std::back_inserter(to), " [{}] \"{} {} HTTP/1.1\" {} ", second_text_, request.method, request.path,
                 request.status);
  if (request.size == 0) {
    to += '-';
  } else {
    fmt::format_to(std::back_inserter(to), "{}", request.size);
  }
  fmt::format_to(std::back_inserter(to), " \"{}\" \"{}\"\n", request.referer, agent_of(who));
}

using namespace std::chrono_literals;

namespace {

/// The load of the site at the beginning of each hour, in UTC, in percent of the busiest one.
constexpr std::array<unsigned, 24> busy_percent{30, 20, 14, 11, 10, 13, 22, 38, 55,  66, 72, 75,
                                                78, 76, 74, 74, 76, 80, 86, 94, 100, 92, 70, 46};

/// How long a slow request takes.
constexpr duration slow_answer = 4s;

/// The step in which time moves on.
constexpr duration step = 1min;

}  // namespace

world::world(const traffic_options& options, line_sink sink)
    : options_(options),
      sink_(std::move(sink)),
      random_(options.seed),
      clock_(options.start),
      timers_(clock_, service_options{.engine = "global-heap", .on_exception = [this](std::exception_ptr thrown) {
                                        if (failure_ == nullptr) failure_ = std::move(thrown);
                                      }}) {}

void world::serve(const identity& who, const served_request& request) {
  line_.clear();
  lines_.append(line_, who, clock_.now(), request);
  if (chance(random_, options_.late_permille)) {
    after_func(timers_, exponential(random_, slow_answer), [this, line = line_] { write(line); }).detach();
  } else {
    write(line_);
  }
}

bool world::busy_enough() noexcept {
  // Between the hours the curve is linear.
  constexpr std::int64_t seconds_per_hour = 3600;
  constexpr std::int64_t hours = busy_percent.size();
  const std::int64_t second = (clock_.now() - options_.start) / duration(1s) % (hours * seconds_per_hour);
  const auto percent_at = [](std::int64_t hour) { return busy_percent[static_cast<std::size_t>(hour % hours)]; };
  const std::int64_t hour = second / seconds_per_hour;
  const std::int64_t into = second % seconds_per_hour;
  const std::int64_t busy = percent_at(hour) * (seconds_per_hour - into) + percent_at(hour + 1) * into;
  return random_.below(100 * seconds_per_hour) < static_cast<std::uint64_t>(busy);
}

unsigned world::mean_busy_permille() noexcept {
  return std::accumulate(busy_percent.begin(), busy_percent.end(), 0U) * 10 / busy_percent.size();
}

void world::run() {
  while (written_ < options_.lines) {
    clock_.advance(step);
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void world::write(std::string_view line) {
  if (written_ == options_.lines) return;
  sink_(line);
  ++written_;
}

}  // namespace foliot::program

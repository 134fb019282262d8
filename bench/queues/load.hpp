// What the contestants of foliot in bench/compare_queues.py have in common: the workload, what the workers have done,
// and the lines that are exchanged with that script.
//
//   WORKLOAD   backlog: JOBS jobs are put; then workers begin, and finish them
//              flow: for SECONDS, the jobs that are not finished are kept between JOBS / 2 and JOBS
//              lateness: jobs are put that become due evenly, RATE a second for SECONDS; then workers finish them
//              far: JOBS jobs that are due in a day are put, and stay
//   WORKERS    which reserve and finish, one job at a time
//   AT-ONCE    1: a worker reserves when its job is finished; 2: it asks for both at once
//
// Each step is a line. A program writes {"ready": true} when the jobs are put, and the figures when all are finished;
// it waits for a line on standard input after each.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <mutex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace bench {

/// Seconds since 1970.
inline double now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream text;
  text.precision(4);
  text << std::fixed;
  (text << ... << parts);
  return text.str();
}

inline std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) {
    throw std::runtime_error(joined("'", text, "' is not a number"));
  }
  return number;
}

/// The arguments from WORKLOAD on.
struct queue_load {
  std::string workload;
  std::int64_t jobs = 0;
  std::int64_t rate = 0;
  std::int64_t seconds = 0;
  std::int64_t workers = 0;
  bool asks_for_both = false;

  explicit queue_load(std::span<const std::string_view> words) {
    if (words.size() != 6) throw std::runtime_error("wrong arguments: see the head of the program's source");
    workload = words[0];
    jobs = number_in(words[1]);
    rate = number_in(words[2]);
    seconds = number_in(words[3]);
    workers = number_in(words[4]);
    asks_for_both = number_in(words[5]) > 1;
    if (workload == "lateness") jobs = rate * seconds;
  }
};

/// When the jobs of the workload `lateness` become due: if a put takes no longer than it does here at most, all have
/// been put before the first.
class due_times {
 public:
  explicit due_times(const queue_load& given)
      : first_(now() + lead + static_cast<double>(given.jobs) / 1500), rate_(static_cast<double>(given.rate)) {}
  /// In seconds since 1970.
  [[nodiscard]] double of(std::int64_t number) const { return first_ + static_cast<double>(number) / rate_; }
  /// To be called when all are put.
  void check() const {
    if (now() > first_) throw std::runtime_error("jobs became due before all were put: take a lower rate");
  }

 private:
  static constexpr double lead = 2;  // seconds between the last put and the first due time

  double first_;
  double rate_;
};

/// The body of a job that is due at this time, in seconds since 1970.
inline std::string body_of(double due) { return joined("{\"due\":", static_cast<std::int64_t>(due * 1000), "}"); }

/// What the workers have done. Any thread, but for the figures.
class tally {
 public:
  explicit tally(const queue_load& given) : is_timed_(given.workload == "lateness") {}

  [[nodiscard]] std::int64_t finished() const { return finished_; }

  void begin(std::string_view body) {
    const double at = now();
    double none = 0;
    first_start_.compare_exchange_strong(none, at);
    if (!is_timed_) return;
    const auto due_ms = static_cast<double>(number_in(body.substr(body.find(':') + 1)));
    const std::scoped_lock hold(mutex_);
    late_ms_.push_back(at * 1000 - due_ms);
  }
  void finish() {
    last_finish_ = now();
    ++finished_;
  }

  /// The figures of all jobs.
  [[nodiscard]] std::string figures() { return figures(finished_, last_finish_ - first_start_); }
  /// The figures of so many jobs in so many seconds.
  [[nodiscard]] std::string figures(std::int64_t jobs, double seconds) {
    std::ranges::sort(late_ms_);
    std::string late;
    if (!late_ms_.empty()) {
      const auto at = [&](double part) {
        const auto last = late_ms_.size() - 1;
        return late_ms_[static_cast<std::size_t>(static_cast<double>(last) * part)];
      };
      const auto early = std::ranges::count_if(late_ms_, [](double each) { return each < 0; });
      late = joined(", \"early\": ", early, ", \"p50\": ", at(0.5), ", \"p99\": ", at(0.99), ", \"max\": ", at(1));
    }
    return joined("{\"jobs\": ", jobs, ", \"seconds\": ", seconds, late, "}");
  }

 private:
  bool is_timed_;
  std::atomic<std::int64_t> finished_ = 0;
  std::atomic<double> first_start_ = 0;
  std::atomic<double> last_finish_ = 0;
  std::mutex mutex_;
  std::vector<double> late_ms_;
};

/// The measured part of a flow: the jobs finished in `seconds`, counted from the end of its first second.
class flow_window {
 public:
  flow_window(const queue_load& given, tally& all) : given_(given), all_(all) {}

  /// To be called often. Whether the time is over.
  [[nodiscard]] bool is_over() {
    const double at = now();
    if (from_ == 0 && at >= begin_ + 1) {
      from_ = at;
      before_ = all_.finished();
    }
    seconds_ = at - from_;
    return from_ > 0 && seconds_ >= static_cast<double>(given_.seconds);
  }
  [[nodiscard]] std::string figures() { return all_.figures(all_.finished() - before_, seconds_); }

 private:
  const queue_load& given_;
  tally& all_;
  double begin_ = now();
  double from_ = 0;
  double seconds_ = 0;
  std::int64_t before_ = 0;
};

constexpr std::string_view ready_line = "{\"ready\": true}";

/// Writes a line, and waits for one.
inline void pass(std::string_view line) {
  std::cout << line << std::endl;
  std::string answer;
  std::getline(std::cin, answer);
}

/// Calls `run` with the arguments of the program. For main().
template <class Run>
int run_program(const char* name, int count, char** words, Run run) {
  try {
    run(std::vector<std::string_view>(words + 1, words + count));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace bench

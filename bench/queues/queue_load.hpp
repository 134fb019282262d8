// The load of `foliot bench queue`: what the clients of a queue over PostgreSQL do, what its workers have done, and the
// lines that the program exchanges with the script that has started it.
//
// Each step is a line of JSON on standard output, after which the program waits for a line on standard input: then the
// script has read what the database and the nodes have used. {"ready": true} says that the jobs are put; a line of
// figures ends each step of the work.
//
// Thread safety: as each class says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program::bench {

enum class queue_shape : std::uint8_t {
  backlog,   ///< jobs are put; then workers begin, and finish them
  flow,      ///< for some seconds, the jobs that are not finished are kept between half of their number and all of it
  lateness,  ///< jobs are put that become due evenly, at a rate; then workers finish them
  far,       ///< jobs that are due in a day are put, and stay
  steady,    ///< jobs come at a rate, and workers finish them; what is left at the end is finished, too
  keys,      ///< jobs with few keys replace each other, and are reserved and deleted now and then
};

/// The shape of this name. Throws failure.
[[nodiscard]] queue_shape parse_queue_shape(const std::string& name);

struct queue_load {
  std::vector<std::string> nodes{};  ///< that speak the beanstalk protocol: the load is divided among them
  std::string library{};             ///< or the database of workers in this process, with the library foliot::jobs
  std::size_t sessions = 1;          ///< of the library with its database
  queue_shape shape = queue_shape::backlog;
  std::int64_t jobs = 20'000;  ///< of backlog and far; of flow: the most that are not finished
  std::int64_t rate = 1'000;   ///< of lateness and steady: jobs in a second
  double seconds = 6;          ///< of flow, lateness, steady and keys
  double warm_up = 0;          ///< of steady: seconds before the first line
  double every = 0;            ///< of backlog and steady: seconds between two lines of figures; 0: one line
  std::int64_t workers = 96;   ///< which reserve and finish, one job at a time
  bool asks_for_both = false;  ///< a worker sends the delete and the next reserve at once
  double delayed = 0;          ///< of steady: the share of jobs that are due later
  std::int64_t delay = 1;      ///< by how many seconds
  std::int64_t keys = 20;      ///< of keys: how many there are
  std::int64_t idle = 0;       ///< of keys: connections beside those of the workers

  /// How many jobs are put before the workers begin.
  [[nodiscard]] std::int64_t first_jobs() const noexcept {
    return shape == queue_shape::lateness ? static_cast<std::int64_t>(static_cast<double>(rate) * seconds) : jobs;
  }
};

/// Seconds since 1970.
[[nodiscard]] inline double wall_seconds() noexcept {
  return static_cast<double>(wall_clock::instance().now().nanoseconds()) * 1e-9;
}
/// Seconds of a clock that only advances.
[[nodiscard]] inline double steady_seconds() noexcept {
  return static_cast<double>(monotonic_clock::instance().now().nanoseconds()) * 1e-9;
}

/// Writes a line, and waits for one.
void pass(std::string_view line);
inline constexpr std::string_view ready_line = R"({"ready": true})";

/// When the first jobs become due. Those of the shape `lateness`: if a put takes no longer than it does here at most,
/// all have been put before the first. Thread safety: immutable.
class due_times {
 public:
  explicit due_times(const queue_load& given) noexcept;
  /// In seconds since 1970; 0: at once.
  [[nodiscard]] double of(std::int64_t number) const noexcept {
    return first_ + (rate_ > 0 ? static_cast<double>(number) / rate_ : 0);
  }
  /// To be called when all are put. Throws failure if the first of `lateness` is due already.
  void check() const;

 private:
  double first_ = 0;
  double rate_ = 0;  // of lateness
};

/// The body of a job that is due at this time, in seconds since 1970, with so many bytes at least.
[[nodiscard]] std::string body_of(double due, bool is_delayed = false, std::size_t least = 0);

/// What the workers have done. Thread safety: any thread, but for the figures.
class queue_tally {
 public:
  explicit queue_tally(const queue_load& given) noexcept;

  [[nodiscard]] std::int64_t finished() const noexcept { return finished_.load(); }

  /// A worker has got the job with this body.
  void begin(std::string_view body);
  void finish() noexcept;

  /// The figures of all jobs.
  [[nodiscard]] std::string figures() { return figures(finished(), seconds()); }
  /// The figures of so many jobs in so many seconds, and how late those began that have begun since the last figures.
  /// `more` is the rest of the line.
  [[nodiscard]] std::string figures(std::int64_t jobs, double seconds, std::string_view more = "");

 private:
  /// From the first begin to the last end.
  [[nodiscard]] double seconds() const noexcept {
    return static_cast<double>(last_finish_.load() - first_start_.load()) * 1e-9;
  }

  const bool is_timed_;
  mutex mutex_{lock_rank::object};
  // The threads of workers count here; nothing is published by them: the figures are made when the last has answered.
  seam::atomic<std::int64_t> finished_{0};
  seam::atomic<std::int64_t> first_start_{0};  // in nanoseconds since 1970
  seam::atomic<std::int64_t> last_finish_{0};
  std::vector<double> late_ FOLIOT_GUARDED_BY(mutex_);     // ms
  std::vector<double> delayed_ FOLIOT_GUARDED_BY(mutex_);  // of jobs that were put with a delay
};

/// The measured part of a flow: the jobs finished in its seconds, counted from the end of its first second. Thread
/// safety: none, one thread.
class flow_window {
 public:
  flow_window(const queue_load& given, queue_tally& all) noexcept : given_(given), all_(all) {}

  /// To be called often. Whether the time is over.
  [[nodiscard]] bool is_over() noexcept;
  [[nodiscard]] std::string figures() { return all_.figures(all_.finished() - before_, seconds_); }

 private:
  const queue_load& given_;
  queue_tally& all_;
  double begin_ = steady_seconds();
  double from_ = 0;
  double seconds_ = 0;
  std::int64_t before_ = 0;
};

/// Does one of the next two. Throws failure unless there are either nodes or a library.
void run_queue_load(const queue_load& asked);
/// Clients of nodes. Throws failure.
void run_queue_clients(const queue_load& asked);
/// Workers in this process. Takes the first four shapes. Throws failure, also if the program was built without
/// PostgreSQL's library.
void run_queue_workers(const queue_load& asked);

/// Executes batches of one kind against a store in PostgreSQL, as standard input asks for them. Throws as
/// run_queue_workers() does.
void run_batches(const std::string& database);

}  // namespace foliot::program::bench

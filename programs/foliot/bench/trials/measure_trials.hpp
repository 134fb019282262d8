// Runs the trials: for each workload, number of timers and number of threads, every contestant is measured
// once in each repetition, in an order that is shuffled each time.
//
// A contestant that does not do what is asked ends the run; one that needs what is not this program's is
// left out of that workload instead, by name, with the reason, and its figures with it.
// Thread safety: none, one thread, which must be free to move: what a trial starts inherits its core.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../bench_options.hpp"
#include "../quick_random.hpp"
#include "../record.hpp"
#include "trial.hpp"

namespace foliot::program::bench {

class trial_contest {
 public:
  /// Told before each measurement.
  using teller = std::function<void(std::string)>;

  trial_contest(const bench_options& options, std::vector<trial_contestant> contestants, teller tell);

  /// Those that are needed for what is wanted.
  [[nodiscard]] const std::vector<trial_contestant>& contestants() const noexcept { return contestants_; }
  /// How often it will tell.
  [[nodiscard]] std::uint64_t measurements() const;

  /// Adds the records, the versions that only now are known, and who had to be left out. Throws failure.
  void run(results& all, std::int64_t time_for_each);

 private:
  struct setting {
    std::size_t timers;
    int threads;
  };

  void prepare(results& all);
  [[nodiscard]] std::vector<setting> settings_of(workload what) const;
  void measure(results& all, workload what, const setting& at, std::int64_t time_for_each);
  std::vector<const trial_contestant*> shuffled(workload what);
  void leave_out(results& all, const trial_contestant& who, workload from, const std::string& reason);

  const bench_options& options_;
  std::vector<trial_contestant> contestants_;
  teller tell_;
  quick_random random_;
};

}  // namespace foliot::program::bench

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/other_nodes.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "bench/process_time.hpp"
#include "queue_load.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr const char* tube_of_batches = "mail";

class batches {
 public:
  explicit batches(jobs::postgresql_store& store) : store_(store) {}

  /// Writes a line: jobs that are held then, seconds, this process's seconds of CPU, and the median of a batch in
  /// seconds.
  void answer(const std::string& what, std::size_t size, std::size_t body, std::size_t count) {
    std::vector<double> each_took;
    const double cpu = cpu_seconds(RUSAGE_SELF);
    const double begin = steady_seconds();
    for (double last = begin; each_took.size() < count;) {
      once(what, size, body);
      const double now = steady_seconds();
      each_took.push_back(now - last);
      last = now;
    }
    const double took = steady_seconds() - begin;
    std::ranges::nth_element(each_took, each_took.begin() + static_cast<std::ptrdiff_t>(count / 2));
    fmt::print("{} {:.6f} {:.6f} {:.6f}\n", held_.size(), took, cpu_seconds(RUSAGE_SELF) - cpu, each_took[count / 2]);
    std::fflush(stdout);
  }

 private:
  /// Executes one batch, or tells once.
  void once(const std::string& what, std::size_t size, std::size_t body) {
    if (what == "tell") {
      store_.others()->tell(std::vector<std::string>{tube_of_batches});
      return;
    }
    std::vector<jobs::operation> batch;
    if (what == "finish" || what == "cycle") {
      for (; batch.size() < size && !held_.empty(); held_.pop_front()) {
        batch.emplace_back(jobs::finish{held_.front()});
      }
    }
    if (what == "put" || what == "delay" || what == "cycle") {
      const jobs::put one{
          .tube = tube_of_batches, .body = std::string(body, 'b'), .due = what == "delay" ? 1h : 0h, .ttr = 1h};
      batch.insert(batch.end(), size, one);
    }
    if (what == "claim" || what == "cycle") {
      batch.emplace_back(
          jobs::claim{.tubes = {tube_of_batches}, .count = static_cast<std::uint32_t>(size), .bytes = 16U << 20});
    }
    for (const jobs::answer& each : store_.execute(batch).answers) {
      if (const auto* const claimed = std::get_if<jobs::claim_answer>(&each)) {
        for (const jobs::claimed_job& mine : claimed->jobs) held_.push_back(mine.token);
      }
    }
  }

  jobs::postgresql_store& store_;
  std::deque<jobs::reservation> held_;
};

}  // namespace

void run_batches(const std::string& database) {
  jobs::postgresql_store store({.database = database, .node = "batches"});
  batches by(store);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    std::size_t size = 0;
    std::size_t body = 0;
    std::size_t times = 0;
    if (!(words >> what >> size >> body >> times) || times == 0) throw failure("no request: " + line);
    by.answer(what, size, body, times);
  }
}

}  // namespace foliot::program::bench

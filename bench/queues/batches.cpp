// Executes batches of one kind against a store in PostgreSQL, as bench/database_costs.py asks for them: one request a
// line on standard input, one answer a line on standard output. Between two requests nothing happens, so that the
// caller can see what they cost the database.
//
// usage: batches DATABASE
//
//   empty 0 0 COUNT      COUNT batches without an operation
//   put N BODY COUNT     COUNT batches of N puts with bodies of BODY bytes
//   delay N BODY COUNT   the same, due in an hour
//   claim N 0 COUNT      COUNT batches of one claim for N jobs
//   finish N 0 COUNT     COUNT batches of N finishes of claimed jobs
//   cycle N BODY COUNT   COUNT batches of N finishes of claimed jobs, N puts, and a claim for N jobs
//   tell 0 0 COUNT       COUNT times the news of a ready job; those within 5 ms are told together
//
// The answer: jobs that are held then, seconds, this process's seconds of CPU, and the median of a batch in seconds.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/other_nodes.hpp>
#include <foliot/jobs/postgresql_store.hpp>

namespace {

namespace jobs = foliot::jobs;
using namespace std::chrono_literals;

const std::string tube = "mail";

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class driver {
 public:
  explicit driver(jobs::postgresql_store& store) : store_(store) {}

  /// Executes one batch, or tells once.
  void once(const std::string& what, std::size_t size, std::size_t body) {
    if (what == "tell") {
      store_.others()->tell(std::vector<std::string>{tube});
      return;
    }
    std::vector<jobs::operation> batch;
    if (what == "finish" || what == "cycle") {
      for (; batch.size() < size && !held_.empty(); held_.pop_front()) {
        batch.emplace_back(jobs::finish{held_.front()});
      }
    }
    if (what == "put" || what == "delay" || what == "cycle") {
      const jobs::put one{.tube = tube, .body = std::string(body, 'b'), .due = what == "delay" ? 1h : 0h, .ttr = 1h};
      batch.insert(batch.end(), size, one);
    }
    if (what == "claim" || what == "cycle") {
      batch.emplace_back(jobs::claim{.tubes = {tube}, .count = static_cast<std::uint32_t>(size), .bytes = 16U << 20});
    }
    for (const jobs::answer& each : store_.execute(batch).answers) {
      if (const auto* const claimed = std::get_if<jobs::claim_answer>(&each)) {
        for (const jobs::claimed_job& mine : claimed->jobs) held_.push_back(mine.token);
      }
    }
  }

  void answer(const std::string& what, std::size_t size, std::size_t body, std::size_t count) {
    std::vector<double> batches;
    const double cpu = cpu_seconds();
    const double begin = wall_seconds();
    for (double last = begin; batches.size() < count;) {
      once(what, size, body);
      const double now = wall_seconds();
      batches.push_back(now - last);
      last = now;
    }
    const double took = wall_seconds() - begin;
    std::ranges::nth_element(batches, batches.begin() + static_cast<std::ptrdiff_t>(count / 2));
    std::printf("%zu %.6f %.6f %.6f\n", held_.size(), took, cpu_seconds() - cpu, batches[count / 2]);
  }

 private:
  jobs::postgresql_store& store_;
  std::deque<jobs::reservation> held_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: batches DATABASE < requests\n");
    return 2;
  }
  try {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    jobs::postgresql_store store({.database = arguments[1], .node = "batches"});
    driver by(store);
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string what;
      std::size_t size = 0;
      std::size_t body = 0;
      std::size_t times = 0;
      if (!(words >> what >> size >> body >> times) || times == 0) throw std::invalid_argument("no request: " + line);
      by.answer(what, size, body, times);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "batches: %s\n", error.what());
    return 1;
  }
  return 0;
}

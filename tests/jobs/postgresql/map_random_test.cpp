// Several nodes that do whatever comes to their mind, while tubes move between three databases and moves are broken
// off: no job is lost, none is had by two, none ends twice, and no key has two jobs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "database.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

constexpr std::array tubes{"a", "b", "c"};
constexpr int databases = 3;

/// What is known for sure, by all nodes together.
class ledger {
 public:
  void put(job_id id) {
    const std::scoped_lock held(lock_);
    EXPECT_TRUE(put_.insert(id).second) << "two jobs have the id " << id;
  }
  /// Some job that was put, if any.
  std::optional<job_id> any(std::size_t choice) {
    const std::scoped_lock held(lock_);
    if (put_.empty()) return std::nullopt;
    return *std::next(put_.begin(), static_cast<std::ptrdiff_t>(choice % put_.size()));
  }
  void claimed(job_id id) {
    const std::scoped_lock held(lock_);
    EXPECT_TRUE(held_.insert(id).second) << "job " << id << " is had by two";
    EXPECT_FALSE(ended_.contains(id)) << "job " << id << " has ended, and was claimed";
  }
  /// Before the job is given back or ended, for another node may have it at once.
  void lets_go(job_id id) {
    const std::scoped_lock held(lock_);
    held_.erase(id);
  }
  void tries_to_end(job_id id) {
    const std::scoped_lock held(lock_);
    ++ending_[id];
  }
  /// The attempt of tries_to_end() was one.
  void ended(job_id id) {
    const std::scoped_lock held(lock_);
    EXPECT_TRUE(ended_.insert(id).second) << "job " << id << " has ended twice";
  }
  /// The attempt of tries_to_end() was answered by `gone`: then another one has ended it.
  void was_gone(job_id id) {
    const std::scoped_lock held(lock_);
    EXPECT_TRUE(ended_.contains(id) || ending_[id] > 1) << "job " << id << " is said to be gone, and nobody ended it";
    --ending_[id];
  }
  void is_there_after_all(job_id id) {
    const std::scoped_lock held(lock_);
    --ending_[id];
  }
  /// All that were put and have not ended.
  [[nodiscard]] std::set<job_id> left() const {
    std::set<job_id> all;
    std::ranges::set_difference(put_, ended_, std::inserter(all, all.end()));
    return all;
  }

 private:
  std::mutex lock_;
  std::set<job_id> put_;
  std::set<job_id> held_;
  std::set<job_id> ended_;
  std::map<job_id, int> ending_;
};

/// A node, and what it does.
class worker {
 public:
  worker(const std::string& database, int number, std::uint64_t seed, ledger& all) : random_(seed), all_(all) {
    node_ = std::make_unique<postgresql_store>(foliot_test::options_of(database, "node " + std::to_string(number)));
  }
  void work(int operations) {
    for (int i = 0; i < operations; ++i) step();
    while (!held_.empty()) end_one(0);
  }
  [[nodiscard]] postgresql_store& node() { return *node_; }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.below(n)); }
  std::string tube() { return tubes[below(tubes.size())]; }
  std::string key() { return "key " + std::to_string(below(4)); }
  due_at due() { return below(4) == 0 ? milliseconds(below(20)) : milliseconds(0); }

  /// Tries again where a job is just on its way.
  template <class Operation>
  answer_of<Operation> execute(const Operation& what) {
    for (;;) {
      try {
        return execute_one(*node_, what);
      } catch (const store_unavailable& error) {
        EXPECT_FALSE(error.is_in_doubt()) << error.what();
      }
    }
  }

  void step() {
    switch (below(8)) {
      case 0: put_one(""); break;
      case 1: put_one(key()); break;
      case 2:
      case 3: claim_some(); break;
      case 4:
      case 5:
        if (!held_.empty()) end_one(below(held_.size()));
        break;
      case 6: cancel_one(); break;
      default: execute(kick{.tube = tube(), .count = 3}); break;
    }
  }
  void put_one(const std::string& key) {
    const auto got = execute(put{.tube = tube(), .key = key, .body = key, .due = due(), .ttr = 1h});
    if (got.what == put_answer::kind::inserted) all_.put(got.id);
  }
  void claim_some() {
    const auto got = execute(claim{.tubes = {tube(), tube()}, .count = static_cast<std::uint32_t>(1 + below(3))});
    for (const claimed_job& each : got.jobs) {
      all_.claimed(each.job.id);
      held_.push_back(each.token);
    }
  }
  void end_one(std::size_t which) {
    const reservation token = held_[which];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    all_.lets_go(token.id);
    holder_answer got;
    switch (below(3)) {
      case 0:
        all_.tries_to_end(token.id);
        got = execute(finish{token});
        all_.ended(token.id);
        break;
      case 1: got = execute(release{.token = token, .due = due()}); break;
      default: got = execute(bury{token}); break;
    }
    EXPECT_EQ(got.what, holder_answer::kind::done) << "job " << token.id << " was held";
  }
  void cancel_one() {
    const auto id = all_.any(below(1U << 20U));
    if (!id) return;
    all_.tries_to_end(*id);
    switch (execute(cancel{*id}).what) {
      case change_answer::kind::done: all_.ended(*id); break;
      case change_answer::kind::gone: all_.was_gone(*id); break;
      default: all_.is_there_after_all(*id); break;
    }
  }

  random_stream random_;
  ledger& all_;
  std::unique_ptr<postgresql_store> node_;
  std::vector<reservation> held_;
};

TEST(PostgresqlMapRandom, NothingIsLostOrDoubledWhileTubesMove) {
  const std::uint64_t seed = random_stream::entropy();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::string> names;
  for (int i = 0; i < databases; ++i) names.push_back(foliot_test::new_database());
  ledger all;
  std::vector<std::unique_ptr<worker>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<worker>(names[0], i, seed + static_cast<std::uint64_t>(i), all));
  }
  database_map map(names[0]);
  std::vector<std::jthread> threads;
  for (const auto& each : workers) threads.emplace_back([&each] { each->work(400); });
  for (int i = 1; i < databases; ++i) map.add(names[static_cast<std::size_t>(i)]);
  random_stream random(seed);
  for (int i = 0; i < 12; ++i) {
    const std::string tube = tubes[random.below(tubes.size())];
    const auto places = map.places();
    const auto here = std::ranges::find(places, tube, &database_map::tube_place::tube);
    const bool moves = here != places.end() && here->before;
    const int to = moves ? here->database : static_cast<int>(random.below(databases));
    // It waits for jobs that workers have; and some moves are broken off sooner.
    std::uint64_t pieces = random.below(4);
    map.move(tube, to, [&](const database_map::progress& so_far) { return !so_far.waits && pieces-- != 0; });
    // One leaves the map, if it has no tube, and comes back.
    const auto number = static_cast<int>(1 + random.below(databases - 1));
    try {
      map.remove(number);
    } catch (const store_failure&) {
    }
    EXPECT_EQ(map.add(names[static_cast<std::size_t>(number)]), number);
  }
  threads.clear();
  for (const auto& each : map.places()) map.move(each.tube, each.database);
  std::set<job_id> drained;
  std::map<std::string, int> of_key;
  for (const std::string tube : tubes) {
    execute_one(workers[0]->node(), kick{.tube = tube, .count = 10'000, .only = job_state::buried});
    execute_one(workers[0]->node(), kick{.tube = tube, .count = 10'000, .only = job_state::delayed});
    for (const auto& each : execute_one(workers[0]->node(), claim{.tubes = {tube}, .count = 10'000}).jobs) {
      EXPECT_TRUE(drained.insert(each.job.id).second) << "job " << each.job.id << " is there twice";
      if (!each.job.key.empty()) {
        EXPECT_EQ(++of_key[tube + " " + each.job.key], 1) << each.job.key << " in " << tube;
      }
    }
  }
  EXPECT_EQ(drained, all.left());
  const check_result right = workers[0]->node().check();
  EXPECT_TRUE(right) << right.error();
}

}  // namespace
}  // namespace foliot::jobs

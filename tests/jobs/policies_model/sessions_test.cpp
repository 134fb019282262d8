// Several stores that count together, as the sessions of a server: clients of each claim and end reservations while the
// batches of the others are under way, and no limit is exceeded. What is under way at the same moment is chosen by a
// seed: the store below executes the operations of a batch one by one, as a database does, and batches of other
// sessions run between them. So there are no threads.
//
// The model knows which reservations are alive, and counts them. It knows nothing of slots, plans and counts.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "jobs/kit/simulated_nodes.hpp"

namespace foliot::jobs::policies_model {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds ttr = 10s;

/// Whether the stores of the sessions count together.
enum class counting : std::uint8_t { together, apart };

/// A session's connection to the store that all of them share.
class interleaved_store final : public job_store {
 public:
  interleaved_store(job_store& inner, other_nodes* nodes) noexcept : inner_(inner), nodes_(nodes) {}

  execution execute(std::span<operation> batch) override {
    execution all = inner_.execute({});
    for (operation& each : batch) {
      if (between) between();
      execution one = inner_.execute(std::span(&each, 1));
      all.answers.push_back(std::move(one.answers.at(0)));
      all.ready_tubes.insert(all.ready_tubes.end(), one.ready_tubes.begin(), one.ready_tubes.end());
      all.emptied_tubes.insert(all.emptied_tubes.end(), one.emptied_tubes.begin(), one.emptied_tubes.end());
      all.expired.insert(all.expired.end(), one.expired.begin(), one.expired.end());
    }
    if (between) between();
    return all;
  }
  [[nodiscard]] next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }
  [[nodiscard]] other_nodes* others() noexcept override { return nodes_; }

  /// In front of each operation, and behind the last one.
  std::function<void()> between;

 private:
  job_store& inner_;
  other_nodes* const nodes_;
};

class sessions_world {
 public:
  sessions_world(std::size_t sessions, tube_policy by, std::uint64_t seed, counting how)
      : by_(std::move(by)), random_(seed), began_(time_.now()) {
    const auto table = std::make_shared<const policy_table>(policy_table{{"mail", by_}});
    for (std::size_t i = 0; i < sessions; ++i) {
      session& made = sessions_.emplace_back(inner_, &nodes_);
      made.store = i == 0 || how == counting::apart
                       ? std::make_unique<policy_store>(made.below, clocks_)
                       : std::make_unique<policy_store>(made.below, *sessions_.front().store, clocks_);
      made.store->set_policies(table);
    }
  }

  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  /// A batch of a client at some session, with batches of others while it is under way.
  void step() {
    beside_ = 3;
    some_batch(below(sessions_.size()), 0);
    if (below(3) == 0) settle();
    switch (below(12)) {
      case 0: pass(std::chrono::milliseconds(1 + below(300))); break;
      case 1: pass(below(8) == 0 ? ttr + 20ms : 7ms); break;
      default: break;
    }
  }

  /// All jobs are done, at whatever session: within some seconds.
  void drain() {
    const instant end = time_.now() + (by_.most_per_second == 0 ? 20s : 60s);
    while (!failure_ && done_.size() < put_) {
      const std::size_t at = below(sessions_.size());
      claim_some(at);
      while (!held_.empty() && !failure_) end_one(below(sessions_.size()), held_.begin(), finish{held_.begin()->first});
      settle();
      pass(5ms);
      if (time_.now() > end) fail("of " + std::to_string(put_) + " jobs are done " + std::to_string(done_.size()));
    }
  }

 private:
  struct session {
    session(memory_store& inner, foliot::test::simulated_nodes* nodes) : below(inner, nodes) {}
    interleaved_store below;
    std::unique_ptr<policy_store> store;
    bool is_busy = false;
  };
  struct alive {
    std::string group;
    instant until;
  };

  void fail(const std::string& why) {
    if (!failure_) failure_ = why;
  }

  // Time.

  void pass(duration length) {
    time_.advance(length);
    std::erase_if(held_, [&](const auto& each) { return each.second.until <= time_.now(); });
    settle();
  }
  void settle() {
    for (std::size_t rounds = 0; !failure_; ++rounds) {
      const auto wants = std::ranges::find_if(sessions_, [this](const session& each) {
        const next_change next = each.store->next();
        return next.expiry <= time_.now() || next.due <= clocks_.utc();
      });
      if (wants == sessions_.end()) return;
      if (rounds == 5000) return fail("the sessions do not come to rest");
      wants->store->execute({});
      check();
    }
  }
  void check() {
    for (session& each : sessions_) {
      if (each.is_busy) return;  // its slots are under way
    }
    for (session& each : sessions_) {
      if (const check_result right = each.store->check(); !right) fail(right.error());
    }
  }

  // Clients.

  /// `depth`: how many batches are under way.
  execution execute(std::size_t at, std::vector<operation> batch, std::size_t depth) {
    session& by = sessions_[at];
    by.is_busy = true;
    const auto others = [this, depth] {
      for (std::size_t i = 0; i < sessions_.size() && depth < 2; ++i) {
        if (sessions_[i].is_busy || beside_ == 0 || below(2) == 0) continue;
        --beside_;
        some_batch(i, depth + 1);
      }
    };
    by.below.between = others;
    execution done = by.store->execute(batch);
    by.below.between = nullptr;
    by.is_busy = false;
    return done;
  }

  void some_batch(std::size_t at, std::size_t depth) {
    if (failure_) return;
    const std::uint64_t what = below(10);
    if (what < 2) {
      put made{.tube = "mail", .body = "job " + std::to_string(++put_), .ttr = ttr};
      const std::uint64_t group = below(3);
      if (group != 0 && !made.fields.set(tag_of_group, std::to_string(group))) fail("a group has no room");
      execute(at, {std::move(made)}, depth);
    } else if (what < 7 || held_.empty()) {
      claim_some(at, depth);
    } else {
      auto one = held_.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(below(held_.size())));
      const reservation token = one->first;
      switch (below(4)) {
        case 0: return end_one(at, one, release{.token = token}, depth);
        case 1: return touch_one(at, token, depth);
        default: return end_one(at, one, finish{token}, depth);
      }
    }
    check();
  }

  void claim_some(std::size_t at, std::size_t depth = 0) {
    std::vector<operation> batch;
    for (std::uint64_t i = 1 + below(2); i != 0; --i) {
      batch.emplace_back(claim{.tubes = {"mail"}, .count = static_cast<std::uint32_t>(1 + below(3))});
    }
    const execution done = execute(at, batch, depth);
    for (const answer& each : done.answers) {
      for (const claimed_job& one : std::get<claim_answer>(each).jobs) hand_out(one);
    }
  }

  void hand_out(const claimed_job& one) {
    if (done_.contains(one.token.id)) return fail("a job is handed out that is done");
    const std::string group(one.job.fields.find(tag_of_group).value_or(""));
    held_.emplace(one.token, alive{group, one.job.expires});
    ++handed_out_;
    const auto of_group = static_cast<std::size_t>(
        std::ranges::count_if(held_, [&](const auto& each) { return each.second.group == group; }));
    if (by_.most_reserved != 0 && held_.size() > by_.most_reserved) fail("the tube has too many");
    if (by_.most_reserved_of_group != 0 && !group.empty() && of_group > by_.most_reserved_of_group)
      fail("the group " + group + " has too many");
    if (by_.most_per_second == 0) return;
    const double seconds = std::chrono::duration<double>((time_.now() - began_).to_chrono()).count();
    if (static_cast<double>(handed_out_) > by_.burst + seconds * by_.most_per_second + 1e-6) fail("too many in a time");
  }

  /// From the moment at which its client asks, it is not alive to the model.
  template <class End>
  void end_one(std::size_t at, std::map<reservation, alive>::iterator one, End what, std::size_t depth = 0) {
    const reservation token = one->first;
    held_.erase(one);
    const execution done = execute(at, {what}, depth);
    const bool is_done = std::get<holder_answer>(done.answers.at(0)).what == holder_answer::kind::done;
    if (!is_done) return fail("a reservation that lives is not ended");
    if (std::is_same_v<End, finish>) done_.insert(token.id);
    check();
  }

  void touch_one(std::size_t at, const reservation& token, std::size_t depth) {
    const execution done = execute(at, {touch{token}}, depth);
    const auto& got = std::get<holder_answer>(done.answers.at(0));
    const auto one = held_.find(token);
    if (one != held_.end() && got.what == holder_answer::kind::done) one->second.until = got.expires;
    check();
  }

  const tube_policy by_;
  std::mt19937_64 random_;
  virtual_clock time_{instant::from_nanoseconds(1'000'000'000)};
  virtual_wall_clock wall_{time_};
  store_clocks clocks_{&wall_, &time_};
  memory_store inner_{clocks_};
  foliot::test::simulated_nodes nodes_;
  std::deque<session> sessions_;
  std::map<reservation, alive> held_;
  std::set<job_id> done_;
  std::size_t put_ = 0;
  std::size_t beside_ = 0;  ///< batches that may still run beside that of the step
  std::uint64_t handed_out_ = 0;
  const instant began_;
  std::optional<std::string> failure_;
};

tube_policy some_policy(std::uint64_t seed) {
  tube_policy made;
  made.most_reserved = static_cast<std::uint32_t>(seed % 4);
  made.most_reserved_of_group = static_cast<std::uint32_t>(seed / 4 % 3);
  if (seed % 5 == 0) {
    made.most_per_second = 20;
    made.burst = 3;
  }
  return made;
}

std::optional<std::string> live(std::uint64_t seed, counting how) {
  sessions_world world(2 + seed % 2, some_policy(seed), seed, how);
  for (int i = 0; i < 100 && !world.failure(); ++i) world.step();
  if (!world.failure()) world.drain();
  return world.failure();
}

TEST(PolicySessions, TogetherExceedNoLimitAndForgetNoJob) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    ASSERT_EQ(live(seed, counting::together).value_or(""), "") << "seed " << seed;
  }
}

TEST(PolicySessions, ApartExceedThem) {
  std::set<std::string> found;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) found.insert(live(seed, counting::apart).value_or(""));
  EXPECT_THAT(found,
              testing::IsSupersetOf({"the tube has too many", "the group 1 has too many", "too many in a time"}));
}

}  // namespace
}  // namespace foliot::jobs::policies_model

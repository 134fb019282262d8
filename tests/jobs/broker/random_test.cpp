// Random clients of a broker, on virtual time: they put, reserve and end jobs, go away, and are cancelled at any point.
//
// Held against a ledger of the answers that the clients have got:
//   - no job is reserved for two clients, or before its due time, and each comes with the body that was put;
//   - the holder of a living reservation is never refused, whether it ends the job or replaces it;
//   - pages of what is due next, one behind the other, have the delayed jobs in their order, each once;
//   - when nothing can happen at an instant any more, no client waits at a tube with a ready job;
//   - of two clients that wait for the same tubes the one that came first is served first;
//   - at the end nothing is reserved, and no job was lost or came from nowhere.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t tubes = 3;

std::string tube_name(std::size_t number) { return "tube " + std::to_string(number); }

/// A wait of one client, as its task sees it.
struct open_wait {
  unsigned watched = 0;  // a bit for each tube
  std::uint64_t arrival = 0;
  std::optional<instant> overtaken;  // a later client was served at that instant
  list_links<open_wait> links;
};

struct ledger {
  std::map<job_id, std::string> bodies;
  std::set<job_id> ended;
  std::map<job_id, instant> held;  // until when
  intrusive_list<open_wait, &open_wait::links> waits;
  std::uint64_t arrivals = 0;
  std::size_t bodies_made = 0;
  std::size_t reserved = 0;
  std::size_t replaced = 0;  // by their holders
};

/// A client, and the jobs that its task believes to hold.
class life {
 public:
  life(broker_world& world, ledger& known, std::uint64_t seed)
      : world_(world), known_(known), random_(seed), client_(world.jobs) {
    for (std::size_t i = 0; i < tubes; ++i) {
      if (i != 0 && below(2) == 0) continue;
      client_.watch(tube_name(i));
      watched_ |= 1U << i;
    }
  }
  ~life() {
    for (const job_id id : mine_) known_.held.erase(id);
  }
  life(const life&) = delete;
  life& operator=(const life&) = delete;

  task<> live() {
    const std::size_t steps = 5 + below(30);
    for (std::size_t i = 0; i < steps; ++i) {
      switch (below(8)) {
        case 0:
        case 1:
        case 2: co_await put_one(); break;
        case 3:
        case 4: co_await reserve_one(); break;
        case 5: co_await end_one(); break;
        case 6: co_await others(); break;
        default: co_await sleep(duration(milliseconds(below(30))));
      }
    }
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  milliseconds some_ms() { return milliseconds(below(2) == 0 ? 0 : below(60)); }

  task<> put_one() {
    put what;
    what.tube = tube_name(below(tubes));
    what.body = "body " + std::to_string(known_.bodies_made++);
    what.key = "key of " + what.body;
    const std::string body = what.body;
    what.due = some_ms();
    what.ttr = milliseconds(below(4) == 0 ? 1500 : 5 + below(50));
    what.priority = static_cast<priority>(below(3));
    const put_answer done = co_await world_.jobs.execute(std::move(what));
    EXPECT_EQ(done.what, put_answer::kind::inserted);
    learn(done.id, body);
  }

  /// From the answer to its put, or from a client that got it before the answer was read.
  void learn(job_id id, const std::string& body) {
    EXPECT_EQ(known_.bodies.emplace(id, body).first->second, body) << "of job " << id;
  }

  /// Ends with the wait, also by an exception.
  class wait_record : public open_wait {
   public:
    wait_record(ledger& known, unsigned of_tubes) : known_(known) {
      watched = of_tubes;
      arrival = ++known.arrivals;
      known_.waits.push_back(*this);
    }
    ~wait_record() { known_.waits.erase(*this); }
    wait_record(const wait_record&) = delete;
    wait_record& operator=(const wait_record&) = delete;

   private:
    ledger& known_;
  };

  task<> reserve_one() {
    const wait_record record(known_, watched_);
    const duration limit(milliseconds(below(3) == 0 ? 0 : below(100)));
    reserve_answer got;
    const bool by_stop = below(3) == 0;
    if (by_stop) {
      auto reserving = spawn(client_.reserve(), "reserve");
      std::exception_ptr stopped;
      try {
        co_await sleep(limit);
      } catch (const runtime::cancelled&) {
        stopped = std::current_exception();
      }
      reserving.request_stop();
      try {
        got = co_await reserving.join_without_cancellation();
      } catch (const runtime::cancelled&) {
        EXPECT_LE(client_.reservations(), mine_.size()) << "a cancelled reserve holds a job";
        if (stopped == nullptr) co_return;
      }
      if (stopped != nullptr) std::rethrow_exception(stopped);
    } else {
      got = co_await client_.reserve(limit);
    }
    if (record.overtaken && !by_stop) {
      EXPECT_EQ(got.what, reserve_answer::kind::reserved) << "a later client was served";
      EXPECT_EQ(*record.overtaken, now());
    }
    if (got.what != reserve_answer::kind::reserved) co_return;
    for (open_wait* each = known_.waits.front(); each != nullptr; each = known_.waits.next(*each)) {
      if (each->watched == watched_ && each->arrival < record.arrival && !each->overtaken) each->overtaken = now();
    }
    // The task of the reserve may have ended earlier than the sleep, and the reservation as well.
    if (!by_stop || client_.held(got.job->token.id) == got.job->token) take(*got.job);
  }

  void take(const claimed_job& got) {
    ++known_.reserved;
    const job_id id = got.token.id;
    learn(id, got.job.body);
    EXPECT_FALSE(known_.ended.contains(id)) << "job " << id << " is back";
    EXPECT_GE(runtime::wall_now(), got.job.due);
    const auto other = known_.held.find(id);
    if (other != known_.held.end()) {
      EXPECT_LT(other->second, now()) << "job " << id << " is held by two";
    }
    known_.held[id] = got.job.expires;
    names_[id] = {got.job.tube, got.job.key};
    std::erase(mine_, id);
    mine_.push_back(id);
  }

  /// Whether the client still holds the job, by the ledger.
  bool holds(job_id id) const {
    const auto held = client_.held(id);
    return held.has_value();
  }

  task<> end_one() {
    if (mine_.empty()) co_return;
    const job_id id = mine_[below(mine_.size())];
    if (below(5) == 0) {
      co_await replace_one(id);
      co_return;
    }
    const bool was_held = holds(id);
    const instant expires = client_.next_deadline();  // of the first: if it lies ahead, so does this job's
    const std::size_t what = below(4);
    // Another client may have the job before this task has its answer.
    if (what != 3 && was_held) known_.held.erase(id);
    holder_answer result;
    if (what == 0) result = co_await client_.finish(id);
    if (what == 1) result = co_await client_.release(id, std::nullopt, some_ms());
    if (what == 2) result = co_await client_.bury(id);
    if (what == 3) result = co_await client_.touch(id);
    if (was_held && expires >= now()) {
      EXPECT_EQ(result.what, holder_answer::kind::done);
    }
    if (!was_held) {
      EXPECT_EQ(result.what, holder_answer::kind::not_held);
    }
    if (result.what == holder_answer::kind::done && what == 3) {
      known_.held[id] = result.expires;
      co_return;
    }
    if (result.what == holder_answer::kind::done && what == 0) known_.ended.insert(id);
    std::erase(mine_, id);
  }

  /// By itself, or with another put before it.
  task<> replace_one(job_id id) {
    const std::optional<reservation> token = client_.held(id);
    if (!token) co_return;
    put what;
    what.tube = names_[id].tube;
    what.key = names_[id].key;
    what.existing = on_existing::replace;
    what.holder = token;
    what.body = "body " + std::to_string(known_.bodies_made++);
    const std::string body = what.body;
    what.due = some_ms();
    const instant expires = client_.next_deadline();
    known_.held.erase(id);
    put_answer done;
    if (below(2) == 0) {
      done = co_await world_.jobs.execute(std::move(what));
    } else {
      put_all both;
      both.puts.resize(1);
      both.puts[0].tube = tube_name(below(tubes));
      both.puts[0].body = "body " + std::to_string(known_.bodies_made++);
      both.puts[0].key = "key of " + both.puts[0].body;
      const std::string other_body = both.puts[0].body;
      both.puts.push_back(std::move(what));
      const put_all_answer all = co_await world_.jobs.execute(std::move(both));
      done = all.what == put_all_answer::kind::done ? all.puts.back() : all.why;
      if (all.what == put_all_answer::kind::done) learn(all.puts.front().id, other_body);
    }
    if (expires >= now()) {
      EXPECT_EQ(done.what, put_answer::kind::replaced);
    }
    EXPECT_FALSE(client_.held(id)) << "the reservation has ended in any case";
    std::erase(mine_, id);
    if (done.what != put_answer::kind::replaced) co_return;
    ++known_.replaced;
    known_.ended.insert(id);
    learn(done.id, body);
  }

  task<> others() {
    if (below(2) == 0) {
      kick what;
      what.tube = tube_name(below(tubes));
      what.count = 5;
      co_await world_.jobs.execute(std::move(what));
    } else if (!known_.bodies.empty()) {
      const job_id id =
          std::next(known_.bodies.begin(), static_cast<std::ptrdiff_t>(below(known_.bodies.size())))->first;
      const change_answer removed = co_await client_.remove(id);
      if (known_.ended.contains(id)) {
        EXPECT_EQ(removed.what, change_answer::kind::gone);
      }
      if (removed.what != change_answer::kind::done) co_return;
      known_.ended.insert(id);
      if (std::erase(mine_, id) != 0) known_.held.erase(id);
    }
  }

  broker_world& world_;
  ledger& known_;
  std::mt19937_64 random_;
  client client_;
  unsigned watched_ = 0;
  std::vector<job_id> mine_;
  std::map<job_id, job_key> names_;  // of those that it has had
};

task<> one_life(broker_world& world, ledger& known, std::uint64_t seed) {
  life mine(world, known, seed);
  co_await mine.live();
}

/// One client after the other; some are cancelled.
task<> lives(broker_world& world, ledger& known, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 4; ++i) {
    auto living = spawn(one_life(world, known, random()), "client");
    if (random() % 2 == 0) {
      co_await sleep(duration(milliseconds(random() % 150)));
      living.request_stop();
    }
    try {
      co_await living.join();
    } catch (const runtime::cancelled&) {
    }
  }
}

/// Pages of what is due next, one behind the other, against the jobs themselves. Precondition: nothing happens
/// meanwhile.
task<> compare_pages(broker_world& world, const ledger& known, std::mt19937_64& random) {
  list_due page;
  if (random() % 2 == 0) page.prefix = tube_name(random() % tubes);
  page.count = static_cast<std::uint32_t>(1 + random() % 4);
  std::vector<due_job> right;
  for (const auto& each : known.bodies) {
    const job_id id = each.first;
    peek look{id, false};
    const peek_answer seen = co_await world.jobs.execute(std::move(look));
    const bool is_on_it = seen.job && seen.job->state == job_state::delayed && seen.job->tube.starts_with(page.prefix);
    if (is_on_it) right.push_back({id, seen.job->tube, job_state::delayed, seen.job->due});
  }
  std::ranges::sort(right, {}, [](const due_job& each) { return std::pair(each.due, each.id); });
  if (!right.empty() && random() % 2 == 0) {
    const auto last = right.begin() + static_cast<std::ptrdiff_t>(random() % right.size());
    page.from = last->due;
    page.after = last->id;
    right.erase(right.begin(), last + 1);
  }
  std::vector<due_job> listed;
  for (bool is_last = false; !is_last;) {
    list_due one = page;
    const due_answer got = co_await world.jobs.execute(std::move(one));
    EXPECT_LE(got.jobs.size(), page.count);
    is_last = got.jobs.size() < page.count;
    if (got.jobs.empty()) continue;
    listed.insert(listed.end(), got.jobs.begin(), got.jobs.end());
    page.from = got.jobs.back().due;
    page.after = got.jobs.back().id;
  }
  // A client that was cancelled has not learned the id of its job.
  std::erase_if(listed, [&](const due_job& each) { return !known.bodies.contains(each.id); });
  EXPECT_EQ(listed, right) << "in tubes '" << page.prefix << "'";
}

/// Looks at the broker when nothing can happen any more at an instant.
task<> watch_for_idleness(broker_world& world, const ledger& known, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    co_await sleep(duration::nanoseconds(static_cast<std::int64_t>(random() % 20'000'000)));
    co_await wait_idle();
    while (world.jobs.counters().queued != 0) {
      co_await world.jobs.execute(count_all{});  // takes along the requests that wait for others
      co_await wait_idle();
    }
    const check_result broker = world.jobs.check();
    EXPECT_TRUE(broker) << broker.error();
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.reserved, world.jobs.counters().reservations);
    for (std::size_t i = 0; i < tubes; ++i) {
      count_tube what;
      what.tube = tube_name(i);
      const count_answer found = co_await world.jobs.execute(std::move(what));
      EXPECT_TRUE(found.counts.ready == 0 || world.jobs.clients_of(tube_name(i)).waiting == 0)
          << found.counts.ready << " jobs are ready, and a client waits for them";
    }
    if (random() % 4 == 0) co_await compare_pages(world, known, random);
  }
}

task<> play(broker_world& world, ledger& known, std::uint64_t seed) {
  auto running = spawn(world.jobs.run(), "broker");
  auto watching = spawn(watch_for_idleness(world, known, seed), "watch");
  std::mt19937_64 random(seed);
  std::vector<runtime::join_handle<>> all;
  for (int i = 0; i < 6; ++i) all.push_back(spawn(lives(world, known, random()), "lives"));
  for (auto& each : all) co_await each.join();
  watching.request_stop();
  try {
    co_await watching.join();
  } catch (const runtime::cancelled&) {
  }
  co_await wait_idle();
  const count_answer left = co_await world.jobs.execute(count_all{});
  EXPECT_EQ(left.counts.reserved, 0U);
  EXPECT_EQ(left.counts.all(), known.bodies.size() - known.ended.size());
  EXPECT_EQ(world.jobs.counters().reservations, 0U);
  EXPECT_EQ(world.jobs.counters().clients, 0U);
  EXPECT_TRUE(world.jobs.tubes_in_use().empty());
  world.jobs.close();
  co_await running.join();
}

/// `with_nodes`: whether other nodes share the store, so that run() alone leads.
struct variant {
  shared with_nodes = shared::no;
  duration commit_delay{};
};
class BrokerRandom : public testing::TestWithParam<variant> {};
INSTANTIATE_TEST_SUITE_P(Alone, BrokerRandom, testing::Values(variant{}));
INSTANTIATE_TEST_SUITE_P(Delayed, BrokerRandom, testing::Values(variant{.commit_delay = std::chrono::milliseconds(5)}));
INSTANTIATE_TEST_SUITE_P(Shared, BrokerRandom, testing::Values(variant{.with_nodes = shared::yes}));

TEST_P(BrokerRandom, KeepsItsPromises) {
  std::size_t reserved = 0;
  std::size_t replaced = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    virtual_clock clock;
    broker_world world(clock, {.gathering = duration::zero(), .commit_delay = GetParam().commit_delay},
                       GetParam().with_nodes);
    ledger known;
    on_virtual_time(clock, play(world, known, seed), {.processors = 1 + seed % 3, .seed = seed, .shuffles_ties = true});
    const check_result store = world.memory.check();
    EXPECT_TRUE(store) << store.error();
    reserved += known.reserved;
    replaced += known.replaced;
    if (HasFailure()) break;
  }
  EXPECT_GT(reserved, 3000U);
  EXPECT_GT(replaced, 400U);
}

}  // namespace
}  // namespace foliot::jobs

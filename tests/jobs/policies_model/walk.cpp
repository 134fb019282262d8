#include "walk.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace foliot::jobs::policies_model {
namespace {

using namespace std::chrono_literals;
using rigour = judge::rigour;

constexpr std::array tubes{"a", "b", "c", "dead", "plain"};
constexpr std::size_t tubes_with_a_policy = 3;

class walker {
 public:
  walker(const course& over, std::uint64_t seed)
      : over_(over), random_(seed), judge_(over.rigour), disk_(over.store()) {
    change_policies();
    open(std::chrono::sys_time<std::chrono::nanoseconds>(1'700'000'000'000'300'000ns));
  }

  outcome play() {
    for (std::size_t i = 0; i < over_.steps && !judge_.failure(); ++i) step();
    if (!judge_.failure()) drain();
    return {judge_.failure(), judge_.seen(), refused_ + troubled_->refused, replays_, reopened_};
  }

 private:
  struct held_job {
    reservation token;
    std::string body;
    job_key name;
  };

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  template <class Value, std::size_t count>
  Value one_of(const std::array<Value, count>& all) {
    return all[below(count)];
  }
  [[nodiscard]] bool is_strict() const { return over_.rigour == rigour::strict; }
  [[nodiscard]] moment now() const { return moment::of(clocks_); }

  // The store.

  void open(std::chrono::sys_time<std::chrono::nanoseconds> wall_shows) {
    time_ =
        std::make_unique<virtual_clock>(instant::from_nanoseconds(7'000'000'000 * static_cast<std::int64_t>(++boots_)));
    time_->set_wall(wall_shows);
    wall_ = std::make_unique<virtual_wall_clock>(*time_);
    clocks_ = {wall_.get(), time_.get()};
    inner_ = disk_->open(clocks_);
    troubled_ = std::make_unique<troubled_store>(*inner_, random_(), over_.refuses_one_of);
    troubled_->before = over_.below;
    store_ = std::make_unique<policy_store>(*troubled_, clocks_);
    give_policies();
  }

  void give_policies() {
    policy_table given = policies_;
    if (over_.distort) over_.distort(given);
    store_->set_policies(std::make_shared<const policy_table>(given));
  }

  void reopen() {
    ++reopened_;
    refused_ += troubled_->refused;
    const bool crashes = below(2) == 0;
    if (crashes) disk_->crash();
    const auto wall = clocks_.wall_time();
    if (!crashes) store_->close();
    store_.reset();
    troubled_.reset();
    inner_.reset();
    disk_->fail_call(0);
    held_.clear();
    claims_.clear();
    open(wall);
    judge_.reopened(now(), crashes);
    execute({});
  }

  void change_policies() {
    for (std::size_t i = 0; i < tubes_with_a_policy; ++i) policies_[tubes[i]] = some_policy(true);
    policies_["dead"] = some_policy(false);
    judge_.set_policies(policies_);
    if (store_ != nullptr) give_policies();
  }

  tube_policy some_policy(bool moves) {
    tube_policy made;
    made.tries = one_of(std::array{0U, 1U, 2U, 2U, 3U, 5U});
    made.counts_releases = below(5) != 0;
    made.counts_timeouts = below(5) != 0;
    switch (below(4)) {
      case 0: made.delay.listed = {0ms, 5ms, 20ms}; break;
      case 1: made.delay = {.first = 10ms, .factor = 2, .most = 50ms}; break;
      case 2: made.delay = {.first = 4ms, .factor = 1.5, .most = 1h, .jitter = below(2) == 0 ? 0.5 : 0}; break;
      default: break;
    }
    if (moves && made.tries != 0 && below(2) == 0) made.dead_letters = "dead";
    made.expires = one_of(std::array<milliseconds, 5>{0ms, 0ms, 30ms, 200ms, 5s});
    made.most_reserved = one_of(std::array{0U, 0U, 1U, 3U});
    made.most_reserved_of_group = one_of(std::array{0U, 0U, 1U, 2U});
    if (below(4) == 0) {
      made.most_per_second = one_of(std::array{1U, 20U, 1000U});
      made.burst = static_cast<std::uint32_t>(1 + below(4));
    }
    return made;
  }

  // Time.

  /// Moves both clocks. If the judge is strict, the store is asked whenever it wants to be.
  void pass(duration length) {
    const instant target = time_->now() + length;
    if (is_strict() || is_calm_) follow(target);
    time_->advance_to(target);
  }

  [[nodiscard]] instant next_time() const {
    const next_change next = over_.forgets_next ? next_change{} : store_->next();
    instant at = next.expiry;
    if (next.due != utc_time::max()) at = std::min(at, time_->when_wall_shows(wall_clock::from_sys(next.due)));
    return at;
  }

  void follow(instant target) {
    for (std::size_t rounds = 0; !judge_.failure() && next_time() <= target; ++rounds) {
      if (rounds == 20'000) return judge_.fail("the store wants to be asked for ever");
      time_->advance_to(std::max(next_time(), time_->now()));
      execute({});
    }
  }

  void set_wall() {
    const duration by(one_of(std::array<std::chrono::milliseconds, 4>{-1ms, -40ms, -1h, 7ms}));
    wall_steps_ = wall_steps_ - by.count();
    time_->set_wall(time_->wall_now() + by);
    execute({});
  }

  // Batches.

  /// Whether it was executed.
  bool execute(std::vector<operation> batch) {
    const std::vector<operation> asked = batch;
    const moment at = now();
    if (over_.watch) over_.watch(clocks_);
    judge_.time_is(at);
    execution done;
    try {
      done = store_->execute(batch);
    } catch (const store_unavailable& lost) {
      if (lost.is_in_doubt()) {
        for (const operation& each : asked) judge_.in_doubt(each, at);
      }
      return false;
    }
    if (over_.above) over_.above(asked, done);
    if (done.answers.size() != asked.size()) judge_.fail("a batch has another number of answers than operations");
    for (std::size_t i = 0; i < asked.size() && !judge_.failure(); ++i) {
      judge_.answered(asked[i], done.answers[i], at);
      learn(asked[i], done.answers[i]);
    }
    return true;
  }

  void learn(const operation& asked, const answer& got) {
    if (const auto* const made = std::get_if<put_answer>(&got); made != nullptr && made->id != 0)
      ids_.push_back(made->id);
    const auto* const brought = std::get_if<claim_answer>(&got);
    if (brought == nullptr) return;
    if (brought->is_replayed) ++replays_;
    for (const claimed_job& each : brought->jobs) {
      ids_.push_back(each.token.id);
      std::erase_if(held_, [&](const held_job& it) { return it.token.id == each.token.id; });
      held_.push_back({each.token, each.job.body, {each.job.tube, each.job.key}});
    }
    if (const auto* const what = std::get_if<claim>(&asked); what != nullptr && !what->once.empty()) {
      if (claims_.size() > 8) claims_.erase(claims_.begin());
    }
  }

  /// Until a job becomes due, or has waited too long, or a millisecond before: where the clocks have not been set.
  std::optional<duration> to_an_edge() {
    if (judge_.known().empty()) return std::nullopt;
    auto any = judge_.known().begin();
    std::advance(any, static_cast<std::ptrdiff_t>(below(judge_.known().size())));
    if (any->second.lives.empty()) return std::nullopt;
    const life& it = any->second.lives.front();
    utc_time edge = it.due_from;
    const auto by = policies_.find(it.tube);
    if (by != policies_.end() && below(2) == 0) edge = it.wait_from + by->second.expires;
    edge -= milliseconds(static_cast<std::int64_t>(below(2)));
    const std::chrono::nanoseconds left = edge - clocks_.wall_time();
    if (left < 0ns || left > 6s) return std::nullopt;
    return duration(left);
  }

  void step() {
    static constexpr std::array<std::chrono::nanoseconds, 9> lengths{0ns,  1ns,   300'000ns, 1ms, 5'000'001ns,
                                                                     20ms, 100ms, 1s,        61s};
    const duration length(lengths[below(40) == 0 ? 8 : below(8)]);
    pass(below(6) == 0 ? to_an_edge().value_or(length) : length);
    if (is_strict() && below(25) == 0) set_wall();
    std::vector<operation> batch;
    for (std::uint64_t i = below(6); i != 0; --i) {
      batch.push_back(some_operation());
      if (std::holds_alternative<kick>(batch.back())) break;  // it is not told which jobs: so nothing behind it
    }
    execute(std::move(batch));
    if (judge_.failure()) return;
    if (below(2) == 0) rest();
    if (below(40) == 0) calm([this] { change_policies(); });
    if (over_.reopens_one_of != 0 && below(over_.reopens_one_of) == 0) {
      if (below(2) == 0) rest();
      reopen();
    }
  }

  // What clients ask for.

  [[nodiscard]] once some_once() {
    sha256 key{};
    const std::uint64_t number = ++keys_;
    for (std::size_t i = 0; i < 8; ++i) key[i] = static_cast<std::byte>(number >> (8 * i));
    return {key, key, 24h};
  }

  [[nodiscard]] due_at some_due() {
    switch (below(6)) {
      case 0: return 5ms;
      case 1: return 60ms;
      case 2: return clocks_.utc() + milliseconds(static_cast<std::int64_t>(below(200)) - 50);
      default: return 0ms;
    }
  }

  [[nodiscard]] put some_put() {
    const std::string number = std::to_string(++bodies_);
    put made{.tube = tubes[below(9) % tubes.size()], .body = "job " + number};
    if (below(3) == 0) made.key = "key " + number;
    made.priority = static_cast<priority>(below(3));
    made.due = some_due();
    made.ttr = one_of(std::array<milliseconds, 6>{1ms, 5ms, 20ms, 60ms, 1s, is_strict() ? milliseconds(1h) : 1s});
    bool has_room = true;
    if (below(3) == 0) has_room = made.fields.set(tag_of_group, below(2) == 0 ? "one" : "other");
    if (below(12) == 0) {
      const auto at = static_cast<std::uint64_t>((clocks_.utc() + milliseconds(below(300))).time_since_epoch().count());
      std::string bytes;
      for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(at >> shift);
      has_room = has_room && made.fields.set(tag_of_expiry, bytes);
    }
    if (below(5) == 0) has_room = has_room && made.history.set(first_own_tag, "by " + number);
    if (!has_room) judge_.fail("fields have no room");
    if (below(4) == 0) made.once = some_once();
    return made;
  }

  [[nodiscard]] operation some_claim() {
    if (!claims_.empty() && below(5) == 0) return claims_[below(claims_.size())];
    claim made;
    for (const char* each : tubes) {
      if (below(2) == 0) made.tubes.emplace_back(each);
    }
    if (made.tubes.empty()) made.tubes = {"a"};
    made.count = one_of(std::array{1U, 1U, 2U, 5U});
    made.lasting = below(4) == 0;
    if (below(4) == 0) {
      made.once = some_once();
      claims_.push_back(made);
    }
    return made;
  }

  [[nodiscard]] std::optional<job_fields> some_history() {
    if (below(2) == 0) return std::nullopt;
    job_fields made;
    const std::string number = std::to_string(++reasons_);
    bool has_room = true;
    if (below(5) == 0) {
      has_room = made.set(first_own_tag, "at " + number);
    } else {
      has_room = made.set(tag_of_reason, "reason " + number);
      if (below(2) == 0) has_room = has_room && made.set(tag_of_worker, "worker " + number);
    }
    if (!has_room) judge_.fail("a history has no room");
    return made;
  }

  [[nodiscard]] operation some_end() {
    const held_job& it = held_[held_.size() - 1 - below(std::min<std::size_t>(held_.size(), 6))];
    switch (below(12)) {
      case 0:
      case 1: return finish{it.token};
      case 2: return bury{.token = it.token, .history = some_history()};
      case 3: return touch{it.token};
      case 4: return abandon{it.token};
      case 5: {
        if (it.name.key.empty()) break;
        put made = some_put();
        made.tube = it.name.tube;
        made.key = it.name.key;
        made.existing = on_existing::replace;
        made.holder = it.token;
        made.once = {};
        return made;
      }
      default: break;
    }
    return release{.token = it.token, .due = some_due(), .history = some_history()};
  }

  [[nodiscard]] operation some_change() {
    const job_id id = ids_.empty() ? std::numeric_limits<job_id>::max()
                                   : ids_[ids_.size() - 1 - below(std::min<std::size_t>(ids_.size(), 20))];
    switch (below(8)) {
      case 0: return kick{.tube = tubes[below(tubes.size())], .count = 1 + below(3)};
      case 1: return kick_job{id};
      case 2: return cancel{id};
      case 3: return reschedule{id, some_due()};
      case 4: return fire_now{id};
      case 5: return pause{tubes[below(tubes.size())], one_of(std::array<milliseconds, 3>{0ms, 5ms, 100ms})};
      default: break;
    }
    if (!over_.claims_by_id) return fire_now{id};
    return claim_job{id};
  }

  [[nodiscard]] operation some_operation() {
    const std::uint64_t kind = below(20);
    if (kind < 6) {
      if (!doubtful_.empty() && below(2) == 0) {
        put again = std::move(doubtful_.back());
        doubtful_.pop_back();
        return again;
      }
      put made = some_put();
      if (!made.once.empty() && over_.refuses_one_of != 0) doubtful_.push_back(made);
      return made;
    }
    if (kind < 11) return some_claim();
    if (kind < 17 && !held_.empty()) return some_end();
    return some_change();
  }

  // Rest.

  void settle() {
    for (std::size_t rounds = 0; !judge_.failure() && next_time() <= time_->now(); ++rounds) {
      if (rounds == 2000) return judge_.fail("the store does not come to rest");
      execute({});
    }
  }

  /// Of all jobs.
  [[nodiscard]] std::vector<job> survey() {
    std::vector<job> all;
    list_jobs page{.count = most_listed};
    for (;;) {
      const jobs_answer got = execute_one(*store_, page);
      for (const listed_job& each : got.jobs) {
        peek_answer seen = execute_one(*store_, peek{each.job.id});
        if (seen.job) all.push_back(std::move(*seen.job));
      }
      if (!got.next) return all;
      page.after = *got.next;
    }
  }

  void rest() {
    if (!is_strict() && below(8) != 0) return;
    calm([&] {});
  }

  template <class Body>
  void calm(Body body) {
    troubled_->is_refusing = false;
    is_calm_ = true;
    if (!is_strict()) pass(5s);  // what was refused is tried again, and unknown reservations end
    settle();
    if (!judge_.failure()) judge_.at_rest(survey(), now());
    if (const check_result right = store_->check(); !right) judge_.fail("check: " + right.error());
    body();
    is_calm_ = false;
    troubled_->is_refusing = true;
  }

  /// Everything is worked off: so no job is withheld or lost.
  void drain() {
    // What is due by a clock that was set back is due soon.
    time_->set_wall(time_->wall_now() + duration::nanoseconds(std::max(wall_steps_, std::int64_t{0})));
    for (const char* each : tubes) execute({pause{each, 0ms}});
    calm([&] {
      troubled_->is_refusing = false;
      for (std::size_t round = 0; round < 400 && !judge_.failure() && drain_once(); ++round) {
      }
      if (!judge_.failure() && drain_once()) judge_.fail("jobs are left that nobody gets: " + left_);
      if (over_.reopens_one_of == 0 && is_strict() && store_->counters().expired != judge_.seen().expired) {
        judge_.fail("the counter of expired jobs is " + std::to_string(store_->counters().expired) + ", not " +
                    std::to_string(judge_.seen().expired));
      }
    });
  }

  /// Whether there may be more.
  bool drain_once() {
    pass(1s);
    settle();
    const std::vector<job> left = survey();
    judge_.at_rest(left, now());
    judge_.nothing_overdue(now());
    finish_held();
    settle();
    for (const char* tube : tubes) {
      const std::size_t before = held_.size();
      if (!execute({claim{.tubes = {tube}, .count = 1}})) judge_.fail("a claim is refused");
      const bool is_empty = held_.size() == before;
      settle();
      if (judge_.failure()) return false;
      if (is_empty) still_owed(tube);
      finish_held();
      settle();
    }
    const auto waiting = std::ranges::find_if(left, [](const job& it) { return it.state != job_state::buried; });
    if (waiting != left.end()) left_ = waiting->body + " in " + waiting->tube;
    return waiting != left.end();
  }

  /// A claim may bring none though some are there, if it met those that must not be handed out. But not for long.
  void still_owed(const char* tube) {
    for (int again = 0; again < 40 && !judge_.failure(); ++again) {
      pass(1s);
      settle();
      if (judge_.failure()) return;
      judge_.at_rest(survey(), now());
      if (!judge_.owed_by(tube, now())) return;
      const std::size_t before = held_.size();
      execute({claim{.tubes = {tube}, .count = 1}});
      if (held_.size() != before) return;
    }
    if (const auto owed = judge_.owed_by(tube, now())) judge_.fail("tube " + std::string(tube) + " withholds " + *owed);
  }

  void finish_held() {
    std::vector<operation> batch;
    for (const held_job& each : std::exchange(held_, {})) batch.emplace_back(finish{each.token});
    execute(std::move(batch));
  }

  const course& over_;
  std::mt19937_64 random_;
  judge judge_;
  std::unique_ptr<conformance::store_under_test> disk_;
  std::int64_t boots_ = 0;
  std::unique_ptr<virtual_clock> time_;
  std::unique_ptr<virtual_wall_clock> wall_;
  store_clocks clocks_;
  std::unique_ptr<job_store> inner_;
  std::unique_ptr<troubled_store> troubled_;
  std::unique_ptr<policy_store> store_;
  policy_table policies_;
  bool is_calm_ = false;
  std::string left_;             // of the drain
  std::int64_t wall_steps_ = 0;  // back, in nanoseconds
  std::uint64_t bodies_ = 0;
  std::uint64_t reasons_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t replays_ = 0;
  std::uint64_t reopened_ = 0;
  std::vector<job_id> ids_;
  std::vector<held_job> held_;
  std::vector<claim> claims_;  // that happen once
  std::vector<put> doubtful_;  // that happen once, and are sent again
};

}  // namespace

outcome walk(const course& over, std::uint64_t seed) { return walker(over, seed).play(); }

}  // namespace foliot::jobs::policies_model

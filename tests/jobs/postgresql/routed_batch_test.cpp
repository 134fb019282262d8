// The plan of a batch over several databases, without any database: random batches over models of databases between
// which tubes move, of which some do not answer, and whose map the plan may know too late. The reference is the union
// of all their jobs: what one database would answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/operations.hpp>

#include "jobs/postgresql/routing/routed_batch.hpp"
#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::detail {
namespace {

constexpr int database_count = 4;
const std::vector<std::string> tubes{"a", "b", "c", "d", "e", "f"};

struct model_job {
  std::string tube;
  std::string key;
  job_state state = job_state::ready;
};
using job_table = std::map<job_id, model_job>;

/// What a database does with its share.
enum class behaviour : std::uint8_t { answers, is_down, answer_is_lost };

/// One database. It has jobs, and knows by `places` which tubes have left it.
class model_database {
 public:
  model_database(int number, const tube_map& places) : number_(number), places_(places) {}

  job_table jobs;
  std::int64_t version = 1;
  bool sends = false;
  behaviour does = behaviour::answers;
  bool was_elsewhere = false;  // the answer to the last put

  answer operator()(const put& what) {
    was_elsewhere = false;
    if (const job_id id = find(job_key{what.tube, what.key}); !what.key.empty() && id != 0) {
      return put_answer{put_answer::kind::kept, id};
    }
    if (places_.place_of(what.tube).database != number_) {
      was_elsewhere = true;
      return passed_over_answer{};
    }
    const job_id id = static_cast<job_id>(64 * ++last_ + number_);
    jobs[id] = {what.tube, what.key};
    return put_answer{put_answer::kind::inserted, id};
  }
  answer operator()(const claim& what) {
    claim_answer got;
    for (auto& [id, it] : jobs) {
      if (got.jobs.size() == what.count) break;
      if (it.state != job_state::ready || std::ranges::find(what.tubes, it.tube) == what.tubes.end()) continue;
      it.state = job_state::reserved;
      claimed_job one;
      one.job.id = id;
      one.token = {id, 1, 1};
      got.jobs.push_back(one);
    }
    return got;
  }
  answer operator()(const finish& what) {
    return holder_answer{jobs.erase(what.token.id) != 0 ? holder_answer::kind::done : holder_answer::kind::not_held};
  }
  answer operator()(const bury& what) {
    const auto found = jobs.find(what.token.id);
    if (found == jobs.end()) return holder_answer{holder_answer::kind::not_held};
    found->second.state = job_state::buried;
    return holder_answer{};
  }
  answer operator()(const cancel& what) {
    const job_id id = find(what.name);
    if (id == 0) return change_answer{change_answer::kind::gone, 0};
    if (jobs[id].state == job_state::reserved) return change_answer{change_answer::kind::reserved, id};
    jobs.erase(id);
    return change_answer{change_answer::kind::done, id};
  }
  answer operator()(const kick& what) {
    bulk_answer got;
    for (auto& [id, it] : jobs) {
      if (got.changed == what.count) break;
      if (it.tube != what.tube || it.state != job_state::buried) continue;
      it.state = job_state::ready;
      ++got.changed;
    }
    return got;
  }
  answer operator()(const clear_tube& what) {
    const auto ends = [&, left = what.count](const auto& each) mutable {
      if (left == 0 || each.second.tube != what.tube || each.second.state == job_state::reserved) return false;
      --left;
      return true;
    };
    return bulk_answer{std::erase_if(jobs, ends)};
  }
  answer operator()(const pause&) { return pause_answer{}; }
  answer operator()(const peek& what) {
    const job_id id = find(what.name);
    return id == 0 ? peek_answer{} : shown(id);
  }
  answer operator()(const peek_first& what) {
    for (const auto& [id, it] : jobs) {
      if (it.tube == what.tube && it.state == what.state) return shown(id);
    }
    return peek_answer{};
  }
  answer operator()(const count_tube& what) const { return count(&what.tube); }
  answer operator()(const count_all&) const { return count(nullptr); }
  answer operator()(const list_tubes&) const {
    std::set<std::string> all;
    for (const auto& [id, it] : jobs) all.insert(it.tube);
    return tubes_answer{{all.begin(), all.end()}};
  }
  answer operator()(const auto&) const { return passed_over_answer{}; }  // no batch of this test has it

 private:
  [[nodiscard]] job_id find(const job_name& name) const {
    if (const job_id* const id = std::get_if<job_id>(&name)) return jobs.contains(*id) ? *id : 0;
    const job_key& key = std::get<job_key>(name);
    for (const auto& [id, it] : jobs) {
      if (it.tube == key.tube && it.key == key.key) return id;
    }
    return 0;
  }
  static peek_answer shown(job_id id) {
    peek_answer got{job{}};
    got.job->id = id;
    return got;
  }
  [[nodiscard]] count_answer count(const std::string* tube) const {
    count_answer got;
    for (const auto& [id, it] : jobs) {
      if (tube != nullptr && it.tube != *tube) continue;
      if (it.state == job_state::ready) ++got.counts.ready;
      if (it.state == job_state::reserved) ++got.counts.reserved;
      if (it.state == job_state::buried) ++got.counts.buried;
    }
    return got;
  }

  int number_;
  const tube_map& places_;
  std::int64_t last_ = 0;
};

/// Several databases, and a plan that knows their map, if need be an older one.
class model_world {
 public:
  /// `is_misled`: the plan looks for jobs of tubes that move in the newer place first: the canary.
  explicit model_world(std::uint64_t seed, bool is_misled = false) : random_(seed), is_misled_(is_misled) {
    for (int i = 0; i < database_count; ++i) all_.emplace_back(i, truth_);
    for (const std::string& each : tubes) places_[each] = {below(database_count), std::nullopt};
    publish();
    known_ = truth_;
  }

  /// Executes a random batch. Returns what is wrong with the answers, if anything is.
  std::optional<std::string> step() {
    change_map();
    for (model_database& each : all_) {
      each.does = behaviour::answers;
      if (below(8) == 0) each.does = below(2) == 0 ? behaviour::is_down : behaviour::answer_is_lost;
    }
    const job_table before = union_of_all();
    const std::vector<operation> batch = below(2) == 0 ? changes(before) : looks(before);
    const std::vector<answer> answers = execute(batch);
    if (!wrong_.empty()) return wrong_;
    if (answers.size() != batch.size()) return "not as many answers as operations";
    const job_table after = union_of_all();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      before_ = &before;
      after_ = &after;
      is_certain_ = is_certain(batch[i]);
      const auto* const unavailable = std::get_if<unavailable_answer>(&answers[i]);
      const bool is_right = unavailable == nullptr
                                ? std::visit([&](const auto& it) { return is_right_answer(it, answers[i]); }, batch[i])
                                : !is_certain_;
      if (!is_right) return "operation " + std::to_string(i) + " of the kind " + std::to_string(batch[i].index());
    }
    return std::nullopt;
  }

 private:
  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }
  const std::string& any_tube() { return tubes[random_.below(tubes.size())]; }

  [[nodiscard]] job_table union_of_all() const {
    job_table all;
    for (const model_database& each : all_) all.insert(each.jobs.begin(), each.jobs.end());
    return all;
  }
  void publish() {
    tube_map::database_list others;
    for (int i = 1; i < database_count; ++i) others[i] = "db";
    truth_ = tube_map(others, {places_.begin(), places_.end()});
  }
  /// What the plan knows, from now on.
  [[nodiscard]] std::shared_ptr<const tube_map> known() const {
    if (!is_misled_) return std::make_shared<const tube_map>(known_);
    tube_map::place_list wrong;
    for (const auto& [tube, it] : known_.places()) {
      wrong[tube] = it.before ? tube_place{*it.before, it.database} : it;
    }
    return std::make_shared<const tube_map>(known_.databases(), wrong);
  }

  /// Sometimes a tube begins to move, or its move ends, which the plan does not know yet.
  void change_map() {
    read_map();
    has_moved_ = false;
    for (model_database& each : all_) each.sends = false;
    if (below(3) == 0) {
      auto& [tube, place] = *std::next(places_.begin(), below(static_cast<int>(places_.size())));
      if (!place.before) {
        place = {below(database_count), place.database};
        if (place.before == place.database) place.before.reset();
      } else if (std::ranges::none_of(jobs_of(*place.before), [&](const auto& each) {
                   return each.second.tube == tube && each.second.state == job_state::reserved;
                 })) {
        while (move_one(tube, place)) {
        }
        at(*place.before).sends = true;  // it has left lately
        ++at(*place.before).version;
        place.before.reset();
      }
      publish();
      ++at(0).version;
      ++at(place.database).version;
      if (place.before) ++at(*place.before).version;
    }
    for (const auto& [tube, place] : places_) {
      if (place.before) at(*place.before).sends = true;
    }
  }
  [[nodiscard]] model_database& at(int number) { return all_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] job_table& jobs_of(int number) { return at(number).jobs; }
  bool move_one(const std::string& tube, const tube_place& place) {
    job_table& from = jobs_of(*place.before);
    const auto moves = [&](const auto& each) {
      return each.second.tube == tube && each.second.state != job_state::reserved;
    };
    const auto found = std::ranges::find_if(from, moves);
    if (found == from.end()) return false;
    jobs_of(place.database).insert(from.extract(found));
    has_moved_ = true;
    return true;
  }
  /// Jobs move on between two rounds.
  void move_some() {
    for (const auto& [tube, place] : places_) {
      while (place.before && below(2) == 0 && move_one(tube, place)) {
      }
    }
  }

  /// Each of its operations is about tubes of its own, so that their order does not matter.
  std::vector<operation> changes(const job_table& before) {
    std::vector<std::string> left = tubes;
    std::vector<operation> batch;
    while (!left.empty() && below(6) != 0) {
      const std::string tube = left.back();
      left.pop_back();
      job_id some = 0;
      for (const auto& [id, it] : before) {
        if (it.tube == tube && (some == 0 || below(3) == 0)) some = id;
      }
      const bool is_held = some != 0 && before.at(some).state == job_state::reserved;
      switch (below(9)) {
        case 0: batch.emplace_back(put{.tube = tube, .body = "x"}); break;
        case 1: batch.emplace_back(put{.tube = tube, .key = std::to_string(below(3)), .body = "x"}); break;
        case 2: batch.emplace_back(cancel{some}); break;
        case 3: batch.emplace_back(cancel{job_key{tube, std::to_string(below(3))}}); break;
        case 4: batch.emplace_back(kick{.tube = tube, .count = static_cast<std::uint64_t>(1 + below(3))}); break;
        case 5: batch.emplace_back(clear_tube{.tube = tube, .count = static_cast<std::uint64_t>(1 + below(3))}); break;
        case 6: batch.emplace_back(pause{tube, milliseconds(1)}); break;
        case 7:
          if (is_held && below(2) == 0) {
            batch.emplace_back(finish{{some, 1, 1}});
          } else if (is_held) {
            batch.emplace_back(bury{{some, 1, 1}});
          }
          break;
        default: {
          claim some_jobs{.tubes = {tube}, .count = static_cast<std::uint32_t>(1 + below(3))};
          for (; !left.empty() && below(2) == 0; left.pop_back()) some_jobs.tubes.push_back(left.back());
          batch.emplace_back(some_jobs);
        }
      }
    }
    return batch;
  }
  std::vector<operation> looks(const job_table& before) {
    std::vector<operation> batch;
    for (int n = below(12); n > 0; --n) {
      switch (below(6)) {
        case 0: batch.emplace_back(count_all{}); break;
        case 1: batch.emplace_back(count_tube{any_tube()}); break;
        case 2: batch.emplace_back(list_tubes{}); break;
        case 3: batch.emplace_back(peek_first{any_tube(), job_state::ready}); break;
        case 4: batch.emplace_back(peek{job_key{any_tube(), std::to_string(below(3))}}); break;
        default: {
          const int place = below(static_cast<int>(before.size()) + 1);
          batch.emplace_back(peek{place < static_cast<int>(before.size()) ? std::next(before.begin(), place)->first
                                                                          : job_id{64'000'000}});
        }
      }
    }
    return batch;
  }

  /// Whether the share has the operations of the batch in their order, each of them whole and where its tubes are.
  bool is_right_share(int database, const routed_batch::share& its, const std::vector<operation>& batch) {
    if (!std::ranges::is_sorted(its.of) || its.of.size() != its.operations.size()) return false;
    for (std::size_t i = 0; i < its.of.size(); ++i) {
      const operation& whole = batch.at(its.of[i]);
      if (its.operations[i].index() != whole.index()) return false;
      const auto* const claiming = std::get_if<claim>(&its.operations[i]);
      if (claiming == nullptr) continue;
      for (const std::string& each : claiming->tubes) {
        const tube_place place = known_.place_of(each);
        if (place.database != database && place.before != database) return false;
      }
    }
    return true;
  }

  std::vector<answer> execute(std::vector<operation> batch) {
    const std::vector<operation> whole = batch;
    routed_batch routed(batch, known(), random_.below(100));
    std::map<std::size_t, int> went;
    for (int attempts = 3; attempts > 0; --attempts) {
      for (auto round = routed.next_round(); !round.empty(); round = routed.next_round()) {
        std::set<int> newer;
        for (auto& [database, its] : round) {
          if (!is_right_share(database, its, whole)) wrong_ = "a share of the database " + std::to_string(database);
          for (const std::size_t each : its.of) {
            if (++went[each] > 4 * database_count) wrong_ = "operation " + std::to_string(each) + " goes on for ever";
          }
          execute_share(routed, database, its, newer);
        }
        if (!wrong_.empty()) return {};
        if (!newer.empty() && at(0).does == behaviour::answers) {
          read_map();
          routed.follow(known());
          newer.clear();
        }
        for (const int each : newer) routed.take_doubt(each, "no map");
        routed.go_on();
        move_some();
      }
      if (!routed.has_unplaced() || at(0).does != behaviour::answers) break;
      read_map();
      routed.begin_again(known());
    }
    return routed.answers();
  }
  void read_map() {
    known_ = truth_;
    for (std::size_t i = 0; i < all_.size(); ++i) read_versions_[i] = all_[i].version;
  }
  void execute_share(routed_batch& routed, int database, routed_batch::share& its, std::set<int>& newer) {
    model_database& here = at(database);
    std::vector<answer> answers;
    map_state shown{.version = here.version, .sends = here.sends};
    if (here.does == behaviour::answers || (here.does == behaviour::answer_is_lost && below(2) == 0)) {
      for (std::size_t i = 0; i < its.operations.size(); ++i) {
        here.was_elsewhere = false;
        answers.push_back(std::visit([&](const auto& it) { return here(it); }, its.operations[i]));
        if (here.was_elsewhere) shown.elsewhere.push_back(i);
      }
    }
    if (here.does != behaviour::answers) {
      return routed.take_refusal(database, its, here.does == behaviour::answer_is_lost, "no answer");
    }
    if (here.version != read_versions_[static_cast<std::size_t>(database)]) newer.insert(database);
    routed.take(database, its, answers, shown);
  }

  /// Whether all databases answer that may have to do with it.
  [[nodiscard]] bool is_certain(const operation&) const {
    return std::ranges::all_of(all_, [](const auto& each) { return each.does == behaviour::answers; });
  }
  [[nodiscard]] static std::size_t count_if(const job_table& in, const std::set<std::string>& of_tubes,
                                            auto&& condition) {
    return static_cast<std::size_t>(std::ranges::count_if(
        in, [&](const auto& each) { return of_tubes.contains(each.second.tube) && condition(each.second.state); }));
  }
  static bool is_ready(job_state state) { return state == job_state::ready; }
  static bool is_held(job_state state) { return state == job_state::reserved; }
  static bool is_buried(job_state state) { return state == job_state::buried; }
  static bool is_free(job_state state) { return state != job_state::reserved; }
  static bool is_any(job_state) { return true; }
  [[nodiscard]] job_id named(const job_name& name) const {
    if (const job_id* const id = std::get_if<job_id>(&name)) return before_->contains(*id) ? *id : 0;
    const job_key& key = std::get<job_key>(name);
    for (const auto& [id, it] : *before_) {
      if (it.tube == key.tube && it.key == key.key) return id;
    }
    return 0;
  }
  /// `changed` jobs of so many; if some database does not answer, or jobs have moved meanwhile, fewer are right, too.
  [[nodiscard]] bool is_right_number(std::size_t changed, std::size_t most, std::size_t there) const {
    const std::size_t all = std::min(most, there);
    return changed <= all && (changed == all || !is_certain_ || has_moved_);
  }

  bool is_right_answer(const put& what, const answer& got) const {
    const auto* const it = std::get_if<put_answer>(&got);
    if (it == nullptr) return !is_certain_;
    const job_id there = what.key.empty() ? 0 : named(job_key{what.tube, what.key});
    const std::size_t more = count_if(*after_, {what.tube}, is_any) - count_if(*before_, {what.tube}, is_any);
    if (there != 0) return it->what == put_answer::kind::kept && it->id == there && more == 0;
    return it->what == put_answer::kind::inserted && more == 1 && after_->contains(it->id);
  }
  bool is_right_answer(const claim& what, const answer& got) const {
    const std::set<std::string> its(what.tubes.begin(), what.tubes.end());
    const auto& jobs = std::get<claim_answer>(got).jobs;
    std::set<job_id> ids;
    for (const claimed_job& each : jobs) {
      const auto before = before_->find(each.job.id);
      if (before == before_->end() || !is_ready(before->second.state) || !its.contains(before->second.tube))
        return false;
      if (!ids.insert(each.job.id).second || !is_held(after_->at(each.job.id).state)) return false;
    }
    const std::size_t held = count_if(*after_, its, is_held) - count_if(*before_, its, is_held);
    return is_right_number(jobs.size(), what.count, count_if(*before_, its, is_ready)) &&
           (held == jobs.size() || !is_certain_);
  }
  bool is_right_answer(const finish& what, const answer& got) const {
    return std::get<holder_answer>(got).what == holder_answer::kind::done && !after_->contains(what.token.id);
  }
  bool is_right_answer(const bury& what, const answer& got) const {
    return std::get<holder_answer>(got).what == holder_answer::kind::done && is_buried(after_->at(what.token.id).state);
  }
  bool is_right_answer(const cancel& what, const answer& got) const {
    const auto& it = std::get<change_answer>(got);
    const job_id there = named(what.name);
    if (there == 0) return it.what == change_answer::kind::gone;
    const bool is_kept = is_held(before_->at(there).state);
    return it.id == there && it.what == (is_kept ? change_answer::kind::reserved : change_answer::kind::done) &&
           after_->contains(there) == is_kept;
  }
  bool is_right_answer(const kick& what, const answer& got) const {
    const std::size_t buried = count_if(*before_, {what.tube}, is_buried);
    const std::size_t changed = std::get<bulk_answer>(got).changed;
    return is_right_number(changed, what.count, buried) &&
           (buried - count_if(*after_, {what.tube}, is_buried) == changed || !is_certain_);
  }
  bool is_right_answer(const clear_tube& what, const answer& got) const {
    const std::size_t free = count_if(*before_, {what.tube}, is_free);
    const std::size_t changed = std::get<bulk_answer>(got).changed;
    return is_right_number(changed, what.count, free) &&
           (free - count_if(*after_, {what.tube}, is_free) == changed || !is_certain_);
  }
  static bool is_right_answer(const pause&, const answer& got) { return std::holds_alternative<pause_answer>(got); }
  bool is_right_answer(const peek& what, const answer& got) const {
    const auto& job = std::get<peek_answer>(got).job;
    return (job ? job->id : 0) == named(what.name);
  }
  bool is_right_answer(const peek_first& what, const answer& got) const {
    const auto& job = std::get<peek_answer>(got).job;
    if (!job) return count_if(*before_, {what.tube}, is_ready) == 0;
    return before_->at(job->id).tube == what.tube && is_ready(before_->at(job->id).state);
  }
  bool is_right_answer(const count_tube& what, const answer& got) const {
    return is_right_count(std::get<count_answer>(got), {what.tube});
  }
  bool is_right_answer(const count_all&, const answer& got) const {
    return is_right_count(std::get<count_answer>(got), {tubes.begin(), tubes.end()});
  }
  [[nodiscard]] bool is_right_count(const count_answer& got, const std::set<std::string>& its) const {
    if (has_moved_) return true;  // the places of a tube may have been asked in different rounds
    return got.counts == job_counts{.ready = count_if(*before_, its, is_ready),
                                    .reserved = count_if(*before_, its, is_held),
                                    .buried = count_if(*before_, its, is_buried)};
  }
  bool is_right_answer(const list_tubes&, const answer& got) const {
    std::set<std::string> all;
    for (const auto& [id, it] : *before_) all.insert(it.tube);
    return std::get<tubes_answer>(got).tubes == std::vector<std::string>(all.begin(), all.end());
  }
  static bool is_right_answer(const auto&, const answer&) { return false; }

  random_stream random_;
  const bool is_misled_;
  std::map<std::string, tube_place> places_;
  tube_map truth_;
  tube_map known_;
  std::vector<model_database> all_;
  std::vector<std::int64_t> read_versions_ = std::vector<std::int64_t>(database_count, 1);
  bool has_moved_ = false;  // a job, in the present step
  std::string wrong_;
  // Of the operation that is judged:
  const job_table* before_ = nullptr;
  const job_table* after_ = nullptr;
  bool is_certain_ = true;
};

/// What goes wrong first in a world with this seed.
std::optional<std::string> first_wrong(std::uint64_t seed, bool is_misled) {
  model_world world(seed, is_misled);
  for (int i = 0; i < 200; ++i) {
    if (const auto wrong = world.step()) return "step " + std::to_string(i) + ": " + *wrong;
  }
  return std::nullopt;
}

constexpr std::uint64_t worlds = 100;

TEST(RoutedBatch, AnswersAsOneDatabaseWould) {
  const std::uint64_t first = random_stream::entropy();
  for (std::uint64_t i = 0; i < worlds; ++i) {
    const auto wrong = first_wrong(first + i, false);
    ASSERT_FALSE(wrong) << "seed " << first + i << ": " << *wrong;
  }
}

// The canary: with the places of a tube in the wrong order, a key is given twice.
TEST(RoutedBatch, APlanThatLooksInTheWrongOrderIsFoundOut) {
  const std::uint64_t first = random_stream::entropy();
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < worlds; ++i) found += first_wrong(first + i, true) ? 1U : 0U;
  EXPECT_GT(found, 0U) << "seeds from " << first;
}

TEST(RoutedBatch, OneDatabaseGetsTheWholeBatchInOneRound) {
  std::vector<operation> batch{put{.tube = "a", .body = "x"},
                               claim{.tubes = {"a", "b"}, .count = 2},
                               cancel{job_id{7}},
                               count_all{},
                               list_tubes{},
                               kick{.tube = "c", .count = 3}};
  const std::vector<operation> whole = batch;
  routed_batch routed(batch, std::make_shared<const tube_map>(), 5);
  auto round = routed.next_round();
  ASSERT_EQ(round.size(), 1U);
  EXPECT_EQ(round.at(0).operations, whole);
  std::vector<answer> answers{put_answer{put_answer::kind::inserted, 64},
                              claim_answer{},
                              change_answer{},
                              count_answer{},
                              tubes_answer{{"a"}},
                              bulk_answer{1}};
  std::vector<answer> copies = answers;
  routed.take(0, round.at(0), copies, {});
  routed.go_on();
  EXPECT_TRUE(routed.next_round().empty());
  EXPECT_EQ(routed.answers(), answers);
}

}  // namespace
}  // namespace foliot::jobs::detail

// The plan of a batch over several databases, without any database: random batches over models of databases between
// which tubes move, of which some do not answer, and whose map the plan may know too late. A model is an oracle of the
// conformance suite, and the reference is one oracle with the jobs of all of them: what one database would answer.
//
// The table of operations says which operations there are, what they may change, and how they are judged; their
// arguments are chosen by the names of their members. An operation that the oracle lacks does not compile.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/operations.hpp>

#include "jobs/conformance/oracle.hpp"
#include "jobs/postgresql/routing/routed_batch.hpp"
#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::detail {
namespace {

using conformance::oracle;

constexpr int database_count = 4;
constexpr std::size_t operation_count = std::variant_size_v<operation>;
const std::vector<std::string> tubes{"aa", "ab", "ba", "bb", "ca", "cb"};

/// A moment by both clocks.
struct moment {
  utc_time wall{};
  instant now;
};

/// What a database does with its share.
enum class behaviour : std::uint8_t { answers, is_down, answer_is_lost };

/// One database. It has jobs, and knows by `places` which tubes have left it.
class model_database {
 public:
  model_database(int number, const tube_map& places) : number_(number), places_(places) {
    jobs.give_ids(static_cast<job_id>(number), most_databases);
  }

  oracle jobs;
  std::int64_t version = 1;
  bool sends = false;
  behaviour does = behaviour::answers;
  bool was_elsewhere = false;  // the answer to the last put

  answer execute(operation what, const moment& at) {
    const auto* const made = std::get_if<put>(&what);
    was_elsewhere = made != nullptr && is_elsewhere(*made);
    if (was_elsewhere) return passed_over_answer{};
    if (const auto* const all = std::get_if<put_all>(&what)) {
      const auto elsewheres = std::ranges::count_if(all->puts, [this](const put& each) { return is_elsewhere(each); });
      was_elsewhere = static_cast<std::size_t>(elsewheres) == all->puts.size();
      if (elsewheres > 0) return passed_over_answer{};
    }
    return jobs.execute_for(1, {}, {&what, 1}, at.wall, at.now).answers.front();
  }
  /// Until when the tube is paused here.
  instant paused_until(const std::string& tube, const moment& at) {
    return std::get<count_answer>(execute(count_tube{tube}, at)).paused_until;
  }

 private:
  [[nodiscard]] bool is_elsewhere(const put& what) const {
    return places_.place_of(what.tube).database != number_ && !has_key_of(what);
  }
  [[nodiscard]] bool has_key_of(const put& what) const {
    return !what.key.empty() && std::ranges::any_of(jobs.entries(), [&](const oracle::entry& each) {
      return each.job.tube == what.tube && each.job.key == what.key;
    });
  }

  int number_;
  const tube_map& places_;
};

/// The jobs of some databases.
using job_table = std::map<job_id, oracle::entry>;

/// An operation, and all tubes whose jobs it can change.
struct asked_operation {
  operation what;
  std::set<std::string> tubes;
};

/// How many jobs the answer has, or says that it has changed.
std::size_t jobs_in(const answer& got) {
  if (const auto* const claimed = std::get_if<claim_answer>(&got)) return claimed->jobs.size();
  if (const auto* const shown = std::get_if<peek_answer>(&got)) return shown->job ? 1 : 0;
  return std::get<bulk_answer>(got).changed;
}

/// What the answers to a batch must be: those of one database that had all jobs.
struct judge {
  const job_table before;
  const job_table expected;  ///< after the batch
  const job_table after;
  const bool is_certain;  ///< all databases have answered
  const bool has_moved;   ///< a job has, meanwhile
  /// Whether some of these tubes move, or are in different databases.
  const std::function<bool(const std::set<std::string>&)> are_apart;

  [[nodiscard]] bool is_right(const asked_operation& it, const answer& got, const answer& right) const {
    const bool is_of_all = std::holds_alternative<put_all>(it.what);
    if (is_of_all && is_refused_for_databases(got)) {
      return is_as_in(before, it.tubes) && (!is_certain || are_apart(it.tubes));
    }
    const auto* const unavailable = std::get_if<unavailable_answer>(&got);
    if (unavailable != nullptr || std::holds_alternative<passed_over_answer>(got)) {
      const bool may_have_happened = unavailable != nullptr && unavailable->is_in_doubt;
      return !is_certain && (may_have_happened || is_as_in(before, it.tubes));
    }
    switch (facts_of(it.what).spread) {
      case operation_spread::taken:
      case operation_spread::found: return is_same(got, right) && is_as_in(expected, it.tubes);
      // Its databases may have been asked in different rounds. A tube does not disappear between them.
      case operation_spread::together: return got == right || (has_moved && !has_names_alone(got));
      case operation_spread::filled: return is_right_part(it.tubes, got, right);
    }
    return false;
  }

 private:
  /// A list of tubes without counts.
  [[nodiscard]] static bool has_names_alone(const answer& got) {
    const auto* const listed = std::get_if<tubes_answer>(&got);
    return listed != nullptr && listed->counts.empty();
  }
  /// Whether the jobs of these tubes are those of the table, whatever the ids of new jobs are.
  [[nodiscard]] bool is_as_in(const job_table& table, const std::set<std::string>& its) const {
    // Both lists have the order of the ids, which is that of the puts for the new jobs of one database.
    const auto list_of = [&](const job_table& of) {
      std::vector<job> known;
      std::vector<job> made;
      for (const auto& [id, each] : of) {
        if (!its.contains(each.job.tube)) continue;
        if (before.contains(id)) {
          known.push_back(each.job);
        } else {
          made.push_back(each.job);
          made.back().id = 0;
        }
      }
      return std::pair(std::move(known), std::move(made));
    };
    return list_of(table) == list_of(after);
  }
  [[nodiscard]] static bool is_refused_for_databases(const answer& got) {
    const auto* const all = std::get_if<put_all_answer>(&got);
    return std::holds_alternative<passed_over_answer>(got) ||
           (all != nullptr && all->what == put_all_answer::kind::several_databases);
  }
  /// Whether the answers are equal but for the ids of new jobs.
  [[nodiscard]] bool is_same(const answer& got, const answer& right) const {
    if (const auto* const all = std::get_if<put_all_answer>(&got); all != nullptr && !all->puts.empty()) {
      const std::vector<put_answer>& expected_ones = std::get<put_all_answer>(right).puts;
      const auto is_same_put = [this](const put_answer& one, const put_answer& other) {
        return is_same(answer(one), answer(other));
      };
      return std::ranges::equal(all->puts, expected_ones, is_same_put);
    }
    const auto* const put_here = std::get_if<put_answer>(&got);
    if (put_here == nullptr || before.contains(put_here->id)) return got == right;
    return put_here->what == std::get<put_answer>(right).what && after.contains(put_here->id);
  }
  /// The state that each job of these tubes has in the table, if it has none or another one before; none: it is gone.
  [[nodiscard]] std::map<job_id, std::optional<job_state>> changed_in(const job_table& table,
                                                                      const std::set<std::string>& its) const {
    std::map<job_id, std::optional<job_state>> changed;
    for (const auto& [id, each] : before) {
      if (!its.contains(each.job.tube)) continue;
      const auto found = table.find(id);
      if (found == table.end()) {
        changed[id] = std::nullopt;
      } else if (found->second.job.state != each.job.state) {
        changed[id] = found->second.job.state;
      }
    }
    return changed;
  }
  /// As many jobs as one database would have found, if maybe others; if some database did not answer, or jobs have
  /// moved meanwhile, fewer are right, too.
  [[nodiscard]] bool is_right_part(const std::set<std::string>& its, const answer& got, const answer& right) const {
    if (jobs_in(got) > jobs_in(right)) return false;
    if (jobs_in(got) < jobs_in(right) && is_certain && !has_moved) return false;
    if (const auto* const shown = std::get_if<peek_answer>(&got)) return is_right_look(*shown, right);
    const auto changed = changed_in(after, its);
    if (is_certain && changed.size() != jobs_in(got)) return false;
    std::set<std::optional<job_state>> right_states;
    for (const auto& [id, state] : changed_in(expected, its)) right_states.insert(state);
    const auto is_right_state = [&](const auto& each) { return right_states.contains(each.second); };
    if (!std::ranges::all_of(changed, is_right_state)) return false;
    const auto* const claimed = std::get_if<claim_answer>(&got);
    if (claimed == nullptr) return true;
    std::set<job_id> ids;
    return std::ranges::all_of(claimed->jobs, [&](const claimed_job& each) {
      const auto now = after.find(each.job.id);
      return changed.contains(each.job.id) && ids.insert(each.job.id).second && each.job == now->second.job &&
             each.token == reservation{each.job.id, 1, now->second.attempts};
    });
  }
  [[nodiscard]] bool is_right_look(const peek_answer& got, const answer& right) const {
    if (!got.job) return true;
    const job& first = *std::get<peek_answer>(right).job;
    return got.job->tube == first.tube && got.job->state == first.state && *got.job == before.at(got.job->id).job;
  }
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
    pass_time();
    change_map();
    for (model_database& each : all_) {
      each.does = behaviour::answers;
      if (below(8) == 0) each.does = below(2) == 0 ? behaviour::is_down : behaviour::answer_is_lost;
    }
    const job_table before = union_of_all();
    const std::vector<asked_operation> batch = below(2) == 0 ? changes(before) : looks(before);
    std::vector<operation> operations;
    for (const asked_operation& each : batch) operations.push_back(each.what);
    oracle one = as_one(before);
    const std::vector<answer> right = one.execute_for(1, {}, operations, now_.wall, now_.now).answers;
    const std::vector<answer> answers = execute(operations);
    if (!wrong_.empty()) return wrong_;
    if (answers.size() != batch.size()) return "not as many answers as operations";
    const bool is_certain = std::ranges::all_of(all_, [](const auto& each) { return each.does == behaviour::answers; });
    const auto are_apart = [this](const std::set<std::string>& its) {
      const tube_place& first = places_.at(*its.begin());
      return std::ranges::any_of(its, [&](const std::string& each) {
        return places_.at(each).before.has_value() || places_.at(each).database != first.database;
      });
    };
    const judge judging{before, table_of(one), union_of_all(), is_certain, has_moved_, are_apart};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!judging.is_right(batch[i], answers[i], right[i]) || (is_certain && !is_paused(batch[i].what))) {
        return "operation " + std::to_string(i) + ": " + std::string(facts_of(batch[i].what).name);
      }
      if (is_certain) covered_.set(batch[i].what.index());
    }
    return std::nullopt;
  }
  /// The operations that were answered while all databases were up, by their places in the table.
  [[nodiscard]] const std::bitset<operation_count>& covered() const { return covered_; }

 private:
  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }
  bool one_in(int n) { return below(n) == 0; }

  /// A millisecond passes: delayed jobs become ready, and pauses end.
  void pass_time() {
    now_.wall += milliseconds(1);
    now_.now += milliseconds(1);
    for (model_database& each : all_) each.jobs.execute_for(1, {}, {}, now_.wall, now_.now);
  }
  static job_table table_of(const oracle& of) {
    job_table all;
    for (const oracle::entry& each : of.entries()) all[each.job.id] = each;
    return all;
  }
  [[nodiscard]] job_table union_of_all() const {
    job_table all;
    for (const model_database& each : all_) all.merge(table_of(each.jobs));
    return all;
  }
  /// One database with all these jobs.
  static oracle as_one(const job_table& jobs) {
    oracle one;
    const auto entries = std::views::values(jobs);
    one.bring_in(std::vector(entries.begin(), entries.end()));
    one.give_ids(job_id{1} << 40U, 1);
    return one;
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
      } else if (std::ranges::none_of(jobs_of(*place.before).entries(), [&](const oracle::entry& each) {
                   return each.job.tube == tube && each.job.state == job_state::reserved;
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
  [[nodiscard]] oracle& jobs_of(int number) { return at(number).jobs; }
  bool move_one(const std::string& tube, const tube_place& place) {
    std::vector<oracle::entry> leaving = jobs_of(*place.before).take_out(tube);
    if (leaving.empty()) return false;
    jobs_of(place.database).bring_in({leaving.back()});
    leaving.pop_back();
    jobs_of(*place.before).bring_in(std::move(leaving));
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

  /// What an operation is about.
  struct subject {
    std::vector<std::string> tubes;  ///< at least one
    job_id id = 0;                   ///< of a job in the first one, if it has any
    reservation token;               ///< of a reserved job there, if it has any
  };
  [[nodiscard]] subject subject_of(std::vector<std::string> its, const job_table& before) {
    subject made{std::move(its), 64'000'000, {64'000'000, 1, 1}};
    for (const auto& [id, each] : before) {
      if (each.job.tube != made.tubes.front()) continue;
      if (made.id == 64'000'000 || one_in(3)) made.id = id;
      if (each.job.state == job_state::reserved && !one_in(8)) made.token = {id, 1, each.attempts};
    }
    return made;
  }

  /// An operation with random arguments, by the names of its members.
  template <class Operation>
  Operation random_of(const subject& its) {
    Operation made{};
    const std::string& tube = its.tubes.front();
    if constexpr (requires { made.tube = tube; }) made.tube = tube;
    if constexpr (requires { made.tubes = its.tubes; }) made.tubes = its.tubes;
    if constexpr (requires { made.token = its.token; }) made.token = its.token;
    if constexpr (requires { made.id = its.id; }) made.id = its.id;
    if constexpr (requires { made.name = job_name(its.id); }) {
      made.name = one_in(2) ? job_name(its.id) : job_name(job_key{tube, any_key()});
    }
    if constexpr (requires { made.key = tube; }) made.key = one_in(2) ? "" : any_key();
    if constexpr (requires { made.body = tube; }) made.body = std::to_string(random_.below(1000));
    if constexpr (requires { made.priority = priority{1}; }) made.priority = static_cast<priority>(below(3));
    if constexpr (requires { made.due = due_at(); }) {
      made.due = one_in(2) ? due_at(milliseconds(below(4))) : due_at(now_.wall + milliseconds(below(5) - 1));
    }
    if constexpr (requires { made.ttr = milliseconds(1); }) made.ttr = std::chrono::hours(1);  // no reservation ends
    if constexpr (requires { made.existing = on_existing::keep; }) made.existing = static_cast<on_existing>(below(3));
    if constexpr (requires { made.count = 1; }) made.count = static_cast<decltype(made.count)>(1 + below(3));
    if constexpr (requires { made.state = job_state::ready; }) made.state = any_waiting_state();
    if constexpr (requires { made.with_body = true; }) made.with_body = one_in(2);
    if constexpr (requires { made.length = milliseconds(1); }) made.length = milliseconds(below(2));
    if constexpr (requires { made.puts; }) {
      for (const std::string& each : its.tubes) made.puts.push_back(random_of<put>({{each}, its.id, its.token}));
      if (one_in(2)) made.puts.push_back({.tube = tube, .body = "without a key", .ttr = std::chrono::hours(1)});
    }
    if constexpr (requires { made.prefix = tube; }) made.prefix = tube.substr(0, static_cast<std::size_t>(below(3)));
    if constexpr (requires { made.from = now_.wall; })
      made.from = one_in(3) ? utc_time{} : now_.wall + milliseconds(below(4));
    if constexpr (std::is_same_v<Operation, list_due>) made.after = one_in(2) ? 0 : its.id;
    if constexpr (std::is_same_v<Operation, list_tubes>) {
      if (one_in(2)) made.after = tubes[random_.below(tubes.size())];
      if (one_in(4)) made.count = 0;
      made.with_counts = made.count != 0 && one_in(2);
    }
    if constexpr (std::is_same_v<Operation, list_jobs>) set_list(made, its);
    // Each database kicks the buried jobs that it has, else its delayed ones: so a tube that moves is told which.
    if constexpr (requires { made.only = job_state::buried; }) {
      if (places_.at(tube).before || one_in(2)) made.only = one_in(2) ? job_state::buried : job_state::delayed;
    }
    return made;
  }
  /// Of a tube in a state or in any, or of all of them by id.
  void set_list(list_jobs& made, const subject& its) {
    if (one_in(2)) made.which = one_in(3) ? job_state::reserved : any_waiting_state();
    const bool by_id = !made.which || *made.which == job_state::reserved;
    if (by_id && one_in(2)) made.prefixes = {std::exchange(made.tube, "").substr(0, random_.below(3))};
    if (one_in(2)) made.after = {random_.below(3), its.id};
  }
  std::string any_key() { return std::to_string(below(3)); }
  job_state any_waiting_state() {
    constexpr std::array all{job_state::delayed, job_state::ready, job_state::buried};
    return all[random_.below(all.size())];
  }
  /// The operation at this place of the table.
  operation operation_at(std::size_t place, const subject& its) {
    operation made;
    const auto make = [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      const auto make_at = [&]<std::size_t At>(std::integral_constant<std::size_t, At>) {
        if (place == At) made = random_of<std::variant_alternative_t<At, operation>>(its);
      };
      (make_at(std::integral_constant<std::size_t, Place>()), ...);
    };
    make(std::make_index_sequence<operation_count>());
    return made;
  }
  /// A place in the table that has this effect.
  std::size_t any_place(operation_effect effect) {
    if (effect == operation_effect::changes && one_in(3))
      return one_in(2) ? operation_rows::place_of<put>() : operation_rows::place_of<claim>();
    for (;;) {
      const std::size_t place = random_.below(operation_count);
      if (table::operations.at(place).effect == effect) return place;
    }
  }

  /// Each of its operations is about tubes of its own, so that their order does not matter.
  std::vector<asked_operation> changes(const job_table& before) {
    std::vector<std::string> left = tubes;
    std::vector<asked_operation> batch;
    while (!left.empty() && !one_in(6)) {
      const std::size_t place = any_place(operation_effect::changes);
      const operation_target target = table::operations.at(place).target;
      const bool is_of_many = target == operation_target::by_tubes || target == operation_target::by_puts;
      std::vector<std::string> its;
      do {
        its.push_back(left.back());
        left.pop_back();
      } while (is_of_many && !left.empty() && one_in(2));
      batch.push_back({operation_at(place, subject_of(its, before)), {its.begin(), its.end()}});
    }
    return batch;
  }
  std::vector<asked_operation> looks(const job_table& before) {
    std::vector<asked_operation> batch;
    for (int n = below(12); n > 0; --n) {
      const subject its = subject_of({tubes[random_.below(tubes.size())]}, before);
      batch.push_back({operation_at(any_place(operation_effect::looks), its), {}});
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
        answers.push_back(here.execute(its.operations[i], now_));
        if (here.was_elsewhere) shown.elsewhere.push_back(i);
      }
    }
    if (here.does != behaviour::answers) {
      return routed.take_refusal(database, its, here.does == behaviour::answer_is_lost, "no answer");
    }
    if (here.version != read_versions_[static_cast<std::size_t>(database)]) newer.insert(database);
    routed.take(database, its, answers, shown);
  }

  /// Unless this is a pause: whether each place of its tube is paused.
  bool is_paused(const operation& what) {
    const auto* const pausing = std::get_if<pause>(&what);
    if (pausing == nullptr || pausing->length == milliseconds(0)) return true;
    const tube_place& place = places_.at(pausing->tube);
    const auto is_paused_at = [&](int number) { return !at(number).paused_until(pausing->tube, now_).is_never(); };
    return is_paused_at(place.database) && (!place.before || is_paused_at(*place.before));
  }

  random_stream random_;
  const bool is_misled_;
  moment now_{utc_time(std::chrono::hours(1)), instant::from_nanoseconds(1'000'000'000)};
  std::map<std::string, tube_place> places_;
  tube_map truth_;
  tube_map known_;
  std::vector<model_database> all_;
  std::vector<std::int64_t> read_versions_ = std::vector<std::int64_t>(database_count, 1);
  bool has_moved_ = false;  // a job, in the present step
  std::string wrong_;
  std::bitset<operation_count> covered_;
};

/// What goes wrong first in a world with this seed. Adds to the operations that were answered.
std::optional<std::string> first_wrong(std::uint64_t seed, bool is_misled, std::bitset<operation_count>& covered) {
  model_world world(seed, is_misled);
  for (int i = 0; i < 200; ++i) {
    if (const auto wrong = world.step()) return "step " + std::to_string(i) + ": " + *wrong;
  }
  covered |= world.covered();
  return std::nullopt;
}

constexpr std::uint64_t worlds = 100;

TEST(RoutedBatch, AnswersAsOneDatabaseWould) {
  const std::uint64_t first = random_stream::entropy();
  std::bitset<operation_count> covered;
  for (std::uint64_t i = 0; i < worlds; ++i) {
    const auto wrong = first_wrong(first + i, false, covered);
    ASSERT_FALSE(wrong) << "seed " << first + i << ": " << *wrong;
  }
  for (std::size_t i = 0; i < operation_count; ++i) EXPECT_TRUE(covered[i]) << table::operations.at(i).name;
}

// The canary: with the places of a tube in the wrong order, a key is given twice.
TEST(RoutedBatch, APlanThatLooksInTheWrongOrderIsFoundOut) {
  const std::uint64_t first = random_stream::entropy();
  std::bitset<operation_count> covered;
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < worlds; ++i) found += first_wrong(first + i, true, covered) ? 1U : 0U;
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
  EXPECT_TRUE(std::ranges::equal(round.at(0).operations, whole));
  EXPECT_EQ(round.at(0).operations.data(), batch.data()) << "it executes the operations of the caller";
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

TEST(RoutedBatch, EachOperationIsBackOnceItsShareWasTakenOrRefused) {
  std::vector<operation> batch{put{.tube = "a", .body = std::string(100, 'x')}, cancel{job_key{"b", "key"}},
                               claim{.tubes = {"a", "b"}, .count = 2}, count_all{}};
  const std::vector<operation> whole = batch;
  const tube_map map{{{1, "db1"}}, {{"b", {1}}}};
  routed_batch routed(batch, std::make_shared<const tube_map>(map), 0);
  auto round = routed.next_round();
  ASSERT_EQ(round.size(), 2U);
  EXPECT_EQ(round.at(0).of, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(round.at(1).of, (std::vector<std::size_t>{1, 3}));
  std::vector<answer> answers{passed_over_answer{}, claim_answer{}, count_answer{}};
  routed.take(0, round.at(0), answers, {.elsewhere = {0}});
  routed.take_refusal(1, round.at(1), false, "no answer");
  EXPECT_EQ(batch, whole);
  for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(&routed.at(i), &batch[i]);
  routed.go_on();
  ASSERT_TRUE(routed.has_unplaced());
  round = routed.next_round();
  ASSERT_EQ(round.size(), 1U);
  EXPECT_EQ(round.at(1).operations.front(), operation(claim{.tubes = {"b"}, .count = 2}));
  routed.take_refusal(1, round.at(1), false, "no answer");
  EXPECT_EQ(batch, whole);
  routed.go_on();
  routed.begin_again(std::make_shared<const tube_map>(tube_map{{{1, "db1"}}, {{"a", {1}}, {"b", {1}}}}));
  round = routed.next_round();
  ASSERT_EQ(round.size(), 1U);
  EXPECT_EQ(round.at(1).operations.front(), whole.front());
}

}  // namespace
}  // namespace foliot::jobs::detail

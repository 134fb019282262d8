#include "routed_operation.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/operation_parts.hpp"

namespace foliot::jobs::detail {

namespace {

database_set all_of(const tube_map& map) {
  database_set all{0};
  for (const auto& [number, connection] : map.databases()) all.add(number);
  return all;
}

/// The oldest place first.
route route_of(const std::string& tube, const tube_map& map) {
  const tube_place place = map.place_of(tube);
  if (place.before) return {{*place.before, place.database}, *place.before};
  return {{place.database}, place.database};
}

/// The newest place first if the put has no key and may happen again, as nothing in the older one could have it.
route route_of(const put& what, const tube_map& map) {
  route made = route_of(what.tube, map);
  if (what.key.empty() && what.once.empty() && made.databases.size() > 1) made.begin = map.place_of(what.tube).database;
  return made;
}

/// The databases of all its tubes, if they are the same ones. No database if a transaction cannot put all of the jobs:
/// if the tubes are in several, or if some of them move and the others do not.
route route_of(const put_all& what, const tube_map& map) {
  if (what.puts.empty()) return {{0}, 0};  // validate() refuses it
  const tube_place first = map.place_of(what.puts.front().tube);
  bool looks_before = false;  // for a job with a key, or the record of the put_all, where a tube was
  bool moves_as_one = true;
  for (const put& each : what.puts) {
    const tube_place place = map.place_of(each.tube);
    if (place.database != first.database) return {{}, first.database};
    moves_as_one = moves_as_one && place == first;
    looks_before = looks_before || (place.before && (!each.key.empty() || !what.once.empty()));
  }
  if (!looks_before) return {{first.database}, first.database};
  if (!moves_as_one) return {{}, first.database};
  return {{*first.before, first.database}, *first.before};
}

/// The tubes of the puts, by their databases.
std::vector<std::vector<std::string>> tubes_by_database(const put_all& what, const tube_map& map) {
  std::map<int, std::set<std::string>> all;
  for (const put& each : what.puts) all[map.place_of(each.tube).database].insert(each.tube);
  std::vector<std::vector<std::string>> lists;
  for (const auto& [database, tubes] : all) lists.emplace_back(tubes.begin(), tubes.end());
  return lists;
}

/// All databases, the one that has probably given the id first.
route route_of(job_id id, const tube_map& map) {
  const database_set all = all_of(map);
  const int guess = static_cast<int>(id % most_databases);
  return {all, all.contains(guess) ? guess : 0};
}

route route_of(const job_name& name, const tube_map& map) {
  if (const job_id* const id = std::get_if<job_id>(&name)) return route_of(*id, map);
  return route_of(std::get<job_key>(name).tube, map);
}

route route_of(const claim& what, const tube_map& map, std::size_t first) {
  database_set all;
  for (const std::string& tube : what.tubes) {
    for (const int each : route_of(tube, map).databases) all.add(each);
  }
  if (all.empty()) return {{0}, 0};  // validate() refuses it, and so does the database
  // Twins of one that happens once begin at the same database, so that the second one finds there what the first has
  // got.
  if (!what.once.empty()) return {all, *all.begin()};
  return {all, *std::next(all.begin(), static_cast<std::ptrdiff_t>(first % all.size()))};
}

/// What makes the operation happen once; null: nothing.
const once* once_of(const operation& it) {
  return std::visit(
      [](const auto& what) -> const once* {
        if constexpr (requires { what.once.empty(); }) {
          return what.once.empty() ? nullptr : &what.once;
        } else {
          return nullptr;
        }
      },
      it);
}

/// The databases of which each may have a record of the operation, while another one might execute it anew: those of a
/// claim, if there are several; and those of a put_all that no database can execute any more, since one of its tubes
/// has moved. Any other operation is sent where its record is.
database_set databases_to_ask(const operation& it, const route& its, const tube_map& map) {
  if (once_of(it) == nullptr) return {};
  if (std::holds_alternative<claim>(it)) return its.databases.size() > 1 ? its.databases : database_set{};
  const auto* const all = std::get_if<put_all>(&it);
  if (all == nullptr || !its.databases.empty()) return {};
  database_set asked;
  for (const put& each : all->puts) {
    for (const int database : route_of(each.tube, map).databases) asked.add(database);
  }
  return asked;
}

/// The operation, so that the database only looks for its record (sql/once.sql).
operation look_for_record(const operation& it) {
  const once* const its = once_of(it);
  const once looks(its->key(), its->request(), milliseconds(0));
  if (const auto* const claiming = std::get_if<claim>(&it)) {
    return claim{.tubes = {}, .count = claiming->count, .once = looks};
  }
  put_all all{.puts = {}, .once = looks};
  for (const put& each : std::get<put_all>(it).puts) all.puts.push_back({.tube = each.tube, .body = ""});
  return all;
}

/// Whether the answer comes from a record.
bool is_from_record(const answer& got) {
  return std::visit(
      [](const auto& it) {
        using type = std::remove_cvref_t<decltype(it)>;
        if constexpr (std::is_same_v<type, put_all_answer> || std::is_same_v<type, claim_answer>) {
          return it.is_replayed || it.what == type::kind::other_request;
        } else {
          return false;
        }
      },
      got);
}

/// Whether the answer repeats a claim of which no reservation is left.
bool has_ended(const answer& got) {
  const auto* const claimed = std::get_if<claim_answer>(&got);
  return claimed != nullptr && claimed->is_replayed && claimed->jobs.empty();
}

route route_of(const operation& it, const tube_map& map, std::size_t first) {
  return std::visit(
      [&]<class Operation>(const Operation& what) -> route {
        using enum operation_target;
        constexpr operation_target target = facts_of<Operation>().target;
        if constexpr (std::is_same_v<Operation, put> || target == by_puts) {
          return route_of(what, map);
        } else if constexpr (target == by_tube) {
          return route_of(what.tube, map);
        } else if constexpr (target == by_tubes) {
          return route_of(what, map, first);
        } else if constexpr (target == by_store) {
          if constexpr (requires { what.tube; }) {
            if (!what.tube.empty()) return route_of(what.tube, map);
          }
          return {all_of(map), 0};
        } else if constexpr (requires { what.name; }) {
          return route_of(what.name, map);
        } else {
          return route_of(job_named_by(it), map);
        }
      },
      it);
}

/// How many jobs the operation asks for; 1 if it names one.
std::uint64_t jobs_wanted_by(const operation& it) {
  return std::visit(
      [](const auto& what) -> std::uint64_t {
        if constexpr (requires { what.count; }) {
          return what.count;
        } else {
          return 1;
        }
      },
      it);
}

/// Whether the database may have jobs of the tube.
bool has_jobs_of(const std::string& tube, int database, const tube_map& map) {
  const tube_place place = map.place_of(tube);
  return place.database == database || place.before == database;
}

bool has_all_tubes_of(const claim& what, int database, const tube_map& map) {
  return std::ranges::all_of(what.tubes, [&](const std::string& tube) { return has_jobs_of(tube, database, map); });
}

/// How many jobs the answer has.
std::uint64_t jobs_in(const answer& got) {
  if (const auto* const claimed = std::get_if<claim_answer>(&got)) return claimed->jobs.size();
  if (const auto* const changed = std::get_if<bulk_answer>(&got)) return changed->changed;
  if (const auto* const shown = std::get_if<peek_answer>(&got)) return shown->job ? 1 : 0;
  return 0;
}

/// Whether a database that gave this answer has the job. One that passed over the operation does not know: the job may
/// be on its way to the next one, or there already.
bool is_found(const answer& got) {
  return std::visit(
      [](const auto& it) {
        using type = std::remove_cvref_t<decltype(it)>;
        if constexpr (std::is_same_v<type, holder_answer>) {
          return it.what != holder_answer::kind::not_held;
        } else if constexpr (std::is_same_v<type, change_answer>) {
          return it.what != change_answer::kind::gone;
        } else if constexpr (std::is_same_v<type, claim_answer>) {
          return !it.jobs.empty() || it.is_replayed || it.what == claim_answer::kind::no_space ||
                 it.what == claim_answer::kind::other_request;
        } else if constexpr (std::is_same_v<type, peek_answer>) {
          return it.job.has_value();
        } else {
          return !std::is_same_v<type, passed_over_answer>;
        }
      },
      got);
}

/// Whether the database has answered, and not executed the operation.
bool is_refusal(const answer& got) {
  return std::holds_alternative<passed_over_answer>(got) || std::holds_alternative<unavailable_answer>(got);
}

/// Both counts together.
count_answer joined(count_answer all, const count_answer& more) {
  all.counts.urgent += more.counts.urgent;
  all.counts.ready += more.counts.ready;
  all.counts.reserved += more.counts.reserved;
  all.counts.delayed += more.counts.delayed;
  all.counts.buried += more.counts.buried;
  if (all.paused_until.is_never() || (!more.paused_until.is_never() && more.paused_until > all.paused_until)) {
    all.paused_until = more.paused_until;
  }
  if (more.what != count_answer::kind::done) all.what = more.what;
  return all;
}

/// Adds an answer of the same kind.
class adder {
 public:
  adder(answer& all, const operation& of) : all_(all), operation_(of) {}

  void operator()(claim_answer& more) {
    auto& all = std::get<claim_answer>(all_);
    std::ranges::move(more.jobs, std::back_inserter(all.jobs));
    if (more.what != claim_answer::kind::done) all.what = more.what;
    all.is_replayed = all.is_replayed || more.is_replayed;
  }
  void operator()(bulk_answer& more) {
    auto& all = std::get<bulk_answer>(all_);
    all.changed += more.changed;
    if (more.what != bulk_answer::kind::done) all.what = more.what;
  }
  void operator()(peek_answer& more) {
    auto& all = std::get<peek_answer>(all_);
    if (!all.job) all = std::move(more);
  }
  void operator()(count_answer& more) {
    auto& all = std::get<count_answer>(all_);
    all = joined(all, more);
  }
  void operator()(tubes_answer& more) {
    const auto& what = std::get<list_tubes>(operation_);
    auto& all = std::get<tubes_answer>(all_);
    tubes_answer both;
    both.next = all.next.empty() || (!more.next.empty() && more.next < all.next) ? more.next : all.next;
    // Both have all tubes up to there. A tube that moves is in both.
    std::ranges::set_union(all.tubes, more.tubes, std::back_inserter(both.tubes));
    if (!both.next.empty()) std::erase_if(both.tubes, [&](const std::string& each) { return each > both.next; });
    if (what.count != 0 && both.tubes.size() >= what.count) {
      both.tubes.resize(what.count);
      both.next = both.tubes.back();
    }
    if (what.with_counts) {
      for (const std::string& each : both.tubes)
        both.counts.push_back(joined(count_in(all, each), count_in(more, each)));
    }
    all = std::move(both);
  }
  void operator()(jobs_answer& more) {
    auto& all = std::get<jobs_answer>(all_);
    jobs_answer both;
    both.now = std::max(all.now, more.now);
    both.next = !all.next || (more.next && *more.next < *all.next) ? more.next : all.next;
    std::ranges::set_union(all.jobs, more.jobs, std::back_inserter(both.jobs), {}, &listed_job::place,
                           &listed_job::place);
    if (both.next) std::erase_if(both.jobs, [&](const listed_job& each) { return each.place > *both.next; });
    if (const std::uint32_t count = std::get<list_jobs>(operation_).count; both.jobs.size() >= count) {
      both.jobs.resize(count);
      both.next = both.jobs.back().place;
    }
    all = std::move(both);
  }
  void operator()(due_answer& more) {
    auto& all = std::get<due_answer>(all_).jobs;
    const auto place = [](const due_job& each) { return std::pair(each.due, each.id); };
    std::vector<due_job> both;  // a job that has moved between the two answers is in both
    std::ranges::set_union(all, more.jobs, std::back_inserter(both), {}, place, place);
    if (both.size() > std::get<list_due>(operation_).count) both.resize(std::get<list_due>(operation_).count);
    all = std::move(both);
  }
  /// A node is known to each database by the same name. The one that hears least of it has the times.
  void operator()(nodes_answer& more) {
    auto& all = std::get<nodes_answer>(all_);
    for (listed_node& each : more.nodes) {
      const auto place = std::ranges::lower_bound(all.nodes, each.name, {}, &listed_node::name);
      if (place == all.nodes.end() || place->name != each.name) {
        all.nodes.insert(place, std::move(each));
      } else {
        place->since = std::max(place->since, each.since);
        place->heard = std::min(place->heard, each.heard);
      }
    }
    if (all.nodes.size() > most_listed_nodes) all.nodes.resize(most_listed_nodes);
    all.now = std::max(all.now, more.now);
  }
  /// What was passed over in one database was in all of them.
  void operator()(passed_over_answer& more) { all_ = more; }
  /// The later one counts.
  void operator()(auto& more) { all_ = std::move(more); }

 private:
  /// What a page says of a tube; nothing is counted if the tube is not on it.
  static count_answer count_in(const tubes_answer& page, const std::string& tube) {
    const auto found = std::ranges::lower_bound(page.tubes, tube);
    if (found == page.tubes.end() || *found != tube) return {};
    return page.counts.at(static_cast<std::size_t>(found - page.tubes.begin()));
  }

  answer& all_;
  const operation& operation_;
};

}  // namespace

routed_operation::routed_operation(operation& what, const tube_map& map, std::size_t first)
    : what_(&what),
      wanted_(jobs_wanted_by(what)),
      first_(first),
      spread_(facts_of(what).spread),
      asks_(once_of(what) != nullptr) {
  follow(map);
  set_next();
}

void routed_operation::set_next() {
  if (asks_) {
    next_ = to_ask_;
    next_.remove(asked_);
    if (!next_.empty()) return;
    asks_ = false;
    asked_ = {};
  }
  next_ = route_.databases;
  next_.remove(asked_);
  if (spread_ != operation_spread::together && !next_.empty()) next_ = {next_.first_from(route_.begin)};
}

bool routed_operation::is_whole_for(int database, const tube_map& map) const {
  if (asks_ || next_ != database_set{database}) return false;
  const auto* const claiming = std::get_if<claim>(what_);
  return claiming == nullptr || has_all_tubes_of(*claiming, database, map);
}

void routed_operation::reduce() {
  if (spread_ != operation_spread::filled || !result_) return;
  const std::uint64_t missing = wanted_ - jobs_in(*result_);
  std::visit(
      [missing](auto& what) {
        if constexpr (requires { what.count; }) what.count = static_cast<decltype(what.count)>(missing);
      },
      *what_);
}

operation routed_operation::share(int database, const tube_map& map) {
  if (asks_) return look_for_record(*what_);
  if (spread_ == operation_spread::together) return *what_;
  reduce();
  if (const auto* const claiming = std::get_if<claim>(what_);
      claiming != nullptr && !has_all_tubes_of(*claiming, database, map)) {
    claim some{.tubes = {},
               .count = claiming->count,
               .bytes = claiming->bytes,
               .once = claiming->once,
               .lasting = claiming->lasting};
    std::ranges::copy_if(claiming->tubes, std::back_inserter(some.tubes),
                         [&](const std::string& tube) { return has_jobs_of(tube, database, map); });
    return some;
  }
  is_out_ = true;
  return std::move(*what_);
}

void routed_operation::take_back(operation&& share) {
  if (std::exchange(is_out_, false)) *what_ = std::move(share);
}

void routed_operation::take(int database, answer&& got, bool sends) {
  asked_.add(database);
  is_elsewhere_ = false;
  sends_ = sends_ || sends;
  if (asks_ && !is_from_record(got) && !is_refusal(got)) return;
  if (!result_ || (spread_ == operation_spread::found && (is_found(got) || !is_refusal(*result_)))) {
    result_ = std::move(got);
  } else if (spread_ == operation_spread::filled && is_refusal(got) && jobs_in(*result_) > 0) {
    return;  // the jobs of the databases before are had
  } else if (!is_refusal(*result_)) {
    std::visit(adder(*result_, *what_), got);
  }
}

void routed_operation::take_elsewhere(int database) {
  asked_.add(database);
  is_elsewhere_ = !asks_;  // one that has only looked for a record has refused nothing
}

void routed_operation::take_refusal(int database, bool is_in_doubt, const std::string& why) {
  asked_.add(database);
  is_elsewhere_ = false;
  if (!refused_ || (is_in_doubt && !refused_->is_in_doubt)) refused_ = unavailable_answer{is_in_doubt, why};
}

void routed_operation::take_doubt(const std::string& why) {
  if (spread_ != operation_spread::taken && !refused_) refused_ = unavailable_answer{false, why};
}

bool routed_operation::is_complete() const {
  switch (spread_) {
    case operation_spread::taken: return !is_elsewhere_;
    // What is in doubt may have happened there: then it is not to happen elsewhere.
    case operation_spread::found: return (result_ && is_found(*result_)) || (refused_ && refused_->is_in_doubt);
    case operation_spread::filled:
      if (!result_) return false;
      if (is_refusal(*result_)) return true;
      if (const auto* const claimed = std::get_if<claim_answer>(&*result_);
          claimed != nullptr && claimed->what != claim_answer::kind::done) {
        return true;
      }
      return jobs_in(*result_) >= wanted_;
    case operation_spread::together: return refused_.has_value();
  }
  return true;
}

void routed_operation::follow(const tube_map& map) {
  route_ = route_of(*what_, map, first_);
  to_ask_ = databases_to_ask(*what_, route_, map);
  no_route_.reset();
  if (!route_.databases.empty()) return;
  had_no_route_ = true;
  put_all_answer several{put_all_answer::kind::several_databases};
  several.tubes = tubes_by_database(std::get<put_all>(*what_), map);
  no_route_ = several.tubes.size() > 1 ? answer(std::move(several)) : answer(passed_over_answer{});
}

void routed_operation::go_on() {
  next_ = {};
  // A database that has not answered may have reservations that have not ended.
  if (asks_ && refused_ && result_ && has_ended(*result_)) result_.reset();
  // If a database does not say whether it has a record, no other one may execute the operation.
  if (asks_ ? result_ || refused_ : is_complete()) return;
  set_next();
  if (next_.empty() && spread_ == operation_spread::found && sends_ && !looks_again_) {
    looks_again_ = true;
    asked_ = {};
    set_next();
  }
}

void routed_operation::begin_again(const tube_map& map) {
  asked_ = {};
  is_elsewhere_ = false;
  had_no_route_ = false;
  asks_ = once_of(*what_) != nullptr;
  follow(map);
  has_new_map_ = true;
  set_next();
}

answer routed_operation::result() {
  const bool was_executed = result_ && !std::holds_alternative<passed_over_answer>(*result_);
  if (no_route_ && !was_executed && !refused_) return *std::move(no_route_);
  const bool is_one = spread_ == operation_spread::taken;
  const bool has_something = result_ && (is_one || is_found(*result_)) &&
                             !(spread_ == operation_spread::filled && std::holds_alternative<bulk_answer>(*result_) &&
                               std::get<bulk_answer>(*result_).changed == 0);
  if (refused_ && (spread_ == operation_spread::together || !has_something)) return std::move(*refused_);
  return result_ ? std::move(*result_) : answer(passed_over_answer{});
}

}  // namespace foliot::jobs::detail

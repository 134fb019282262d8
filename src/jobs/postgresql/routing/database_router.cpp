#include "database_router.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include <foliot/core/clock.hpp>

#include "jobs/execution_news.hpp"
#include "jobs/operation_parts.hpp"
#include "jobs/postgresql/sleep_for.hpp"

namespace foliot::jobs::detail {

namespace {

/// The time between two attempts to reach a database that is down.
constexpr duration between_attempts = std::chrono::milliseconds(250);
/// How long an unplaced put waits for a new map: a tube begins to move in less time.
constexpr duration unplaced_patience = std::chrono::milliseconds(250);
constexpr duration unplaced_pause = std::chrono::milliseconds(5);
/// How often a batch that waits for one database checks the others.
constexpr duration looks_every = std::chrono::milliseconds(50);

/// The reason in the answers of routed_operation::take_doubt().
constexpr const char* old_map =
    "the map of databases has changed, and cannot be read, because the database 0 does not answer";

instant now() noexcept { return monotonic_clock::instance().now(); }

}  // namespace

database_router::database_router(const postgresql_options& options, std::unique_ptr<postgresql_node> first)
    : options_(options), access_(first->access().of_other_databases()) {
  member& one = members_[0];
  if (other_nodes* const news = first->others()) {
    listeners_ = std::make_unique<listener_set>(news->scan_every());
    listeners_->add(0, *news);
    one.is_listened_to = true;
  }
  one.map_version = first->map_seen().version;
  one.is_up = true;
  one.worker = std::make_unique<database_worker>(options, std::move(first));
  read_map();
}

database_router::~database_router() = default;

bool database_router::is_any_up() const {
  return std::ranges::any_of(members_, [](const auto& each) { return each.second.is_up; });
}

std::string database_router::place() const {
  const member& one = members_.at(0);
  if (one.is_tried) static_cast<void>(one.worker->wait());
  return one.worker->node()->place();
}

std::vector<std::string> database_router::places() const {
  std::vector<std::string> all;
  for (const auto& [number, one] : members_) {
    if (one.is_tried) static_cast<void>(one.worker->wait());
    if (const postgresql_node* const node = one.worker->node()) all.push_back(node->place());
  }
  return all;
}

bool database_router::is_due(const next_change& what) const {
  const instant time = options_.clocks ? options_.clocks->monotonic->now() : now();
  const utc_time wall = options_.clocks
                            ? options_.clocks->utc()
                            : std::chrono::floor<milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
  return what.due <= wall || what.expiry <= time;
}

execution database_router::execute(std::span<operation> batch) {
  batch_state state;
  if (members_.size() == 1) {
    give_back_left_over();
    execution done = first().execute(batch);
    if (first().map_seen().version == members_.at(0).map_version) {
      keep_left_over(batch, done.answers);
      execution aside = std::exchange(aside_, {});
      add_news(done, aside);
      return done;
    }
    begin(batch, state);
    static_cast<void>(add_operations(state));
    share all = std::exchange(state.shares, {})[0];
    take(0, all, {.done = std::move(done), .map = first().map_seen(), .next = first().next()}, state);
    go_on(state);
  } else {
    begin(batch, state);
    try_those_that_are_down(state);
    add_due(state);
  }
  const instant until = now() + unplaced_patience;
  do {
    while (add_operations(state)) {
      execute_round(state);
      go_on(state);
    }
  } while (retry_unplaced(state, until));
  end(batch.size(), state);
  return std::move(state.done);
}

void database_router::leave_over(const reservation& token) {
  left_over_.push_back(token);
  left_over_at_ = now() + between_attempts;
}

void database_router::keep_left_over(std::span<const operation> batch, std::vector<answer>& answers) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto* const given_back = std::get_if<abandon>(&batch[i]);
    if (given_back == nullptr || !std::holds_alternative<unavailable_answer>(answers[i])) continue;
    leave_over(given_back->token);
    answers[i] = holder_answer{};
  }
}

void database_router::give_back_left_over() {
  if (left_over_.empty() || left_over_at_ > now()) return;
  const auto most = std::min(left_over_.size(), most_given_back);
  const auto end = left_over_.begin() + static_cast<std::ptrdiff_t>(most);
  std::vector<operation> batch;
  for (auto each = left_over_.begin(); each != end; ++each) batch.emplace_back(abandon{*each});
  left_over_at_ = now() + between_attempts;
  try {
    execution done = first().execute(batch);
    left_over_.erase(left_over_.begin(), end);
    keep_left_over(batch, done.answers);
    add_news(aside_, done);
  } catch (const store_unavailable&) {  // what it is to the batch that follows
  }
}

void database_router::end(std::size_t operations, batch_state& state) {
  const bool is_refused = !state.has_executed && !is_any_up();
  for (std::size_t i = 0; i < state.routed.size(); ++i) {
    answer got = state.routed[i].result();
    const auto* const given_back = std::get_if<abandon>(&state.routed[i].what());
    const bool is_own = i >= operations;
    // If the whole batch is refused, its caller keeps what it gives back.
    if (given_back != nullptr && std::holds_alternative<unavailable_answer>(got) && (is_own || !is_refused)) {
      leave_over(given_back->token);
      got = holder_answer{};
    }
    if (!is_own) state.done.answers.push_back(std::move(got));
  }
  if (!is_refused) {
    execution aside = std::exchange(aside_, {});
    return add_news(state.done, aside);
  }
  if (state.refusal != nullptr) std::rethrow_exception(state.refusal);
  throw store_unavailable(store_unavailable::kind::not_executed, "none of the databases of the map answers");
}

void database_router::begin(std::span<operation> batch, batch_state& state) {
  ++claims_begin_;
  state.routed.reserve(batch.size());
  for (operation& each : batch) state.routed.emplace_back(std::move(each), *map_, claims_begin_);
  if (left_over_.empty() || left_over_at_ > now()) return;
  for (std::size_t i = 0; i < most_given_back && !left_over_.empty(); ++i) {
    state.routed.emplace_back(abandon{left_over_.front()}, *map_, claims_begin_);
    left_over_.pop_front();
  }
}

void database_router::go_on(batch_state& state) {
  read_map_if_changed(state);
  for (routed_operation& each : state.routed) {
    if (each.next().empty()) continue;
    for (const int number : each.next()) {
      if (state.newer.contains(number)) each.take_doubt(old_map);
    }
    each.go_on(*map_);
  }
}

void database_router::try_those_that_are_down(batch_state& state) {
  for (auto& [number, one] : members_) {
    if (one.is_up) continue;
    if (one.is_tried && one.worker->is_idle()) conclude_attempt(number, one, one.worker->take(), state);
    if (!one.is_up && !one.is_tried && one.tries_at <= now()) {
      one.is_tried = true;
      one.worker->begin({});
    }
  }
}

void database_router::conclude_attempt(int number, member& one, share_outcome&& got, batch_state& state) {
  one.is_tried = false;
  if (got.failure == nullptr && listeners_ && !one.is_listened_to) {
    listeners_->add(number, *one.worker->node()->others());
    one.is_listened_to = true;
  }
  share none;
  take(number, none, std::move(got), state);
}

void database_router::add_due(batch_state& state) {
  // A batch without operations is executed for the sake of what is due.
  const bool is_empty = state.routed.empty();
  for (auto& [number, one] : members_) {
    if (one.is_up && (is_due(one.next) || (is_empty && number == 0))) state.shares.try_emplace(number);
  }
}

bool database_router::add_operations(batch_state& state) {
  for (std::size_t i = 0; i < state.routed.size(); ++i) {
    for (const int number : state.routed[i].next()) {
      share& to = state.shares[number];
      to.operations.push_back(state.routed[i].share(number, *map_));
      to.of.push_back(i);
    }
  }
  return !state.shares.empty();
}

void database_router::execute_round(batch_state& state) {
  std::map<int, share> shares = std::exchange(state.shares, {});
  std::set<int> begun;
  for (auto& [number, of] : shares) {
    const auto one = members_.find(number);
    if (one == members_.end() || !one->second.is_up) continue;
    one->second.worker->begin(of.operations);
    begun.insert(number);
  }
  // All of them have ended before one can end this by an exception.
  round_outcome got = wait_for(std::move(begun));
  for (auto& [number, of] : shares) {
    if (const auto outcome = got.shares.find(number); outcome != got.shares.end()) {
      take(number, of, std::move(outcome->second), state);
    } else {
      refuse(number, of, false, "the database " + std::to_string(number) + " does not answer", state);
    }
  }
  conclude_heartbeats(got, state);  // those of a database came after its share
}

database_router::round_outcome database_router::wait_for(std::set<int> awaited) {
  round_outcome got;
  std::set<int> with_heartbeat;
  std::set<int> failed;
  const auto conclude = [&](int number, member& one) {
    share_outcome made = one.worker->take();
    if (made.failure == nullptr) {
      one.next = made.next;
    } else {
      failed.insert(number);
    }
    if (awaited.erase(number) != 0) {
      got.shares[number] = std::move(made);
    } else {
      with_heartbeat.erase(number);
      got.heartbeats.emplace_back(number, std::move(made));
    }
  };
  for (;;) {
    for (auto& [number, one] : members_) {
      if (awaited.contains(number) || with_heartbeat.contains(number)) {
        if (one.worker->is_idle()) conclude(number, one);
      } else if (!awaited.empty() && one.is_up && !failed.contains(number) && is_due(one.next)) {
        one.worker->begin({});
        with_heartbeat.insert(number);
      }
    }
    if (awaited.empty() && with_heartbeat.empty()) return got;
    members_.at(awaited.empty() ? *with_heartbeat.begin() : *awaited.begin()).worker->wait_until(now() + looks_every);
  }
}

void database_router::conclude_heartbeats(round_outcome& of, batch_state& state) {
  for (auto& [number, heartbeat] : of.heartbeats) {
    share none;
    take(number, none, std::move(heartbeat), state);
  }
}

void database_router::take(int number, share& of, share_outcome&& got, batch_state& state) {
  member& one = members_.at(number);
  if (got.failure != nullptr) {
    try {
      std::rethrow_exception(got.failure);
    } catch (const store_unavailable& error) {
      note_down(number, one, error.what());
      refuse(number, of, error.is_in_doubt(), error.what(), state);
      if (state.refusal == nullptr || error.is_in_doubt()) state.refusal = got.failure;
    }
    return;  // node_name_taken has gone on
  }
  note_up(number, one);
  state.has_executed = true;
  one.next = got.next;
  if (got.map.version != one.map_version) state.newer[number] = got.map.version;
  add_news(state.done, got.done);
  auto elsewhere = got.map.elsewhere.begin();
  for (std::size_t i = 0; i < of.of.size(); ++i) {
    routed_operation& it = state.routed[of.of[i]];
    it.take_back(std::move(of.operations[i]));
    if (elsewhere != got.map.elsewhere.end() && *elsewhere == i) {
      ++elsewhere;
      it.take_elsewhere(number);
    } else {
      it.take(number, std::move(got.done.answers[i]), got.map.sends);
    }
  }
}

void database_router::refuse(int number, share& of, bool is_in_doubt, const std::string& why, batch_state& state) {
  for (const std::size_t each : of.of) state.routed[each].take_refusal(number, is_in_doubt, why);
}

void database_router::note_down(int number, member& one, std::string_view why) {
  one.tries_at = now() + between_attempts;
  if (!std::exchange(one.is_up, false) || !options_.warn) return;
  options_.warn("the database " + std::to_string(number) +
                " of the map does not answer, its tubes are not available: " + std::string(why));
}

void database_router::note_up(int number, member& one) {
  if (std::exchange(one.is_up, true) || !options_.warn) return;
  options_.warn("the database " + std::to_string(number) + " of the map answers again");
}

bool database_router::retry_unplaced(batch_state& state, instant until) {
  const auto is_unplaced = [](const routed_operation& each) { return each.is_unplaced(); };
  if (std::ranges::none_of(state.routed, is_unplaced) || !members_.at(0).is_up || now() >= until) return false;
  sleep_for(unplaced_pause);
  if (!try_to_read_map()) return false;
  for (routed_operation& each : state.routed) {
    if (each.is_unplaced()) each.begin_again(*map_);
  }
  return true;
}

next_change database_router::next() const noexcept {
  if (members_.size() == 1) {
    next_change of_one = first().next();
    if (!left_over_.empty()) of_one.expiry = std::min(of_one.expiry, left_over_at_);
    return of_one;
  }
  next_change next;
  for (const auto& [number, one] : members_) {
    if (one.is_up) {
      next.due = std::min(next.due, one.next.due);
      next.expiry = std::min(next.expiry, one.next.expiry);
    } else {
      next.expiry = std::min(next.expiry, one.is_tried ? now() + between_attempts : one.tries_at);
    }
  }
  if (!left_over_.empty()) next.expiry = std::min(next.expiry, left_over_at_);
  return next;
}

postgresql_node& database_router::reach(member& one) {
  if (!one.is_up) {
    // An attempt that has succeeded may have brought news: they are for the next batch.
    if (one.is_tried && one.worker->wait() != nullptr) {
      static_cast<void>(one.worker->take());
      one.is_tried = false;
    }
    if (!std::exchange(one.is_tried, true)) one.worker->begin({});
    if (const std::exception_ptr failure = one.worker->wait()) std::rethrow_exception(failure);
  }
  return *one.worker->node();
}

check_result database_router::check_member(int number, member& one) {
  const std::string name = "the database " + std::to_string(number) + " of the map";
  try {
    postgresql_node& node = reach(one);
    const check_result found = node.check();
    if (!found) return std::unexpected("in " + name + ", " + node.place() + ": " + found.error());
    return {};
  } catch (const store_unavailable& error) {
    throw store_unavailable(store_unavailable::kind::not_executed, name + " was not checked: " + error.what());
  }
}

check_result database_router::check() {
  if (members_.size() == 1) return first().check();
  for (auto& [number, one] : members_) {
    check_result found = check_member(number, one);
    if (!found) return found;
  }
  return {};
}

void database_router::close() {
  if (members_.size() == 1) return first().close();
  // Side by side, as one that does not answer takes some seconds.
  for (auto& [number, one] : members_) {
    if (std::exchange(one.is_tried, false)) static_cast<void>(one.worker->take());
    one.worker->begin_to_close();
  }
  std::exception_ptr failure;
  for (auto& [number, one] : members_) {
    if (share_outcome made = one.worker->take(); made.failure != nullptr) failure = std::move(made.failure);
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace foliot::jobs::detail

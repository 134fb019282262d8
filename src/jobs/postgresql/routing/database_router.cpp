#include "database_router.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <foliot/core/clock.hpp>

#include "jobs/operation_parts.hpp"
#include "jobs/postgresql/schema.hpp"
#include "jobs/postgresql/sleep_for.hpp"

namespace foliot::jobs::detail {

namespace {

/// The time between two attempts to reach a database that is down.
constexpr duration between_attempts = std::chrono::milliseconds(250);
/// How often, after which pause, and for how long an unplaced put begins again: a tube begins to move in less time. The
/// count is for clocks that a test gives.
constexpr int attempts_to_place = 50;
constexpr duration unplaced_pause = std::chrono::milliseconds(5);
constexpr duration unplaced_patience = std::chrono::milliseconds(250);
/// How often a batch that waits for one database checks the others.
constexpr duration looks_every = std::chrono::milliseconds(50);

/// The name of this database in messages.
std::string name_of(int number) { return "the database " + std::to_string(number) + " of the map"; }

/// The reason in the answers of routed_operation::take_doubt().
constexpr const char* old_map =
    "the map of databases has changed, and cannot be read, because the database 0 does not answer";

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Whether a later batch may succeed.
bool is_unavailability(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const store_unavailable&) {
    return true;
  } catch (...) {
    return false;
  }
}

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
  one.is_up = one.was_up = true;
  one.worker = std::make_unique<database_worker>(options, std::move(first));
  read_map();
  report_outages();
}

database_router::~database_router() = default;

bool database_router::is_any_up() const {
  return std::ranges::any_of(members_, [](const auto& each) { return each.second.is_up; });
}

void database_router::await_attempt(const member& one) {
  if (one.is_tried) static_cast<void>(one.worker->wait());
}

std::string database_router::place() const {
  const member& one = members_.at(0);
  await_attempt(one);
  return one.worker->node()->place();
}

std::vector<std::string> database_router::places() const {
  std::vector<std::string> all;
  for (const auto& [number, one] : members_) {
    await_attempt(one);
    if (const postgresql_node* const node = one.worker->node()) all.push_back(node->place());
  }
  return all;
}

instant database_router::now() const noexcept {
  return options_.clocks ? options_.clocks->monotonic->now() : monotonic_clock::instance().now();
}

bool database_router::is_due(const next_change& what) const {
  const utc_time wall = options_.clocks
                            ? options_.clocks->utc()
                            : std::chrono::floor<milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
  return what.due <= wall || what.expiry <= now();
}

execution database_router::execute(std::span<operation> batch) {
  repeat_releases();
  return execute_batch(batch);
}

execution database_router::execute_batch(std::span<operation> batch) {
  batch_state state;
  routed_batch routed(batch, map_, ++claims_begin_);
  try_those_that_are_down(state);
  execute_rounds(routed, state);
  report_outages();
  // If the whole batch is refused, its caller keeps what it gives back.
  if (!state.has_executed && !is_any_up()) throw_refusal(state);
  state.done.answers = routed.answers();
  retain_releases(routed, state.done.answers);
  if (!left_over_.empty()) forget_repeated(state.done.answers);
  execution aside = std::exchange(aside_, {});
  add_news(state.done, aside);
  state.done.has_room = std::ranges::all_of(members_, [](const auto& each) { return each.second.has_room; });
  return std::move(state.done);
}

void database_router::execute_rounds(routed_batch& batch, batch_state& state) {
  routed_batch::round shares = batch.next_round();
  add_due(batch.is_empty(), shares, state);
  int attempts = attempts_to_place;
  const instant until = monotonic_clock::instance().now() + unplaced_patience;
  for (;;) {
    for (; !shares.empty(); shares = batch.next_round()) {
      execute_round(batch, shares, state);
      read_map_if_changed(batch, state);
      for (const auto& [number, version] : state.newer) batch.take_doubt(number, old_map);
      batch.go_on();
    }
    if (attempts-- == 0 || monotonic_clock::instance().now() >= until || !retry_unplaced(batch)) return;
    shares = batch.next_round();
  }
}

void database_router::throw_refusal(const batch_state& state) const {
  if (state.in_doubt != nullptr) std::rethrow_exception(state.in_doubt);
  for (const auto& [number, one] : members_) {
    if (one.failure != nullptr && is_unavailability(one.failure)) std::rethrow_exception(one.failure);
  }
  std::rethrow_exception(members_.at(0).failure);
}

void database_router::retain_releases(const routed_batch& batch, std::vector<answer>& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!std::holds_alternative<unavailable_answer>(answers[i])) continue;
    const auto* const given_back = std::get_if<abandon>(&batch.at(i));
    if (given_back == nullptr) continue;
    left_over_.push_back(given_back->token);
    left_over_at_ = now() + between_attempts;
    answers[i] = holder_answer{};
  }
}

void database_router::forget_repeated(std::span<const answer> answers) {
  for (const answer& each : answers) {
    const auto* const claimed = std::get_if<claim_answer>(&each);
    if (claimed == nullptr || !claimed->is_replayed) continue;
    for (const claimed_job& one : claimed->jobs) std::erase(left_over_, one.token);
  }
}

void database_router::repeat_releases() {
  if (left_over_.empty() || left_over_at_ > now() || !is_any_up()) return;
  const auto most = std::min(left_over_.size(), most_given_back);
  const auto end = left_over_.begin() + static_cast<std::ptrdiff_t>(most);
  const std::vector<reservation> piece(left_over_.begin(), end);
  left_over_.erase(left_over_.begin(), end);
  left_over_at_ = now() + between_attempts;
  std::vector<operation> batch;
  for (const reservation& each : piece) batch.emplace_back(abandon{each});
  try {
    execution done = execute_batch(batch);
    add_news(aside_, done);
  } catch (const store_unavailable&) {  // the batch that follows is refused, too
    left_over_.insert(left_over_.begin(), piece.begin(), piece.end());
  }
}

void database_router::try_those_that_are_down(batch_state& state) {
  // One that was never reached may take the patience of an opening, for which no batch waits.
  const bool none_is_up = !is_any_up();
  for (auto& [number, one] : members_) {
    if (one.is_up) continue;
    const bool is_of_batch = none_is_up && one.was_up;
    if (one.is_tried && (is_of_batch || one.worker->is_idle()))
      conclude_attempt(number, one, one.worker->take(), state);
    if (one.is_up || one.is_tried || is_of_batch || one.tries_at > now()) continue;
    one.is_tried = true;
    one.worker->begin({});
  }
  state.tries_all = none_is_up && !is_any_up();
}

void database_router::conclude_attempt(int number, member& one, share_outcome&& got, batch_state& state) {
  one.is_tried = false;
  static_cast<void>(take(number, got, state));
}

void database_router::add_due(bool is_empty_batch, routed_batch::round& to, const batch_state& state) const {
  for (const auto& [number, one] : members_) {
    // A batch without operations is executed for the sake of what is due.
    const bool has_to = is_due(one.next) || (is_empty_batch && number == 0);
    if ((state.tries_all && one.was_up) || (one.is_up && has_to)) to.try_emplace(number);
  }
}

void database_router::execute_round(routed_batch& batch, routed_batch::round& shares, batch_state& state) {
  const bool tries_all = std::exchange(state.tries_all, false);
  database_set begun;
  for (auto& [number, its] : shares) {
    const auto one = members_.find(number);
    if (one == members_.end() || !(one->second.is_up || (tries_all && one->second.was_up))) continue;
    one->second.worker->begin(its.operations);
    begun.add(number);
  }
  // All of them have ended before one can end this by an exception.
  round_outcome got = wait_for(begun);
  for (auto& [number, its] : shares) {
    const auto outcome = got.shares.find(number);
    if (outcome == got.shares.end()) {
      batch.take_refusal(number, its, false, "the database " + std::to_string(number) + " does not answer");
    } else if (take(number, outcome->second, state)) {
      batch.take(number, its, outcome->second.done.answers, outcome->second.map);
    } else {
      batch.take_refusal(number, its, outcome->second.is_in_doubt(), text_of(outcome->second.failure));
    }
  }
  conclude_heartbeats(got, state);  // those of a database came after its share
}

database_router::round_outcome database_router::wait_for(database_set awaited) {
  round_outcome got;
  database_set with_heartbeat;
  database_set failed;
  const auto conclude = [&](int number, member& one) {
    share_outcome made = one.worker->take();
    if (made.failure == nullptr) {
      one.next = made.next;
      one.is_up = one.was_up = true;  // its heartbeats are due while another one is awaited
    } else {
      failed.add(number);
    }
    if (awaited.contains(number)) {
      awaited.remove({number});
      got.shares.emplace(number, std::move(made));
    } else {
      with_heartbeat.remove({number});
      got.heartbeats.emplace_back(number, std::move(made));
    }
  };
  for (;;) {
    for (auto& [number, one] : members_) {
      if (awaited.contains(number) || with_heartbeat.contains(number)) {
        if (one.worker->is_idle()) conclude(number, one);
      } else if (!awaited.empty() && one.is_up && !failed.contains(number) && is_due(one.next)) {
        one.worker->begin({});
        with_heartbeat.add(number);
      }
    }
    if (awaited.empty() && with_heartbeat.empty()) return got;
    // Until one of these has ended, or it is time to look for heartbeats that are due.
    members_.at(awaited.empty() ? *with_heartbeat.begin() : *awaited.begin())
        .worker->wait_until(monotonic_clock::instance().now() + looks_every);
  }
}

void database_router::conclude_heartbeats(round_outcome& of, batch_state& state) {
  for (auto& [number, heartbeat] : of.heartbeats) static_cast<void>(take(number, heartbeat, state));
}

bool database_router::take(int number, share_outcome& got, batch_state& state) {
  member& one = members_.at(number);
  if (got.failure != nullptr) {
    got.rethrow_unless_down();
    if (got.is_in_doubt()) state.in_doubt = got.failure;
    note_down(one, got.failure);
    return false;
  }
  if (listeners_ && !one.is_listened_to) {
    listeners_->add(number, *one.worker->node()->others());
    one.is_listened_to = true;
  }
  one.is_up = one.was_up = true;
  one.failure = nullptr;
  one.next = got.next;
  one.has_room = got.done.has_room;
  state.has_executed = true;
  if (got.map.version != one.map_version) state.newer[number] = got.map.version;
  add_news(state.done, got.done);
  return true;
}

void database_router::note_down(member& one, std::exception_ptr failure) {
  one.tries_at = now() + between_attempts;
  one.is_up = false;
  one.failure = std::move(failure);
}

void database_router::report_outages() {
  if (!options_.warn || !is_any_up()) return;
  for (auto& [number, one] : members_) {
    if (one.is_up != one.is_reported_down) continue;
    one.is_reported_down = !one.is_up;
    if (one.is_up) {
      options_.warn(name_of(number) + " answers again");
    } else {
      options_.warn(name_of(number) + " does not answer, its tubes are not available: " + text_of(one.failure));
    }
  }
}

bool database_router::retry_unplaced(routed_batch& batch) {
  if (!batch.has_unplaced() || !members_.at(0).is_up) return false;
  sleep_for(unplaced_pause);
  if (!try_to_read_map()) return false;
  batch.begin_again(map_);
  return true;
}

next_change database_router::next() const noexcept {
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
  if (number == 0) return reach(one).check();  // place() names the first database, so its sentences need no number
  const auto not_checked = [number](const std::exception& error) {
    return store_unavailable(store_unavailable::kind::not_executed,
                             name_of(number) + " was not checked: " + error.what());
  };
  try {
    postgresql_node& node = reach(one);
    const check_result found = node.check();
    if (found) return {};
    return std::unexpected("in " + name_of(number) + ", " + node.place() + ": " + found.error());
  } catch (const node_name_taken&) {
    throw;
  } catch (const store_unavailable& error) {
    throw not_checked(error);
  } catch (const store_failure& error) {  // a database that has failed is down as well
    throw not_checked(error);
  }
}

check_result database_router::check() {
  for (auto& [number, one] : members_) {
    check_result found = check_member(number, one);
    if (!found) return found;
  }
  return {};
}

void database_router::close() {
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

void database_router::read_map_if_changed(routed_batch& batch, batch_state& state) {
  if (state.newer.empty() || !try_to_read_map()) return;
  for (const auto& [number, version] : state.newer) {
    if (const auto one = members_.find(number); one != members_.end()) one->second.map_version = version;
  }
  state.newer.clear();
  batch.follow(map_);
}

bool database_router::try_to_read_map() {
  member& one = members_.at(0);
  if (!one.is_up) return false;
  try {
    read_map();
    return true;
  } catch (const node_name_taken&) {
    throw;
  } catch (const store_unavailable&) {
    note_down(one, std::current_exception());
  } catch (const store_failure&) {
    note_down(one, std::current_exception());
  }
  return false;
}

tube_map database_router::map_now() {
  members_.at(0).worker->begin_to_read_map();
  round_outcome got = wait_for({0});
  batch_state between_batches;
  conclude_heartbeats(got, between_batches);
  add_news(aside_, between_batches.done);
  share_outcome& read = got.shares.at(0);
  if (read.failure != nullptr) std::rethrow_exception(read.failure);
  return *std::move(read.map_read);
}

void database_router::read_map() {
  map_ = std::make_shared<const tube_map>(map_now());
  if (listeners_) listeners_->set_map(map_);
  leave_removed();
  for (const auto& [number, connection] : map_->databases()) {
    const auto one = members_.find(number);
    if (one != members_.end() && one->second.worker->database() != connection)
      reach_by(number, one->second, connection);
  }
  open_members();
  choose_threads();
}

void database_router::reach_by(int number, member& one, const std::string& connection) {
  await_attempt(one);
  try {
    one.worker->connect_to(connection);
  } catch (const store_failure& error) {
    if (options_.warn) {
      options_.warn("the new connection string of " + name_of(number) + " is of no use: " + error.what());
    }
  }
}

void database_router::leave_removed() {
  std::erase_if(members_, [this](auto& each) {
    auto& [number, one] = each;
    if (number == 0 || map_->databases().contains(number)) return false;
    if (one.is_tried) static_cast<void>(one.worker->take());
    if (one.is_listened_to) listeners_->remove(number, *one.worker->node()->others());
    try {
      if (one.is_up) one.worker->node()->close();
    } catch (const store_failure&) {  // it has no job that could be given back
    }
    return true;
  });
}

void database_router::open_members() {
  database_set opened;
  for (const auto& [number, connection] : map_->databases()) {
    if (members_.contains(number)) continue;
    postgresql_options its = options_;
    its.database = connection;
    members_[number].worker = std::make_unique<database_worker>(std::move(its), access_);
    opened.add(number);
  }
  if (opened.empty()) return;
  choose_threads();
  for (const int number : opened) members_.at(number).worker->begin({});
  round_outcome got = wait_for(opened);
  batch_state between_batches;
  for (auto& [number, outcome] : got.shares) static_cast<void>(take(number, outcome, between_batches));
  conclude_heartbeats(got, between_batches);
  add_news(aside_, between_batches.done);
}

void database_router::choose_threads() {
  const bool has_threads = members_.size() > 1 && !options_.clocks;
  for (auto& [number, one] : members_) one.worker->use_thread(has_threads);
}

}  // namespace foliot::jobs::detail

// The store that users see, which hands everything to its router.

namespace foliot::jobs {

postgresql_store::postgresql_store(const postgresql_options& options)
    : postgresql_store(std::make_unique<detail::postgresql_node>(options)) {}
postgresql_store::postgresql_store(std::unique_ptr<detail::postgresql_node> first) {
  const postgresql_options options = first->options();
  all_ = std::make_unique<detail::database_router>(options, std::move(first));
}
postgresql_store::~postgresql_store() = default;

execution postgresql_store::execute(std::span<operation> batch) { return all_->execute(batch); }
next_change postgresql_store::next() const noexcept { return all_->next(); }
check_result postgresql_store::check() { return all_->check(); }
void postgresql_store::close() { all_->close(); }
other_nodes* postgresql_store::others() noexcept { return all_->others(); }
std::string postgresql_store::place() const { return all_->place(); }
std::vector<std::string> postgresql_store::places() const { return all_->places(); }

postgresql_store::migration postgresql_store::migrate(const std::string& database) {
  return detail::migrate_schema(database);
}

}  // namespace foliot::jobs

#include "spread.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include <foliot/core/clock.hpp>

namespace foliot::jobs::detail {

namespace {

/// Between two attempts to reach a database that is down.
constexpr duration between_attempts = std::chrono::milliseconds(250);
/// How long a put waits for the map to say which database takes it: a tube begins to move in less.
constexpr duration homeless_patience = std::chrono::milliseconds(250);
constexpr int homeless_pause = 5;  // in ms

instant now() noexcept { return monotonic_clock::instance().now(); }

void add_names(std::vector<std::string>& all, std::vector<std::string>&& more) {
  for (std::string& each : more) {
    if (std::ranges::find(all, each) == all.end()) all.push_back(std::move(each));
  }
}

void add_news(execution& all, execution& more) {
  add_names(all.ready_tubes, std::move(more.ready_tubes));
  add_names(all.emptied_tubes, std::move(more.emptied_tubes));
  all.expired.insert(all.expired.end(), more.expired.begin(), more.expired.end());
}

}  // namespace

spread::spread(const postgresql_options& options, std::unique_ptr<postgresql_engine> first)
    : options_(options), first_(std::move(first)) {
  if (other_nodes* const news = first_->others()) {
    bells_ = std::make_unique<bells>(news->scan_every());
    bells_->add(0, *news);
  }
  map_version_ = first_->map_seen().version;
  read_map();
}

spread::~spread() = default;

bool spread::is_due(const next_change& what) const {
  const instant time = options_.clocks ? options_.clocks->monotonic->now() : now();
  const utc_time wall = options_.clocks
                            ? options_.clocks->utc()
                            : std::chrono::floor<milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
  return what.due <= wall || what.expiry <= time;
}

execution spread::execute(std::span<operation> batch) {
  batch_state state;
  if (members_.empty()) {
    execution done = first_->execute(batch);
    if (first_->map_seen().version == map_version_) return done;
    begin(batch, state);
    static_cast<void>(add_operations(state));
    share all = std::exchange(state.shares, {})[0];
    take(0, all, {.done = std::move(done), .map = first_->map_seen()}, state);
    go_on(state);
  } else {
    begin(batch, state);
    try_those_that_are_down(state);
    add_due(state);
  }
  const instant until = now() + homeless_patience;
  do {
    while (add_operations(state)) {
      execute_round(state);
      go_on(state);
    }
  } while (send_off_homeless(state, until));
  end(batch.size(), state);
  if (!state.has_executed && state.refusal != nullptr) std::rethrow_exception(state.refusal);
  return std::move(state.done);
}

void spread::end(std::size_t operations, batch_state& state) {
  const bool is_refused = !state.has_executed && state.refusal != nullptr;
  for (std::size_t i = 0; i < state.journeys.size(); ++i) {
    answer got = state.journeys[i].result();
    const auto* const given_back = std::get_if<abandon>(&state.journeys[i].what());
    const bool is_own = i >= operations;
    // If the whole batch is refused, its caller keeps what it gives back.
    if (given_back != nullptr && std::holds_alternative<unavailable_answer>(got) && (is_own || !is_refused)) {
      left_over_.push_back(given_back->token);
      left_over_at_ = now() + between_attempts;
      got = holder_answer{};
    }
    if (!is_own) state.done.answers.push_back(std::move(got));
  }
}

void spread::begin(std::span<operation> batch, batch_state& state) {
  ++claims_begin_;
  state.journeys.reserve(batch.size());
  for (operation& each : batch) state.journeys.emplace_back(std::move(each), *map_, claims_begin_);
  if (left_over_.empty() || left_over_at_ > now()) return;
  for (const reservation& each : std::exchange(left_over_, {})) {
    state.journeys.emplace_back(abandon{each}, *map_, claims_begin_);
  }
}

void spread::go_on(batch_state& state) {
  read_map_if_changed(state);
  for (journey& each : state.journeys) {
    if (!each.next().empty()) each.go_on(*map_);
  }
}

void spread::try_those_that_are_down(batch_state& state) {
  for (auto& [number, one] : members_) {
    if (one.is_up) continue;
    if (one.is_tried && one.part->is_idle()) conclude_attempt(number, one, one.part->take(), state);
    if (!one.is_up && !one.is_tried && one.tries_at <= now()) {
      one.is_tried = true;
      one.part->begin({});
    }
  }
}

void spread::conclude_attempt(int number, member& one, share_outcome&& got, batch_state& state) {
  one.is_tried = false;
  one.tries_at = now() + between_attempts;
  if (got.failure == nullptr) {
    one.is_up = true;
    if (bells_ && !one.rings) {
      bells_->add(number, *one.part->engine()->others());
      one.rings = true;
    }
  }
  share none;
  take(number, none, std::move(got), state);
}

void spread::add_due(batch_state& state) {
  // A batch without operations is executed for the sake of what is due.
  if (state.journeys.empty() || is_due(first_->next())) state.shares.try_emplace(0);
  for (auto& [number, one] : members_) {
    if (one.is_up && is_due(one.next)) state.shares.try_emplace(number);
  }
}

bool spread::add_operations(batch_state& state) {
  for (std::size_t i = 0; i < state.journeys.size(); ++i) {
    for (const int number : state.journeys[i].next()) {
      share& to = state.shares[number];
      to.operations.push_back(state.journeys[i].share(number, *map_));
      to.of.push_back(i);
    }
  }
  return !state.shares.empty();
}

share_outcome spread::execute_first(share& of) noexcept {
  share_outcome made;
  try {
    made.done = first_->execute(of.operations);
    made.map = first_->map_seen();
  } catch (...) {
    made.failure = std::current_exception();
  }
  return made;
}

void spread::execute_round(batch_state& state) {
  std::map<int, share> shares = std::exchange(state.shares, {});
  for (auto& [number, of] : shares) {
    const auto one = members_.find(number);
    if (one != members_.end() && one->second.is_up) one->second.part->begin(of.operations);
  }
  // All of them must have ended before one can end this by an exception.
  std::map<int, share_outcome> got;
  if (const auto first = shares.find(0); first != shares.end()) got[0] = execute_first(first->second);
  for (auto& [number, of] : shares) {
    const auto one = members_.find(number);
    if (one != members_.end() && one->second.is_up) got[number] = one->second.part->take();
  }
  for (auto& [number, of] : shares) {
    if (const auto outcome = got.find(number); outcome != got.end()) {
      take(number, of, std::move(outcome->second), state);
    } else {
      refuse(number, of, false, "foliot: the database " + std::to_string(number) + " does not answer", state);
    }
  }
}

void spread::take(int number, share& of, share_outcome&& got, batch_state& state) {
  const auto one = members_.find(number);
  if (got.failure != nullptr) {
    if (one != members_.end()) {
      one->second.is_up = false;
      one->second.tries_at = now() + between_attempts;
    }
    try {
      std::rethrow_exception(got.failure);
    } catch (const store_unavailable& error) {
      refuse(number, of, error.is_in_doubt(), error.what(), state);
      if (state.refusal == nullptr || error.is_in_doubt()) state.refusal = got.failure;
    }
    return;  // a store_failure has gone on
  }
  state.has_executed = true;
  if (one != members_.end()) one->second.next = got.next;
  const std::int64_t known = one == members_.end() ? map_version_ : one->second.map_version;
  if (got.map.version != known) state.newer[number] = got.map.version;
  add_news(state.done, got.done);
  auto elsewhere = got.map.elsewhere.begin();
  for (std::size_t i = 0; i < of.of.size(); ++i) {
    journey& it = state.journeys[of.of[i]];
    it.take_back(std::move(of.operations[i]));
    if (elsewhere != got.map.elsewhere.end() && *elsewhere == i) {
      ++elsewhere;
      it.take_elsewhere(number);
    } else {
      it.take(number, std::move(got.done.answers[i]), got.map.sends);
    }
  }
}

void spread::refuse(int number, share& of, bool is_in_doubt, const std::string& why, batch_state& state) {
  for (const std::size_t each : of.of) state.journeys[each].take_refusal(number, is_in_doubt, why);
}

void spread::read_map_if_changed(batch_state& state) {
  if (state.newer.empty()) return;
  try {
    read_map();
  } catch (const store_unavailable&) {
    return;
  }
  for (const auto& [number, version] : state.newer) {
    if (number == 0) {
      map_version_ = version;
    } else if (const auto one = members_.find(number); one != members_.end()) {
      one->second.map_version = version;
    }
  }
  state.newer.clear();
}

void spread::read_map() {
  map_ = std::make_shared<const tube_map>(first_->read_map());
  if (bells_) bells_->set_map(map_);
  for (const auto& [number, connection] : map_->databases()) {
    if (!members_.contains(number)) open_member(number, connection);
  }
}

void spread::open_member(int number, const std::string& connection) {
  postgresql_options its = options_;
  its.database = connection;
  member& one = members_[number];
  one.part = std::make_unique<database_part>(std::move(its));
  one.part->begin({});
  batch_state none;
  conclude_attempt(number, one, one.part->take(), none);
  if (!one.is_up && options_.warn) {
    options_.warn("the database " + std::to_string(number) +
                  " of the map does not answer: its tubes are not available");
  }
}

bool spread::send_off_homeless(batch_state& state, instant until) {
  const auto is_homeless = [](const journey& each) { return each.is_homeless(); };
  if (std::ranges::none_of(state.journeys, is_homeless) || now() >= until) return false;
  static_cast<void>(::poll(nullptr, 0, homeless_pause));
  try {
    read_map();
  } catch (const store_unavailable&) {
    return false;
  }
  for (journey& each : state.journeys) {
    if (each.is_homeless()) each.begin_again(*map_);
  }
  return true;
}

next_change spread::next() const noexcept {
  next_change next = first_->next();
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

postgresql_engine& spread::reach(member& one) {
  if (!one.is_up) {
    // An attempt that has succeeded may have brought news: they are for the next batch.
    if (one.is_tried && one.part->wait() != nullptr) {
      static_cast<void>(one.part->take());
      one.is_tried = false;
    }
    if (!std::exchange(one.is_tried, true)) one.part->begin({});
    if (const std::exception_ptr failure = one.part->wait()) std::rethrow_exception(failure);
  }
  return *one.part->engine();
}

check_result spread::check_member(int number, member& one) {
  const std::string name = "the database " + std::to_string(number) + " of the map";
  try {
    postgresql_engine& engine = reach(one);
    const check_result found = engine.check();
    if (!found) return std::unexpected("in " + name + ", " + engine.place() + ": " + found.error());
    return {};
  } catch (const store_unavailable& error) {
    std::string_view why = error.what();
    if (constexpr std::string_view begin = "foliot: "; why.starts_with(begin)) why.remove_prefix(begin.size());
    throw store_unavailable(store_unavailable::kind::not_executed,
                            "foliot: " + name + " was not checked: " + std::string(why));
  }
}

check_result spread::check() {
  check_result found = first_->check();
  for (auto& [number, one] : members_) {
    if (!found) break;
    found = check_member(number, one);
  }
  return found;
}

void spread::close() {
  std::exception_ptr failure;
  const auto try_to_close = [&](postgresql_engine* engine) {
    try {
      if (engine != nullptr) engine->close();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  try_to_close(first_.get());
  for (auto& [number, one] : members_) {
    if (one.is_tried) static_cast<void>(one.part->take());
    one.is_tried = false;
    try_to_close(one.part->engine());
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace foliot::jobs::detail

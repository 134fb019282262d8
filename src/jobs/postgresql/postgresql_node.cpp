#include "postgresql_node.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/random.hpp>

#include "jobs/operation_parts.hpp"
#include "lasting.hpp"
#include "sleep_for.hpp"
#include "sql_connection.hpp"
#include "sql_constants.hpp"

namespace foliot::jobs::detail {

namespace {

using turn_taking = batch_frame::turn_taking;

/// How long the first statements of a connection may take.
constexpr duration begin_patience = std::chrono::seconds(2);
/// The least time to wait for an answer, because a server may be busy.
constexpr duration least_patience = std::chrono::seconds(3);
/// The first pause between two attempts of one batch.
constexpr duration first_pause = std::chrono::milliseconds(5);
/// How often a refused batch is tried as a whole before it is divided: some errors pass by themselves.
constexpr int attempts_of_whole = 2;
/// The time between two attempts at something that a database refuses.
constexpr duration tries_again_after = std::chrono::seconds(1);
/// The shortest and the longest pause between two turns of sql/rotation.sql: a turn that does not get its locks doubles
/// the pause.
constexpr duration rotates_every = std::chrono::seconds(1);
constexpr duration rotates_at_least_every = std::chrono::seconds(30);
/// How long the server may take to see by itself that a connection is lost, and how long until its process has ended.
/// Not longer than the time between two heartbeats, or the others would take the node for dead.
constexpr duration sight_patience = std::chrono::milliseconds(500);
constexpr duration end_patience = std::chrono::seconds(10);
/// The pauses between two looks at that process: the first one, which doubles, and the longest one.
constexpr duration first_look = std::chrono::milliseconds(1);
constexpr duration last_look = std::chrono::milliseconds(50);
/// How many reservations end in one batch.
constexpr auto ends_at_once = static_cast<std::size_t>(sql_constants::most_at_once);
/// The longest pause between two attempts of one batch.
constexpr duration longest_pause = std::chrono::milliseconds(100);
/// For so long a put that had no room says that the next one would have none either.
constexpr duration remembers_lack_of_room = std::chrono::seconds(30);
/// The SQLSTATE of an error because a disk is full: see sql/ballast.sql.
constexpr const char* disk_full = "53100";
/// How long the connection for notifications may be missing while the connection for jobs works. After an outage both
/// are made again, but not at the same instant.
constexpr duration news_patience = std::chrono::seconds(3);

std::string in_seconds(duration length) {
  std::array<char, 32> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(length.count()) / 1e9));
  return text.data();
}

[[noreturn]] void fail(const std::string& text) { throw store_failure(text); }

std::int64_t random_number() { return static_cast<std::int64_t>(random_stream::entropy() >> 1); }

}  // namespace

postgresql_node::postgresql_node(const postgresql_options& options, exchange_step at_step)
    : postgresql_node(options, std::make_shared<sql_access>(std::move(at_step))) {}

postgresql_node::postgresql_node(const postgresql_options& options, std::shared_ptr<database_access> access)
    : options_(options),
      access_(std::move(access)),
      process_(random_number()),
      target_(options.database),
      rotations_(rotates_every, rotates_at_least_every),
      pause_(first_pause) {
  if (options.node.empty() || options.node.size() > longest_node_name || options.node.find('\0') != std::string::npos) {
    throw std::invalid_argument("foliot: the name of a node must have 1 to " + std::to_string(longest_node_name) +
                                " bytes, none of them zero; got " + std::to_string(options.node.size()));
  }
  if (options.node_timeout < std::chrono::seconds(1) || options.node_timeout > std::chrono::days(1)) {
    throw std::invalid_argument("foliot: node_timeout must be from one second to one day");
  }
  if (options.give_up_after <= milliseconds(0) || options.scan_every <= milliseconds(0)) {
    throw std::invalid_argument("foliot: give_up_after and scan_every must be positive");
  }
  try {
    static_cast<void>(execute({}));
  } catch (const store_unavailable& error) {
    throw store_failure(error.what());
  }
  if (!options_.clocks) listener_ = access_->listen(options_.database, duration(options_.scan_every));
}

postgresql_node::~postgresql_node() {
  try {
    close();
  } catch (...) {  // the registration ends when the node has been silent for its timeout
  }
}

void postgresql_node::warn(std::string_view sentence) const {
  if (options_.warn) options_.warn(sentence);
}

instant postgresql_node::patience() const {
  const duration half = duration(options_.give_up_after) / 2;
  return monotonic_clock::instance().now() + std::max(half, least_patience);
}

const clock& postgresql_node::steady() const noexcept {
  return options_.clocks ? *options_.clocks->monotonic : monotonic_clock::instance();
}

std::optional<std::vector<std::int64_t>> postgresql_node::given_time() const {
  if (!options_.clocks) return std::nullopt;
  const auto wall = options_.clocks->wall_time();
  return std::vector<std::int64_t>{std::chrono::floor<milliseconds>(wall).time_since_epoch().count(),
                                   std::chrono::ceil<milliseconds>(wall).time_since_epoch().count(),
                                   options_.clocks->monotonic->now().nanoseconds()};
}

bool postgresql_node::is_connected() {
  if (connection_ != nullptr && connection_->is_replaced()) connection_.reset();
  return connection_ != nullptr;
}

void postgresql_node::make_ready() {
  if (!committing_.empty()) connection_.reset();
  if (!is_connected()) {
    const std::string lost = backend_;
    connect();
    const std::string made = std::exchange(backend_, lost);
    end_lost(lost);
    backend_ = made;
    expect_commits();
  }
  if (!registration_.is_there()) announce();
  if (std::exchange(has_moved_, false)) adopt_reservations();
}

void postgresql_node::connect_to(const std::string& database) {
  target_ = target(database);
  if (listener_) listener_->connect_to(target_);
}

void postgresql_node::connect() {
  std::unique_ptr<node_connection> made = access_->connect(target_, options_.warn);
  const bool is_first = origin_.empty();
  const node_connection::description about =
      made->prepare(is_first, monotonic_clock::instance().now() + begin_patience);
  if (is_first && !about.is_durable) {
    warn("the database has fsync = off: a crash of its machine loses what was acknowledged");
  }
  has_moved_ = has_moved_ || (!is_first && origin_ != about.origin);
  origin_ = about.origin;
  opening_ = opening_from(random_number());
  backend_ = about.process;
  connection_ = std::move(made);
  place_ = connection_->place();
  connected_at_ = monotonic_clock::instance().now();
}

void postgresql_node::end_lost(const std::string& backend) {
  if (backend.empty()) return;
  const instant begin = monotonic_clock::instance().now();
  const duration end_within = std::min(end_patience, heartbeat_interval());
  const instant ends_at = begin + std::min(sight_patience, end_within / 2);
  const instant until = begin + end_within;
  for (duration pause = first_look; monotonic_clock::instance().now() < until; pause = std::min(pause * 2, last_look)) {
    const bool terminates = monotonic_clock::instance().now() >= ends_at;
    if (connection_->ends_process(backend, terminates, patience())) return;
    sleep_for(pause);
  }
}

void postgresql_node::announce() {
  const node_connection::announcement who{options_.node, process_, duration(options_.node_timeout),
                                          registration_.last_number()};
  const std::optional<std::int64_t> registration = connection_->announce(who, given_time(), patience());
  connection_->commit(patience());
  if (!registration) {
    throw node_name_taken("another node with the name '" + options_.node + "' was opened in " + place_ +
                          ": this one has lost its jobs. Give each node a name of its own");
  }
  registration_.begin(*registration);
}

void postgresql_node::adopt_reservations() {
  try {
    const auto all = connection_->reservations_of(registration_.number(), given_time(), patience());
    connection_->commit(patience());
    const instant now = steady().now();
    for (const node_connection::held_reservation& each : all) own_.set_in_doubt(each.token, now + each.left);
  } catch (...) {
    has_moved_ = true;
    throw;
  }
}

void postgresql_node::note_registration_ended() noexcept {
  registration_.end();
  in_doubt_.end_registration();
  const auto all = own_.take_those_of_registration();
  lost_.insert(lost_.end(), all.begin(), all.end());
}

batch_frame postgresql_node::frame_for(std::span<const operation> batch, instant now) {
  batch_frame frame;
  frame.registration = registration_.number();
  frame.opening = opening_;
  frame.number = registration_.next_batch();
  frame.time = given_time();
  frame.over = own_.over(now, ends_at_once);
  if (frame.over.size() == ends_at_once) {  // those that the batch names end in any case
    std::vector<reservation> named;
    for (const operation& each : batch) {
      for_each_job_named(each, [&](job_id id) { own_.find_over(id, now, named); });
    }
    for (const reservation& each : named) {
      if (std::ranges::find(frame.over, each) == frame.over.end()) frame.over.push_back(each);
    }
  }
  const instant mode_at = monotonic_clock::instance().now();
  frame.lacks_room = modes_.executes_one_by_one(mode_at);
  frame.passes_over = modes_.passes_over(mode_at);
  frame.sends_heartbeat = !options_.clocks && registration_.next_heartbeat() <= now;
  frame.forget_from = registration_.forgotten_below();
  frame.forget_below = in_doubt_.oldest() == nullptr ? frame.number : in_doubt_.oldest()->number;
  if (!frame.lacks_room) frame.unwanted = in_doubt_.unwanted(ends_at_once);
  return frame;
}

execution postgresql_node::execute(std::span<operation> batch) {
  if (is_closed_) fail("the store in " + place_ + " is closed");
  return execute(batch, attempts_of_whole);
}

execution postgresql_node::execute(std::span<operation> batch, int attempts) {
  const instant begin = monotonic_clock::instance().now();
  const instant until = is_down_ ? begin : begin + duration(options_.give_up_after);
  const bool settles = in_doubt_.begins_to_settle(steady().now());
  const bool has_keys = std::ranges::any_of(batch, [](const operation& each) {
    bool has = false;
    for_each_key(each, [&has](const key_view&) { has = true; });
    return has;
  });
  turn_taking turns = modes_.turns(begin);
  for (;;) {
    try {
      make_ready();
      if (settles) settle_doubts();
      if (!options_.clocks) registration_.begin_heartbeats(steady().now());
      batch_time time;
      time.local = steady().now();
      time.local_utc = options_.clocks
                           ? options_.clocks->utc()
                           : std::chrono::ceil<milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
      batch_frame frame = frame_for(batch, time.local);
      frame.turns = frame.passes_over && turns != turn_taking::end ? turn_taking::ignore : turns;
      batch_plan::outcome got = connection_->execute(batch, frame, time, patience());
      if (got.undone) {
        connection_->roll_back(patience());
        return execute_around(batch, got);
      }
      if (commit(batch, frame, got) == commit_state::not_committed) continue;
      if (frame.sends_heartbeat) {
        registration_.note_heartbeat(frame.forget_below,
                                     time.local + (got.wants_heartbeat ? duration::zero() : heartbeat_interval()));
      }
      conclude(batch, got, frame);
      pause_ = first_pause;
      is_down_ = false;
      note_missing_news();
      // A turn goes by the server's clock, and would take records of another one for ended (sql/once.sql).
      if (!options_.clocks && next_rotation_ <= monotonic_clock::instance().now()) rotate();
      return std::move(got.done);
    } catch (const database_failure& error) {
      if (error.is_state(registration_ended)) note_registration_ended();
      turns = modes_.turns_after(error, turns, has_keys, monotonic_clock::instance().now(), until);
      if (error.is_lack_of_room()) note_lack_of_room(error.what());
      // A database that refuses an operation does answer: the batch is divided however long it has been down before.
      const bool is_refusal = error.is_refusal() && !batch.empty();
      const bool lacks_function = is_refusal && error.is_lack_of_a_function();
      if (error.is_refusal()) note_refusal(error.what(), lacks_function);
      if (is_refusal && (lacks_function || --attempts == 0)) {
        if (connection_ != nullptr && !connection_->goes_on_after(error, patience())) connection_.reset();
        return batch.size() == 1 ? refuse_operation(error.what()) : execute_halves(batch);
      }
      recover(error, is_refusal ? instant::never() : until, store_unavailable::kind::not_executed);
      if (error.is_state(lock_not_available) && connection_ != nullptr) make_tubes_before(batch);
    }
  }
}

void postgresql_node::rotate() noexcept {
  const instant begin = monotonic_clock::instance().now();
  std::int64_t answer = sql_constants::rotation_locked;
  const bool is_done = run_aside("rotate", [&](node_connection& over) { answer = over.rotate(patience()); });
  switch (is_done ? answer : sql_constants::rotation_locked) {
    case sql_constants::rotation_locked: rotations_.note_failure(); break;
    case sql_constants::rotation_early: break;
    case sql_constants::rotation_more: {  // there is more to do, and batches have half of the time
      rotations_.note_success();
      const instant end = monotonic_clock::instance().now();
      next_rotation_ = end + (end - begin);
      return;
    }
    default: rotations_.note_success();
  }
  next_rotation_ = begin + rotations_.pause();
}

void postgresql_node::conclude(std::span<const operation> batch, batch_plan::outcome& what, const batch_frame& frame) {
  std::vector<reservation>& expired = what.done.expired;
  expired = std::exchange(lost_, {});
  for (const reservation& each : frame.over) {
    const auto is_this = [&](const auto& still) { return still.first == each.id; };
    const auto still = std::ranges::find_if(what.still, is_this);
    if (still != what.still.end()) {
      own_.extend(each, still->second);
    } else {
      own_.end(each);
      expired.push_back(each);
    }
  }
  for (const reservation& each : frame.unwanted) own_.end(each);
  in_doubt_.note_given_back(frame.unwanted.size());
  for (std::size_t i = 0; i < batch.size(); ++i) follow(batch[i], what.done.answers[i], what.of_others);
  note_passed_over(what.done.answers);
  note_room(batch, what.done);
  next_ = what.next;
  // A pause that is over stays only for an error.
  const instant now = steady().now();
  if (frame.lacks_room && next_.expiry <= now) next_.expiry = now + tries_again_after;
  map_seen_ = std::move(what.map);
}

void postgresql_node::follow(const operation& of, const answer& got, std::span<const reservation> of_others) {
  for (const claimed_job& each : jobs_claimed_by(got)) {
    if (std::ranges::find(of_others, each.token) == of_others.end()) own_.set(each.token, each.job.expires);
  }
  if (const auto* const holder = std::get_if<holder_answer>(&got)) {
    const reservation token = token_of(of);
    if (std::holds_alternative<touch>(of) && holder->what == holder_answer::kind::done) {
      own_.extend(token, holder->expires);
    } else if (holder->what == holder_answer::kind::done) {
      own_.end(token);
    }
    // If it was not held, it may be over by the server's clock alone: then its end is yet to come.
  }
  for_each_replaced(of, got, [this](const reservation& token) { own_.end(token); });
}

next_change postgresql_node::next() const noexcept {
  next_change next = next_;
  next.expiry = std::min({next.expiry, own_.next(), registration_.next_heartbeat(), in_doubt_.next()});
  return next;
}

tube_map postgresql_node::read_map() {
  const instant until = monotonic_clock::instance().now() + duration(options_.give_up_after);
  for (;;) {
    try {
      make_ready();
      tube_map map = connection_->read_map(patience());
      connection_->commit(patience());
      return map;
    } catch (const database_failure& error) {
      recover(error, until, store_unavailable::kind::not_executed);
    }
  }
}

check_result postgresql_node::check() {
  const instant until = monotonic_clock::instance().now() + duration(options_.give_up_after);
  for (;;) {
    try {
      make_ready();
      std::optional<std::string> wrong = connection_->check_jobs(instant::never());
      connection_->commit(patience());
      if (!wrong) return {};
      return std::unexpected(*std::move(wrong));
    } catch (const database_failure& error) {
      recover(error, until, store_unavailable::kind::not_executed);
    }
  }
}

void postgresql_node::close() {
  if (std::exchange(is_closed_, true) || !registration_.is_there()) return;
  const instant until = monotonic_clock::instance().now() + duration(options_.give_up_after);
  pause_ = first_pause;
  try {
    for (bool is_left = true; is_left;) {
      // One that was lost is made again: the node may have been silent while another server took over. A database that
      // cannot be reached at all is not waited for; it takes the node for dead.
      if (!is_connected()) connect();
      try {
        const bool has_more = connection_->close_registration(registration_.number(), patience());
        commit_at_primary();
        is_left = has_more;
        pause_ = first_pause;
      } catch (const database_failure& error) {
        if (until <= monotonic_clock::instance().now()) throw;
        if (!connection_->goes_on_after(error, patience())) connection_.reset();
        if (connection_ != nullptr && error.is_state(disk_full)) give_up_ballast();
        if (!error.is_conflict()) wait_before_next();
      }
    }
    connection_.reset();
  } catch (const database_failure& error) {
    fail("cannot give back the jobs of the node '" + options_.node + "' in " + place_ + ": " + error.what());
  }
}

std::string postgresql_node::place() const { return place_; }

// Commits, and what becomes of those that are in doubt.

postgresql_node::commit_state postgresql_node::commit(std::span<const operation> batch, const batch_frame& frame,
                                                      const batch_plan::outcome& got) {
  if (!got.partition) {  // if it fails, the batch can be executed again
    commit_at_primary();
    return commit_state::committed;
  }
  const instant until = monotonic_clock::instance().now() + duration(options_.give_up_after);
  bool is_sent = false;
  std::optional<database_failure> refusal;  // the server's answer to the commit, as by a deferred trigger
  for (bool has_failed = false;;) {
    try {
      if (!std::exchange(is_sent, true)) {
        committing_ = std::exchange(backend_, "");  // its end could make the commit less durable
        commit_at_primary();
        backend_ = std::exchange(committing_, "");
        return commit_state::committed;
      }
      if (got.partition == batch_plan::outcome::no_partition) {
        leave_in_doubt(batch, frame, got);
        throw store_unavailable(store_unavailable::kind::in_doubt,
                                "the answer to a commit is lost, and the database " + place_ +
                                    " had no room for what it could be looked up by");
      }
      if (!is_connected()) connect();
      const bool is_committed = has_happened(frame.number, *got.partition);
      committing_.clear();
      if (is_committed) return commit_state::committed;
      if (!refusal) return commit_state::not_committed;
      break;
    } catch (const database_failure& error) {
      if (!std::exchange(has_failed, true) && error.is_refusal()) refusal = error;
      try {
        recover(error, until, store_unavailable::kind::in_doubt);
      } catch (const store_unavailable&) {
        leave_in_doubt(batch, frame, got);
        throw;
      }
    } catch (const store_failure& error) {  // connect() has found another schema, or none
      leave_in_doubt(batch, frame, got);
      throw store_unavailable(store_unavailable::kind::in_doubt, error.what());
    }
  }
  throw database_failure(*refusal);
}

void postgresql_node::commit_at_primary() {
  connection_->commit(patience());
  if (connection_->is_replaced()) {
    throw database_failure("", connection_->place() + " has committed, but another server has replaced it");
  }
}

void postgresql_node::expect_commits() {
  if (committing_.empty()) return;
  if (connection_->waits_for_standby(committing_, patience())) {
    throw database_failure("", "it waits for a standby, without which it commits nothing");
  }
  committing_.clear();
}

bool postgresql_node::has_happened(std::int64_t number, std::int64_t partition) {
  const bool answer = connection_->has_happened(registration_.number(), number, partition, patience());
  commit_at_primary();
  return answer;
}

void postgresql_node::leave_in_doubt(std::span<const operation> batch, const batch_frame& frame,
                                     const batch_plan::outcome& got) {
  commits_in_doubt::doubt made{frame.number, *got.partition, {}, frame.unwanted};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    // The client of one that happens once sends it again, and gets these reservations. If it does not, they end by
    // their TTR. Those of an earlier claim with the same `once` are not in doubt.
    const auto* const claiming = std::get_if<claim>(&batch[i]);
    const bool is_kept = claiming != nullptr && !claiming->once.empty();
    const auto* const got_jobs = std::get_if<claim_answer>(&got.done.answers[i]);
    if (got_jobs != nullptr && got_jobs->is_replayed) continue;
    for (const claimed_job& job : jobs_claimed_by(got.done.answers[i])) {
      own_.set_in_doubt(job.token, job.job.expires);  // it ends then, if nothing was found out before
      if (!is_kept) made.claimed.push_back(job.token);
    }
  }
  if (got.partition != batch_plan::outcome::no_partition) in_doubt_.add(std::move(made), steady().now());
}

void postgresql_node::settle_doubts() {
  while (const commits_in_doubt::doubt* const oldest = in_doubt_.oldest()) {
    try {
      const bool was_committed = has_happened(oldest->number, oldest->partition);
      for (const reservation& each : in_doubt_.settle_oldest(was_committed)) own_.end(each);
    } catch (const database_failure& error) {
      if (!connection_->goes_on_after(error, patience())) throw;
      return in_doubt_.postpone(steady().now());
    }
  }
}

// Locked jobs, turns, a full disk and outages.

void postgresql_node::note_lack_of_room(std::string_view why) {
  if (!modes_.note_lack_of_room(monotonic_clock::instance().now())) return;
  warn("the database " + place_ +
       " has no room: what needs some is refused, and the rest goes on: " + std::string(why));
}

void postgresql_node::note_room(std::span<const operation> batch, execution& done) noexcept {
  const instant now = monotonic_clock::instance().now();
  const auto note = [&](const put_answer& made) {
    using kind = put_answer::kind;
    if (made.what == kind::no_space) room_missing_until_ = now + remembers_lack_of_room;
    if (made.what == kind::inserted && !made.is_replayed) room_missing_until_ = instant::earliest();
  };
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (const auto* const one = std::get_if<put_answer>(&done.answers[i])) note(*one);
    const auto* const all = std::get_if<put_all_answer>(&done.answers[i]);
    if (all == nullptr) continue;
    if (all->what == put_all_answer::kind::refused) note(all->why);
    if (!all->is_replayed) std::ranges::for_each(all->puts, note);
  }
  done.has_room = room_missing_until_ <= now;
}

void postgresql_node::give_up_ballast() noexcept {
  run_aside("give_up_ballast", [this](node_connection& over) { over.give_up_ballast(patience()); });
}

void postgresql_node::make_tubes_before(std::span<const operation> batch) noexcept {
  try {
    std::set<std::string_view> tubes;
    for (const operation& each : batch) {
      for (const put& made : puts_of(each)) tubes.insert(made.tube);
      if (const auto* const made = std::get_if<pause>(&each)) tubes.insert(made->tube);
    }
    if (tubes.size() < 2) return;
    run_aside("make_tubes_before", [&](node_connection& over) { over.make_tubes_before(tubes, patience()); });
  } catch (...) {  // no memory for the names: the batch waits again
  }
}

bool postgresql_node::run_aside(const char* name, const std::function<void(node_connection&)>& what) noexcept {
  try {
    what(*connection_);
    connection_->commit(patience());
    return true;
  } catch (const database_failure& error) {
    note_failure_aside(name, error);
    if (!connection_->goes_on_after(error, patience())) connection_.reset();  // the next batch connects again
  } catch (...) {
    connection_.reset();
  }
  return false;
}

void postgresql_node::note_failure_aside(const char* name, const database_failure& error) noexcept {
  // Conflicts are temporary, and the batches report lost connections and a full disk.
  if (error.is_conflict() || error.state().empty() || error.is_lack_of_room()) return;
  const instant now = monotonic_clock::instance().now();
  if (now < warns_aside_at_) return;
  warns_aside_at_ = now + execution_modes::warns_every;
  try {
    warn("the database " + place_ + " refuses foliot." + name + "(): " + error.what());
  } catch (...) {  // no memory for the sentence
  }
}

void postgresql_node::note_passed_over(const std::vector<answer>& answers) noexcept {
  const auto is_passed_over = [](const answer& each) { return std::holds_alternative<passed_over_answer>(each); };
  if (std::ranges::any_of(answers, is_passed_over)) modes_.note_lock(monotonic_clock::instance().now());
}

void postgresql_node::note_missing_news() {
  if (!listener_) return;
  const std::optional<node_listener::missing_connection> missing = listener_->outage();
  const instant now = monotonic_clock::instance().now();
  if (!missing && news_missing_since_) {
    const duration length = now - *std::exchange(news_missing_since_, std::nullopt);
    warn("the connection for news to the database " + place_ + " is there again, after " + in_seconds(length));
  }
  if (!missing || news_missing_since_) return;
  // What the server refuses since the connection for jobs was made. Of an outage the batches tell.
  if (missing->attempt < connected_at_ || now < std::max(missing->since, connected_at_) + news_patience) return;
  news_missing_since_ = missing->since;
  warn("there has been no connection for news to the database " + place_ + " for " + in_seconds(now - missing->since) +
       ", so clients that wait get the jobs of other nodes later, by up to " + in_seconds(listener_->scan_every()) +
       ". Each session needs two connections: " + missing->why);
}

void postgresql_node::recover(const database_failure& from, instant until, store_unavailable::kind known) {
  const std::string where = place_.empty() ? target_.to_string() : place_;
  if (connection_ != nullptr && !connection_->goes_on_after(from, patience())) connection_.reset();
  if (connection_ != nullptr && from.is_state(disk_full)) give_up_ballast();
  if (monotonic_clock::instance().now() >= until) {
    is_down_ = true;
    // Another host may be the primary by now. Here an earlier batch may wait for a standby that does not come, and keep
    // the row of the node locked.
    if (target_.hosts() > 1) connection_.reset();
    std::string what = " does not answer: ";
    if (from.is_lack_of_room()) what = " has no room: ";
    if (from.is_lack_of_rights()) what = " refuses: ";
    throw store_unavailable(known, "the database " + where + what + from.what());
  }
  if (from.is_conflict() || from.is_state(registration_ended))
    return;  // the registration has ended: the next attempt announces the node
  wait_before_next();
}

void postgresql_node::wait_before_next() noexcept {
  sleep_for(pause_);
  pause_ = std::min(pause_ * 2, longest_pause);
}

// If the database refuses one operation, because a row is damaged or a trigger raises an error, the other operations of
// the batch are executed. First the batch is tried again with the functions of sql/patient.sql, which leave jobs that
// cannot be made ready as they are. If it is refused again, it is divided in halves until the operation is alone. If
// the schema lacks a function, as one of an earlier program does, the batch is divided at once: another attempt would
// find it missing again, and the other operations need no such care.

execution postgresql_node::execute_halves(std::span<operation> batch) {
  return execute_parts(batch, batch.size() / 2, 1);
}

execution postgresql_node::execute_parts(std::span<operation> batch, std::size_t size, int attempts) {
  execution made = execute(batch.first(size), attempts);
  map_state map = std::move(map_seen_);
  try {
    execution rest = execute(batch.subspan(size), attempts);
    std::ranges::move(rest.answers, std::back_inserter(made.answers));
    add_news(made, rest);
    made.has_room = rest.has_room;
    map.version = map_seen_.version;
    map.sends = map.sends || map_seen_.sends;
    for (const std::size_t each : map_seen_.elsewhere) map.elsewhere.push_back(size + each);
  } catch (const store_unavailable& lost) {
    // What has become of the first half is known, and must be told.
    made.answers.resize(batch.size(), unavailable_answer{lost.is_in_doubt(), lost.what()});
  } catch (const store_failure& failure) {  // which the next batch meets as well
    made.answers.resize(batch.size(), unavailable_answer{false, failure.what()});
  }
  map_seen_ = std::move(map);
  return made;
}

// A put_all is a call that puts each of its jobs. If one of them is refused, the transaction is rolled back, because
// the others must not be put. Then the batch is executed in halves, each in a transaction of its own, until the put_all
// is alone: nothing else is rolled back with it, and its refusal is true after what was before it. By halves, several
// such ones are found with O(log n) further executions of the batch for each.

execution postgresql_node::execute_around(std::span<operation> batch, batch_plan::outcome& got) {
  if (batch.size() > 1) {
    got = {};  // the answers of each level would stay until the last one
    return execute_parts(batch, batch.size() / 2, attempts_of_whole);
  }
  note_passed_over(got.done.answers);
  execution made = execute({});
  made.answers = std::move(got.done.answers);
  note_room(batch, made);
  return made;
}

execution postgresql_node::refuse_operation(const std::string& why) {
  execution made = execute({});
  made.answers.emplace_back(unavailable_answer{false, "the database " + place_ + " refuses this operation: " + why});
  return made;
}

void postgresql_node::note_refusal(std::string_view why, bool lacks_function) {
  const instant now = monotonic_clock::instance().now();
  const bool tells = lacks_function ? modes_.note_missing_function(now) : modes_.note_refusal(now);
  if (!tells) return;
  warn("the database " + place_ + " refuses an operation, and the rest goes on: " + std::string(why));
}

}  // namespace foliot::jobs::detail

#include "postgresql_node.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/random.hpp>

#include "jobs/operation_parts.hpp"
#include "sleep_for.hpp"
#include "sql_connection.hpp"
#include "sql_constants.hpp"

namespace foliot::jobs::detail {

namespace {

using turn_taking = batch_frame::turn_taking;

/// How long the first statements of a connection may take.
constexpr duration begin_patience = std::chrono::seconds(2);
/// An answer is waited for at least so long, because a server may be busy.
constexpr duration least_patience = std::chrono::seconds(3);
/// The first pause between two attempts of one batch.
constexpr duration first_pause = std::chrono::milliseconds(5);
/// How often a refused batch is tried as a whole before it is divided: some errors pass by themselves.
constexpr int attempts_of_whole = 2;
/// Between two attempts at what a database refuses.
constexpr duration tries_again_after = std::chrono::seconds(1);
/// Between two turns of sql/rotation.sql; and if they do not get their locks.
constexpr duration rotates_every = std::chrono::seconds(1);
constexpr duration rotates_at_least_every = std::chrono::seconds(30);
/// How long the server may take to see by itself that a connection is lost, and how long until its process has ended.
/// Not longer than the time between two heartbeats, or the others would take the node for dead.
constexpr duration sight_patience = std::chrono::milliseconds(500);
constexpr duration end_patience = std::chrono::seconds(10);
/// Between two looks at that process: the first pause, which doubles, and the longest one.
constexpr duration first_look = std::chrono::milliseconds(1);
constexpr duration last_look = std::chrono::milliseconds(50);
/// How many reservations end in one batch.
constexpr auto ends_at_once = static_cast<std::size_t>(sql_constants::most_at_once);

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
  if (registration_ == 0) announce();
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
  opening_ = random_number();
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
                                          registration_before_};
  const std::optional<std::int64_t> registration = connection_->announce(who, given_time(), patience());
  connection_->commit(patience());
  if (!registration) {
    throw node_name_taken("another node with the name '" + options_.node + "' was opened in " + place_ +
                          ": this one has lost its jobs. Give each node a name of its own");
  }
  registration_ = *registration;
  registration_before_ = registration_;
  number_ = 0;
  forgotten_below_ = 0;
}

void postgresql_node::adopt_reservations() {
  try {
    const auto all = connection_->reservations_of(registration_, given_time(), patience());
    connection_->commit(patience());
    const instant now = steady().now();
    for (const node_connection::held_reservation& each : all) own_.set_in_doubt(each.token, now + each.left);
  } catch (...) {
    has_moved_ = true;
    throw;
  }
}

void postgresql_node::note_registration_ended() noexcept {
  registration_ = 0;
  doubts_.clear();
  unwanted_.clear();
  const auto all = own_.take_all();
  lost_.insert(lost_.end(), all.begin(), all.end());
}

batch_frame postgresql_node::frame_for(std::span<const operation> batch, instant now) {
  batch_frame frame;
  frame.registration = registration_;
  frame.opening = opening_;
  frame.number = ++number_;
  frame.time = given_time();
  frame.over = own_.over(now, ends_at_once);
  if (frame.over.size() == ends_at_once) {  // those that the batch names end in any case
    std::vector<reservation> named;
    for (const operation& each : batch) own_.find_over(job_named_by(each), now, named);
    for (const reservation& each : named) {
      if (std::ranges::find(frame.over, each) == frame.over.end()) frame.over.push_back(each);
    }
  }
  frame.lacks_room = lacks_room();
  frame.passes_over = frame.lacks_room || monotonic_clock::instance().now() < passes_over_until_;
  frame.sends_heartbeat = !options_.clocks && next_heartbeat_ <= now;
  frame.forget_from = forgotten_below_;
  frame.forget_below = doubts_.empty() ? frame.number : doubts_.front().number;
  if (!frame.lacks_room) {
    frame.unwanted.assign(unwanted_.begin(),
                          unwanted_.begin() + static_cast<std::ptrdiff_t>(std::min(unwanted_.size(), ends_at_once)));
  }
  return frame;
}

execution postgresql_node::execute(std::span<operation> batch) {
  if (is_closed_) fail("the store in " + place_ + " is closed");
  return execute(batch, attempts_of_whole);
}

execution postgresql_node::execute(std::span<operation> batch, int attempts) {
  const instant begin = monotonic_clock::instance().now();
  const instant until = is_down_ ? begin : begin + duration(options_.give_up_after);
  const bool settles = begins_to_settle();
  const bool has_keys =
      std::ranges::any_of(batch, [](const operation& each) { return key_named_by(each).has_value(); });
  turn_taking turns = begin < ignores_turns_until_ ? turn_taking::ignore : turn_taking::if_taken;
  for (;;) {
    try {
      make_ready();
      if (settles) settle_doubts();
      if (next_heartbeat_.is_never() && !options_.clocks) next_heartbeat_ = steady().now();
      batch_time time;
      time.local = steady().now();
      time.local_utc = options_.clocks
                           ? options_.clocks->utc()
                           : std::chrono::ceil<milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
      batch_frame frame = frame_for(batch, time.local);
      frame.turns = frame.passes_over && turns != turn_taking::end ? turn_taking::ignore : turns;
      batch_plan::outcome got = connection_->execute(batch, frame, time, patience());
      if (commit(frame, got) == commit_state::not_committed) continue;
      if (frame.sends_heartbeat) {
        next_heartbeat_ = time.local + (got.wants_heartbeat ? duration::zero() : heartbeat_interval());
        forgotten_below_ = frame.forget_below;
      }
      conclude(batch, got, frame);
      pause_ = first_pause;
      is_down_ = false;
      note_missing_news();
      if (next_rotation_ <= monotonic_clock::instance().now()) rotate();
      return std::move(got.done);
    } catch (const database_failure& error) {
      if (error.is_state("FL001")) note_registration_ended();
      turns = turns_after(error, turns, has_keys, until);
      if (error.is_for_want_of_room()) note_want_of_room(error.what());
      if (error.is_refusal()) note_refusal(error.what());
      // A database that refuses an operation does answer: the batch is divided however long it has been down before.
      const bool is_refusal = error.is_refusal() && !batch.empty();
      if (is_refusal && --attempts == 0) {
        if (connection_ != nullptr && !connection_->goes_on_after(error, patience())) connection_.reset();
        return batch.size() == 1 ? refuse_operation(error.what()) : execute_halves(batch);
      }
      recover(error, is_refusal ? instant::never() : until, store_unavailable::kind::not_executed);
      if (error.is_state("55P03") && connection_ != nullptr) make_tubes_before(batch);
    }
  }
}

void postgresql_node::rotate() noexcept {
  const instant begin = monotonic_clock::instance().now();
  std::int64_t answer = 0;
  const bool is_done = run_aside("rotate", [&](node_connection& over) { answer = over.rotate(patience()); });
  switch (is_done ? answer : 0) {  // see sql/rotation.sql
    case 0: rotations_.failed(); break;
    case 3: break;
    case 2: {  // there is more to do, and batches have half of the time
      rotations_.succeeded();
      const instant end = monotonic_clock::instance().now();
      next_rotation_ = end + (end - begin);
      return;
    }
    default: rotations_.succeeded();
  }
  next_rotation_ = begin + rotations_.length();
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
  unwanted_.erase(unwanted_.begin(), unwanted_.begin() + static_cast<std::ptrdiff_t>(frame.unwanted.size()));
  for (std::size_t i = 0; i < batch.size(); ++i) follow(batch[i], what.done.answers[i]);
  note_passed_over(what.done.answers);
  next_ = what.next;
  // A pause that is over stays only for an error.
  const instant now = steady().now();
  if (frame.lacks_room && next_.expiry <= now) next_.expiry = now + tries_again_after;
  map_seen_ = std::move(what.map);
}

void postgresql_node::follow(const operation& of, const answer& got) {
  for (const claimed_job& each : jobs_claimed_by(got)) own_.set(each.token, each.job.expires);
  if (const auto* const holder = std::get_if<holder_answer>(&got)) {
    const reservation token = token_of(of);
    if (std::holds_alternative<touch>(of) && holder->what == holder_answer::kind::done) {
      own_.extend(token, holder->expires);
    } else if (holder->what == holder_answer::kind::done) {
      own_.end(token);
    }
    // If it was not held, it may be over by the server's clock alone: then its end is yet to come.
  }
}

next_change postgresql_node::next() const noexcept {
  next_change next = next_;
  next.expiry = std::min({next.expiry, own_.next(), next_heartbeat_});
  if (!doubts_.empty() || !unwanted_.empty()) next.expiry = std::min(next.expiry, settles_at_);
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
  if (std::exchange(is_closed_, true) || registration_ == 0) return;
  try {
    if (connection_ == nullptr) connect();
    const instant until = monotonic_clock::instance().now() + duration(options_.give_up_after);
    for (bool is_left = true; is_left;) {
      try {
        is_left = connection_->close_registration(registration_, patience());
        connection_->commit(patience());
      } catch (const database_failure& error) {
        if (until <= monotonic_clock::instance().now() || !connection_->goes_on_after(error, patience())) throw;
      }
    }
    connection_.reset();
  } catch (const database_failure& error) {
    fail("cannot give back the jobs of the node '" + options_.node + "' in " + place_ + ": " + error.what());
  }
}

std::string postgresql_node::place() const { return place_; }

}  // namespace foliot::jobs::detail

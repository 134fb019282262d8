#include "batch_plan.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "database_connection.hpp"
#include "jobs/operation_parts.hpp"
#include "lasting.hpp"
#include "sql_constants.hpp"
#include "statements.hpp"

namespace foliot::jobs::detail {

namespace {

/// Times and delays of operations.
struct due_columns {
  sql_integers ats;
  sql_integers dues;

  void push(const due_at& due) {
    const bool is_time = std::holds_alternative<utc_time>(due);
    ats.push_back(is_time ? sql_constants::due_by_time : sql_constants::due_by_delay);
    dues.push_back(is_time ? std::get<utc_time>(due).time_since_epoch().count() : std::get<milliseconds>(due).count());
  }
};

/// What makes operations happen once; empty for one that may happen again.
struct once_columns {
  sql_texts keys;
  sql_texts requests;
  sql_integers lifetimes;

  void push(const once& by) {
    keys.push_back(by.empty() ? std::string_view() : view(by.key()));
    requests.push_back(by.empty() ? std::string_view() : view(by.request()));
    lifetimes.emplace_back(by.empty() ? 0 : by.lifetime().count());
  }
  /// So many puts before may happen again.
  void fill(std::size_t count) {
    keys.resize(count);
    requests.resize(count);
    lifetimes.resize(count, 0);
  }
  static std::string_view view(const sha256& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
  }
};

/// What makes the put or put_all happen once; null if nothing does, or if it only looks.
const once* begins_once(const operation& it) {
  const once* found = nullptr;
  if (const put* const one = std::get_if<put>(&it)) found = &one->once;
  if (const put_all* const all = std::get_if<put_all>(&it)) found = &all->once;
  return found == nullptr || found->empty() || found->lifetime() == milliseconds(0) ? nullptr : found;
}

struct token_columns {
  sql_integers ids;
  sql_integers openings;
  sql_integers attempts;

  void push(const reservation& token) {
    ids.push_back(to_database(token.id));
    openings.push_back(to_database(token.opening));
    attempts.push_back(to_database(token.attempt));
  }
  void push_none() {
    for (sql_integers* const each : {&ids, &openings, &attempts}) each->emplace_back(std::nullopt);
  }
};

}  // namespace

/// Adds the calls of the operations. At any time some calls are open: later operations may join them.
class batch_plan::builder {
 public:
  builder(batch_plan& plan, const batch_frame& frame) : plan_(plan), frame_(frame) {}

  void begin();
  void give_back_unwanted();
  void operator()(const put& what);
  void operator()(const finish& what);
  void operator()(const release& what) {
    change_held(sql_constants::to_release, what.token, what.priority, what.due, what.history);
  }
  void operator()(const abandon& what) { change_held(sql_constants::to_abandon, what.token); }
  void operator()(const bury& what) {
    change_held(sql_constants::to_bury, what.token, what.priority, milliseconds(0), what.history);
  }
  void operator()(const touch& what) { change_held(sql_constants::to_touch, what.token); }
  void operator()(const cancel& what) { change_waiting(sql_constants::to_cancel, what.name, what.expected); }
  void operator()(const reschedule& what) {
    change_waiting(sql_constants::to_reschedule, what.name, what.expected, what.due);
  }
  void operator()(const fire_now& what) { change_waiting(sql_constants::to_fire_now, what.name, what.expected); }
  void operator()(const kick_job& what) { change_waiting(sql_constants::to_kick, what.id, what.expected); }
  void operator()(const claim& what);
  void operator()(const claim_job& what);
  void operator()(const kick& what);
  void operator()(const clear_tube& what);
  void operator()(const pause& what);
  void operator()(const peek& what);
  void operator()(const peek_first& what);
  void operator()(const count_tube& what);
  void operator()(const count_all& what);
  void operator()(const list_tubes& what);
  void operator()(const list_due& what);
  void operator()(const list_nodes& what);
  void operator()(const list_jobs& what);
  void operator()(const put_all& what);
  void end();

 private:
  enum class kind : std::uint8_t { none, plain, keyed, held, waiting };

  /// Opens calls of this kind, unless they are open.
  void open(kind what) {
    if (open_ == what) return;
    close();
    open_ = what;
  }
  /// Adds the open calls to the plan.
  void close();
  void close_plain();
  void close_keyed();
  void close_held();
  void close_waiting();
  void change_held(std::int64_t what, const reservation& token, std::optional<priority> urgency = std::nullopt,
                   const due_at& due = milliseconds(0), const std::optional<job_fields>& history = std::nullopt);
  void change_waiting(std::int64_t what, const job_name& name, job_version expected,
                      const due_at& due = milliseconds(0));
  void expect(job_version version);
  /// The operation is the next one of this list of operations, whose call is yet to be added.
  void join(std::vector<std::size_t>& list) { list.push_back(next_++); }
  void finish_call(call&& made, std::vector<std::size_t>& list);
  /// A call for one operation.
  void alone(call&& made) {
    plan_.places_[next_++] = {plan_.calls_.size(), 0};
    plan_.calls_.push_back(std::move(made));
  }
  [[nodiscard]] call new_call(const sql_statement& what) const { return call(what).add(frame_.time); }
  /// Adds a put to the open ones, which are of this kind.
  void push_put(const put& what, kind into);

  batch_plan& plan_;
  const batch_frame& frame_;
  std::size_t next_ = 0;  // operation
  kind open_ = kind::none;

  // Of the open puts; those of the plain and of the keyed ones are never open together.
  std::vector<std::size_t> puts_;
  sql_texts tubes_;
  sql_texts keys_;
  sql_texts bodies_;
  sql_integers priorities_;
  sql_integers ttrs_;
  sql_integers existing_;
  sql_texts fields_;
  sql_texts histories_;
  bool has_fields_ = false;  // one of them has fields or a history
  // Of the open puts or changes.
  sql_integers expected_;
  bool has_expected_ = false;  // one of them expects a version
  // Of the open puts.
  token_columns holders_;
  bool has_holders_ = false;  // one of them shows a reservation; then none of them happens once
  // Of the open puts, or the open put_all.
  once_columns once_;
  bool has_once_ = false;  // one of them happens once
  bool is_all_ = false;    // they are a put_all; if it happens once, once_ has one element
  // Of the open finishes, or the open changes of one kind.
  std::vector<std::size_t> finishes_;
  std::set<job_id> finished_;
  std::vector<std::size_t> changes_;
  sql_integers whats_;
  token_columns tokens_;
  due_columns dues_;
  sql_optional_texts new_histories_;
  bool has_histories_ = false;  // one of them has a history
};

void batch_plan::builder::finish_call(call&& made, std::vector<std::size_t>& list) {
  for (std::size_t i = 0; i < list.size(); ++i) plan_.places_[list[i]] = {plan_.calls_.size(), i};
  list.clear();
  plan_.calls_.push_back(std::move(made));
}

void batch_plan::builder::begin() {
  token_columns over;
  std::set<std::int64_t> to_lock;
  for (const reservation& each : frame_.over) {
    over.push(each);
    to_lock.insert(to_database(each.id));
  }
  for (const reservation& each : frame_.unwanted) to_lock.insert(to_database(each.id));
  sql_texts key_tubes;
  sql_texts keys;
  for (const operation& each : plan_.batch_) {
    if (!frame_.passes_over) {
      for_each_job_named(each, [&to_lock](job_id id) { to_lock.insert(to_database(id)); });
    }
    for_each_key(each, [&](const key_view& by) {
      key_tubes.emplace_back(by.tube);
      keys.emplace_back(by.key);
    });
  }
  to_lock.erase(0);
  once_columns begun;
  if (!frame_.passes_over) {
    for (const operation& each : plan_.batch_) {
      if (const once* const by = begins_once(each)) begun.push(*by);
    }
  }
  call first(begun.keys.empty() ? statements::begin_batch : statements::begin_batch_once);
  first.add(frame_.registration).add(frame_.time).add(static_cast<std::int64_t>(frame_.turns));
  first.add(sql_integers(to_lock.begin(), to_lock.end())).add(key_tubes).add(keys);
  first.add(over.ids).add(over.openings).add(over.attempts).add(std::int64_t{frame_.lacks_room});
  if (!begun.keys.empty()) first.add(begun.keys).add(begun.lifetimes);
  plan_.calls_.push_back(std::move(first));
}

void batch_plan::builder::give_back_unwanted() {
  if (frame_.unwanted.empty()) return;
  token_columns tokens;
  for (const reservation& each : frame_.unwanted) tokens.push(each);
  const sql_integers abandons(frame_.unwanted.size(), sql_constants::to_abandon);
  const sql_integers zeros(frame_.unwanted.size(), 0);
  call made(statements::change_held);
  made.add(std::optional(std::vector<std::int64_t>{0, 0, 0}));  // at this time no reservation is over
  made.add(abandons).add(tokens.ids).add(tokens.openings).add(tokens.attempts);
  made.add(sql_integers(zeros.size(), std::nullopt)).add(zeros).add(zeros);
  plan_.calls_.push_back(std::move(made));
}

void batch_plan::builder::end() {
  close();
  // A claim that finds no job tells nobody of it. One that happens once may repeat an answer.
  const bool tells = !std::ranges::all_of(plan_.batch_, [](const operation& each) {
    const auto* const claiming = std::get_if<claim>(&each);
    return claiming != nullptr && claiming->once.empty();
  });
  call last(statements::end_batch);
  last.add(frame_.registration).add(frame_.number).add(std::int64_t{frame_.lacks_room}).add(std::int64_t{tells});
  plan_.calls_.push_back(std::move(last));
}

void batch_plan::builder::close() {
  switch (std::exchange(open_, kind::none)) {
    case kind::none: break;
    case kind::plain: close_plain(); break;
    case kind::keyed: close_keyed(); break;
    case kind::held: close_held(); break;
    case kind::waiting: close_waiting(); break;
  }
  tubes_.clear();
  keys_.clear();
  bodies_.clear();
  priorities_.clear();
  ttrs_.clear();
  existing_.clear();
  fields_.clear();
  histories_.clear();
  has_fields_ = false;
  expected_.clear();
  has_expected_ = false;
  holders_ = {};
  has_holders_ = false;
  once_ = {};
  has_once_ = false;
  is_all_ = false;
  finished_.clear();
  whats_.clear();
  tokens_ = {};
  dues_ = {};
  new_histories_.clear();
  has_histories_ = false;
}

void batch_plan::builder::close_plain() {
  if (!puts_.empty()) {
    call made = new_call(has_fields_ ? statements::put_plain_with_fields : statements::put_plain);
    made.add(tubes_).add(bodies_).add(priorities_).add(dues_.ats).add(dues_.dues).add(ttrs_);
    if (has_fields_) made.add(fields_).add(histories_);
    finish_call(std::move(made), puts_);
  }
  if (!finishes_.empty()) {
    call made = new_call(statements::finish);
    made.add(tokens_.ids).add(tokens_.openings).add(tokens_.attempts);
    finish_call(std::move(made), finishes_);
  }
}

void batch_plan::builder::close_keyed() {
  const sql_statement& without = frame_.passes_over ? statements::put_or_pass : statements::put_keyed;
  const sql_statement& with =
      frame_.passes_over ? statements::put_or_pass_with_fields : statements::put_keyed_with_fields;
  const sql_statement& expecting = frame_.passes_over ? statements::put_if_or_pass : statements::put_keyed_if;
  const sql_statement& each_held = frame_.passes_over ? statements::put_held_or_pass : statements::put_keyed_held;
  const sql_statement& all_held = frame_.passes_over ? statements::put_all_held_or_pass : statements::put_all_held;
  const sql_statement& each_once = frame_.passes_over ? statements::put_once_or_pass : statements::put_once;
  const sql_statement& all_once = frame_.passes_over ? statements::put_all_once_or_pass : statements::put_all_once;
  const sql_statement& held = is_all_ ? all_held : each_held;
  const sql_statement& known = has_holders_ ? held : has_expected_ ? expecting : has_fields_ ? with : without;
  const sql_statement& happens_once = is_all_ ? all_once : each_once;
  call made = new_call(has_once_ ? happens_once : known);
  made.add(tubes_).add(keys_).add(bodies_).add(priorities_).add(dues_.ats).add(dues_.dues).add(ttrs_).add(existing_);
  if (has_fields_ || has_expected_ || has_once_ || has_holders_) made.add(fields_).add(histories_);
  if (has_expected_ || has_once_ || has_holders_) made.add(expected_);
  if (has_holders_) made.add(holders_.ids).add(holders_.openings).add(holders_.attempts);
  if (has_once_ && is_all_) {
    made.add(once_.keys.front()).add(once_.requests.front()).add(*once_.lifetimes.front());
  } else if (has_once_) {
    made.add(once_.keys).add(once_.requests).add(once_.lifetimes);
  }
  finish_call(std::move(made), puts_);
}

void batch_plan::builder::close_held() {
  const sql_statement& without = frame_.lacks_room ? statements::change_held_or_pass : statements::change_held;
  const sql_statement& with =
      frame_.lacks_room ? statements::change_held_with_histories_or_pass : statements::change_held_with_histories;
  call made = new_call(has_histories_ ? with : without);
  made.add(whats_).add(tokens_.ids).add(tokens_.openings).add(tokens_.attempts);
  made.add(priorities_).add(dues_.ats).add(dues_.dues);
  if (has_histories_) made.add(new_histories_);
  finish_call(std::move(made), changes_);
}

void batch_plan::builder::close_waiting() {
  const sql_statement& without = frame_.passes_over ? statements::change_waiting_or_pass : statements::change_waiting;
  const sql_statement& expecting =
      frame_.passes_over ? statements::change_waiting_if_or_pass : statements::change_waiting_if;
  call made = new_call(has_expected_ ? expecting : without);
  made.add(whats_).add(tokens_.ids).add(tubes_).add(keys_).add(dues_.ats).add(dues_.dues);
  if (has_expected_) made.add(expected_);
  finish_call(std::move(made), changes_);
}

void batch_plan::builder::push_put(const put& what, kind into) {
  if (into == kind::keyed) {
    keys_.emplace_back(what.key);
    existing_.emplace_back(static_cast<std::int64_t>(what.existing));
    expect(what.expected);
    if (what.holder) {
      holders_.push(*what.holder);
      has_holders_ = true;
    } else {
      holders_.push_none();
    }
  }
  tubes_.emplace_back(what.tube);
  bodies_.emplace_back(what.body);
  priorities_.emplace_back(what.priority);
  dues_.push(what.due);
  ttrs_.emplace_back(what.ttr.count());
  fields_.emplace_back(what.fields.bytes());
  histories_.emplace_back(what.history.bytes());
  has_fields_ = has_fields_ || !what.fields.empty() || !what.history.empty();
}

void batch_plan::builder::operator()(const put& what) {
  if (what.holder ? has_once_ : has_holders_ && !what.once.empty()) close();  // no call has both
  // A put with a key, or one that happens once, opens its own call, and keeps it open for those without. Any put may
  // wait for the lock of its tube.
  const bool is_plain = what.key.empty() && what.once.empty() && open_ != kind::keyed && !frame_.passes_over;
  open(is_plain ? kind::plain : kind::keyed);
  push_put(what, open_);
  if (has_once_ || !what.once.empty()) {
    has_once_ = true;
    once_.fill(puts_.size());
    once_.push(what.once);
  }
  join(puts_);
}

void batch_plan::builder::operator()(const put_all& what) {
  close();
  const auto has_no_key = [](const put& each) { return each.key.empty(); };
  const bool is_plain = std::ranges::all_of(what.puts, has_no_key) && what.once.empty() && !frame_.passes_over;
  open(is_plain ? kind::plain : kind::keyed);
  for (const put& each : what.puts) push_put(each, open_);
  is_all_ = true;
  has_once_ = !what.once.empty();
  if (has_once_) once_.push(what.once);
  join(puts_);
  close();
}

void batch_plan::builder::operator()(const finish& what) {
  open(kind::plain);
  if (!finished_.insert(what.token.id).second) {
    close();
    open(kind::plain);
    finished_.insert(what.token.id);
  }
  tokens_.push(what.token);
  join(finishes_);
}

void batch_plan::builder::change_held(std::int64_t what, const reservation& token, std::optional<priority> urgency,
                                      const due_at& due, const std::optional<job_fields>& history) {
  open(kind::held);
  whats_.emplace_back(what);
  tokens_.push(token);
  priorities_.push_back(urgency ? std::optional<std::int64_t>(*urgency) : std::nullopt);
  dues_.push(due);
  new_histories_.push_back(history ? std::optional(history->bytes()) : std::nullopt);
  has_histories_ = has_histories_ || history;
  join(changes_);
}

void batch_plan::builder::expect(job_version version) {
  expected_.emplace_back(static_cast<std::int64_t>(version));  // negative: a version that no job has
  has_expected_ = has_expected_ || version != 0;
}

void batch_plan::builder::change_waiting(std::int64_t what, const job_name& name, job_version expected,
                                         const due_at& due) {
  open(kind::waiting);
  whats_.emplace_back(what);
  const job_key* const by_key = std::get_if<job_key>(&name);
  tokens_.ids.emplace_back(by_key == nullptr ? to_database(std::get<job_id>(name)) : 0);
  tubes_.emplace_back(by_key == nullptr ? std::string_view() : std::string_view(by_key->tube));
  keys_.emplace_back(by_key == nullptr ? std::string_view() : std::string_view(by_key->key));
  dues_.push(due);
  expect(expected);
  join(changes_);
}

void batch_plan::builder::operator()(const claim& what) {
  close();
  const bool happens_once = !what.once.empty();
  const sql_statement& best = frame_.lacks_room ? statements::claim_best_or_pass : statements::claim_best;
  const sql_statement& best_once = frame_.passes_over ? statements::claim_once_or_pass : statements::claim_once;
  call made(happens_once ? best_once : best);
  made.add(frame_.registration).add(opening_of(what, frame_.opening)).add(frame_.time);
  made.add(sql_texts(what.tubes.begin(), what.tubes.end())).add(std::int64_t{what.count});
  if (is_bounded(what)) {
    made.add(to_database(what.bytes));
  } else {
    made.add_null_integer();
  }
  if (happens_once) {
    made.add(once_columns::view(what.once.key())).add(once_columns::view(what.once.request()));
    made.add(std::int64_t{what.once.lifetime().count()});
  }
  alone(std::move(made));
}

void batch_plan::builder::operator()(const claim_job& what) {
  close();
  call made(frame_.passes_over ? statements::claim_named_or_pass : statements::claim_named);
  made.add(frame_.registration).add(frame_.opening).add(frame_.time).add(to_database(what.id));
  alone(std::move(made));
}

void batch_plan::builder::operator()(const kick& what) {
  close();
  call made = new_call(frame_.lacks_room ? statements::kick_or_pass : statements::kick);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  made.add(what.tube).add(to_database(std::min(what.count, most)));
  if (what.only) {
    made.add(static_cast<std::int64_t>(*what.only));
  } else {
    made.add_null_integer();
  }
  alone(std::move(made));
}

void batch_plan::builder::operator()(const clear_tube& what) {
  close();
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  alone(std::move(call(statements::clear_tube).add(what.tube).add(to_database(std::min(what.count, most)))));
}

void batch_plan::builder::operator()(const pause& what) {
  close();
  call made(frame_.passes_over ? statements::pause_or_pass : statements::pause);
  alone(
      std::move(made.add(frame_.registration).add(frame_.time).add(what.tube).add(std::int64_t{what.length.count()})));
}

void batch_plan::builder::operator()(const peek& what) {
  close();
  const job_key* const by_key = std::get_if<job_key>(&what.name);
  call made(statements::show);
  made.add(by_key == nullptr ? to_database(std::get<job_id>(what.name)) : 0);
  made.add(by_key == nullptr ? std::string_view() : std::string_view(by_key->tube));
  made.add(by_key == nullptr ? std::string_view() : std::string_view(by_key->key));
  alone(std::move(made.add(std::int64_t{what.with_body}).add(frame_.time)));
}

void batch_plan::builder::operator()(const peek_first& what) {
  close();
  alone(std::move(call(statements::show_first).add(what.tube).add(static_cast<std::int64_t>(what.state))));
}

void batch_plan::builder::operator()(const count_tube& what) {
  close();
  alone(std::move(call(statements::count_jobs).add(what.tube)));
}

void batch_plan::builder::operator()(const count_all&) {
  close();
  alone(std::move(call(statements::count_jobs).add_null_bytes()));
}

void batch_plan::builder::operator()(const list_tubes& what) {
  close();
  if (what.prefix.empty() && what.after.empty() && what.count == 0) return alone(call(statements::list_tubes));
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  call made(statements::page_of_tubes);
  made.add(what.prefix).add(what.after).add(what.count != 0 ? std::int64_t{what.count} : all);
  alone(std::move(made.add(std::int64_t{what.with_counts})));
}

void batch_plan::builder::operator()(const list_jobs& what) {
  close();
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  call made = new_call(statements::page_of_jobs);
  made.add(what.tube).add(sql_texts(what.prefixes.begin(), what.prefixes.end()));
  if (what.which) {
    made.add(static_cast<std::int64_t>(*what.which));
  } else {
    made.add_null_integer();
  }
  made.add(to_database(std::min(what.after.rank, most))).add(to_database(std::min(what.after.id, most)));
  alone(std::move(made.add(std::int64_t{what.count})));
}

void batch_plan::builder::operator()(const list_due& what) {
  close();
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  call made(statements::list_due);
  made.add(what.prefix).add(std::int64_t{what.from.time_since_epoch().count()});
  alone(std::move(made.add(to_database(std::min(what.after, most))).add(std::int64_t{what.count})));
}

void batch_plan::builder::operator()(const list_nodes&) {
  close();
  alone(std::move(call(statements::list_nodes).add(std::int64_t{most_listed_nodes})));
}

batch_plan::batch_plan(std::span<const operation> batch, const batch_frame& frame)
    : batch_(batch),
      places_(batch.size()),
      registration_(frame.registration),
      opening_(frame.opening),
      has_heartbeat_(frame.sends_heartbeat) {
  builder all(*this, frame);
  all.begin();
  if (frame.sends_heartbeat) {
    call heartbeat(statements::heartbeat);
    calls_.push_back(
        std::move(heartbeat.add(frame.registration).add(frame.forget_below).add(frame.forget_from).add(frame.time)));
  }
  all.give_back_unwanted();
  for (const operation& each : batch) std::visit(all, each);
  all.end();
}

// The replies, as answers.

instant batch_time::to_local(std::int64_t ns) const noexcept { return local + duration::nanoseconds(ns - now_ns); }

namespace {

constexpr utc_time utc_of(std::int64_t ms) noexcept { return utc_time(milliseconds(ms)); }

std::uint32_t counter_of(std::int64_t count) noexcept { return static_cast<std::uint32_t>(count); }

constexpr std::int64_t passed_over = sql_constants::answer_passed_over;
constexpr std::int64_t no_room = sql_constants::answer_no_room;
constexpr std::int64_t elsewhere = sql_constants::put_elsewhere;

[[noreturn]] void fail_for_fields(job_id id) {
  throw database_failure(std::string(damaged_data), "the fields of the job " + std::to_string(id) + " are damaged");
}

job_fields parse_fields(std::string_view encoding, job_id id) {
  std::optional<job_fields> parsed = job_fields::parse(encoding);
  if (!parsed) fail_for_fields(id);
  return std::move(*parsed);
}

/// A row of the type foliot.shown_job, whose first column is `at`.
job read_job(const reply& from, int row, int at, job_state state, const batch_time& time) {
  const auto number = [&](int column) { return from.integer(row, at + column); };
  job it;
  it.id = from_database(number(0));
  it.tube = from.bytes(row, at + 1);
  it.key = from.bytes(row, at + 2);
  it.body = from.bytes(row, at + 3);
  it.priority = static_cast<priority>(number(4));
  it.state = state;
  it.made = utc_of(number(5));
  it.due = utc_of(number(6));
  it.delay = milliseconds(number(7));
  it.ttr = milliseconds(number(8));
  if (!from.is_null(row, at + 9)) it.expires = time.to_local(number(9));
  it.counters = {.reserves = counter_of(number(10)),
                 .timeouts = counter_of(number(11)),
                 .releases = counter_of(number(12)),
                 .buries = counter_of(number(13)),
                 .kicks = counter_of(number(14))};
  if (!from.is_null(row, at + 15)) {
    const std::vector<std::string> texts = from.texts(row, at + 15);
    if (texts.size() != 2) fail_for_fields(it.id);
    it.fields = parse_fields(texts[0], it.id);
    it.history = parse_fields(texts[1], it.id);
  }
  return it;
}

/// The numbers of a count of jobs.
constexpr std::size_t numbers_of_count = 7;

count_answer read_count(std::span<const std::int64_t> numbers, const batch_time& time) {
  count_answer result;
  result.counts = {.urgent = from_database(numbers[0]),
                   .ready = from_database(numbers[1]),
                   .reserved = from_database(numbers[2]),
                   .delayed = from_database(numbers[3]),
                   .buried = from_database(numbers[4])};
  if (numbers[5] != reply::null_element) result.paused_until = time.to_local(numbers[5]);
  if (numbers[6] != 0) result.what = count_answer::kind::cut_short;
  return result;
}

claim_answer read_claim(const reply& from, std::int64_t opening, const batch_time& time) {
  claim_answer result;
  for (int row = 0; row < from.rows(); ++row) {
    if (from.is_null(row, 0)) {
      const bool lacks_room = !from.is_null(row, 4) && from.integer(row, 4) == no_room;
      result.what = lacks_room ? claim_answer::kind::no_space : claim_answer::kind::cut_short;
      break;
    }
    claimed_job one;
    one.job = read_job(from, row, 0, job_state::reserved, time);
    one.token = {one.job.id, from_database(opening), from_database(from.integer(row, 10))};
    result.jobs.push_back(std::move(one));
  }
  return result;
}

/// Adds the reservations of the answer that belong to other registrations than this one to `of_others`.
answer read_claim_once(const reply& from, std::int64_t registration, const batch_time& time,
                       std::vector<reservation>& of_others) {
  claim_answer result;
  switch (from.integer(0, 0)) {
    case passed_over: return passed_over_answer{};
    case no_room: result.what = claim_answer::kind::no_space; break;
    case sql_constants::once_other_request: result.what = claim_answer::kind::other_request; break;
    case sql_constants::once_repeated: result.is_replayed = true; break;
    default: break;
  }
  for (int row = 1; row < from.rows(); ++row) {
    if (from.is_null(row, 3)) {
      result.what = claim_answer::kind::cut_short;
      break;
    }
    claimed_job one;
    one.job = read_job(from, row, 3, job_state::reserved, time);
    one.token = {one.job.id, from_database(from.integer(row, 1)), from_database(from.integer(row, 13))};
    if (from.integer(row, 2) != registration) of_others.push_back(one.token);
    result.jobs.push_back(std::move(one));
  }
  return result;
}

/// A page of tubes. It is refused if the database does not search for it.
answer read_page_of_tubes(const reply& from, const batch_time& time) {
  if (from.is_null(0, 0)) return unavailable_answer{false, "the database has too many dead rows to list tubes in time"};
  tubes_answer result{from.texts(0, 0)};
  const std::vector<std::int64_t> counts = from.integers(0, 1);
  for (std::size_t i = 0; i + numbers_of_count <= counts.size(); i += numbers_of_count) {
    result.counts.push_back(read_count(std::span(counts).subspan(i, numbers_of_count), time));
  }
  if (!from.is_null(0, 2)) result.next = from.bytes(0, 2);
  return result;
}

/// A page of jobs, in rows of their places, states, versions and nodes, and of the type foliot.shown_job. A row without
/// a job has the place of the next page.
answer read_page_of_jobs(const reply& from, const batch_time& time) {
  jobs_answer result;
  result.now = utc_of(time.now_ms);
  for (int row = 0; row < from.rows(); ++row) {
    if (from.is_null(row, 0)) {
      return unavailable_answer{false, "the database has too many dead rows to list jobs in time"};
    }
    const job_place place{from_database(from.integer(row, 0)), from_database(from.integer(row, 1))};
    if (from.is_null(row, 2)) {
      result.next = place;
      break;
    }
    listed_job one{place, read_job(from, row, 5, static_cast<job_state>(from.integer(row, 2)), time),
                   from_database(from.integer(row, 3))};
    if (!from.is_null(row, 4)) one.node = from.bytes(row, 4);
    result.jobs.push_back(std::move(one));
  }
  return result;
}

nodes_answer read_nodes(const reply& from, const batch_time& time) {
  nodes_answer result;
  result.now = utc_of(time.now_ms);
  for (int row = 0; row < from.rows(); ++row) {
    result.nodes.push_back(
        {std::string(from.bytes(row, 0)), utc_of(from.integer(row, 1)), utc_of(from.integer(row, 2))});
  }
  return result;
}

/// Reads the answer to an operation from the reply to its call. Most calls return one array of numbers, which is read
/// once for all their operations.
class answer_reader {
 public:
  answer_reader(std::int64_t registration, std::int64_t opening, const batch_time& time)
      : registration_(registration), opening_(opening), time_(time) {}

  /// The next answer is the one at `index` of the reply to this call.
  void take(const sql_statement& to, const reply& from, std::size_t index) {
    if (from_ != &from) numbers_.clear();
    from_ = &from;
    index_ = index;
    is_plain_ = &to == &statements::put_plain || &to == &statements::put_plain_with_fields;
    has_versions_ = &to == &statements::put_keyed_if || &to == &statements::put_if_or_pass ||
                    &to == &statements::put_keyed_held || &to == &statements::put_held_or_pass ||
                    &to == &statements::put_all_held || &to == &statements::put_all_held_or_pass ||
                    &to == &statements::change_waiting_if || &to == &statements::change_waiting_if_or_pass;
    is_once_ = &to == &statements::put_once || &to == &statements::put_once_or_pass;
    is_all_once_ = &to == &statements::put_all_once || &to == &statements::put_all_once_or_pass;
    is_page_ = &to == &statements::page_of_tubes;
    was_elsewhere_ = false;
    has_put_some_ = false;
  }
  /// Whether the last answer was that of a put into a tube that is in another database.
  [[nodiscard]] bool was_elsewhere() const noexcept { return was_elsewhere_; }
  /// Whether the last operation was a put_all that is refused as a whole, though some of its jobs were put.
  [[nodiscard]] bool has_put_some(const answer& got) const noexcept {
    const auto* const all = std::get_if<put_all_answer>(&got);
    return has_put_some_ && (all == nullptr || all->what != put_all_answer::kind::done);
  }

  /// The reservations in the answers that other registrations have made.
  [[nodiscard]] std::vector<reservation> take_of_others() { return std::move(of_others_); }

  answer operator()(const put&) { return answer_to_put(); }
  answer operator()(const put_all& what) {
    const std::int64_t happened = is_all_once_ ? numbers().front() : sql_constants::once_done;
    if (happened == sql_constants::once_other_request) return put_all_answer{put_all_answer::kind::other_request};
    std::vector<answer> each;
    each.reserve(what.puts.size());
    std::size_t elsewheres = 0;
    for (index_ = 0; index_ < what.puts.size(); ++index_) {
      was_elsewhere_ = false;
      each.push_back(answer_to_put());
      if (was_elsewhere_) ++elsewheres;
    }
    was_elsewhere_ = elsewheres == each.size() && !each.empty();
    has_put_some_ = std::ranges::any_of(each, has_put);
    answer all = answer_of_all(each);
    if (happened == sql_constants::once_repeated) std::get<put_all_answer>(all).is_replayed = true;
    return all;
  }
  answer operator()(const claim& what) {
    if (what.once.empty()) return read_claim(*from_, opening_of(what, opening_), time_);
    return read_claim_once(*from_, registration_, time_, of_others_);
  }
  answer operator()(const claim_job&) {
    claim_answer result = read_claim(*from_, opening_, time_);
    if (result.what == claim_answer::kind::cut_short) return passed_over_answer{};
    return result;
  }
  answer operator()(const finish&) {
    return holder_answer{numbers().at(index_) == 1 ? holder_answer::kind::done : holder_answer::kind::not_held};
  }
  answer operator()(const release&) { return held(); }
  answer operator()(const abandon&) { return held(); }
  answer operator()(const bury&) { return held(); }
  answer operator()(const touch&) {
    holder_answer result = held();
    if (result.what == holder_answer::kind::done) result.expires = time_.to_local(numbers().at(index_));
    return result;
  }
  answer operator()(const cancel&) { return changed(); }
  answer operator()(const reschedule&) { return changed(); }
  answer operator()(const fire_now&) { return changed(); }
  answer operator()(const kick_job&) { return changed(); }
  answer operator()(const kick&) {
    if (from_->integer(0, 0) == no_room) return bulk_answer{0, bulk_answer::kind::no_space};
    return bulk_answer{from_database(from_->integer(0, 0))};
  }
  answer operator()(const clear_tube&) { return bulk_answer{from_database(from_->integer(0, 0))}; }
  answer operator()(const pause&) {
    if (from_->integer(0, 0) == passed_over) return passed_over_answer{};
    if (from_->integer(0, 0) == no_room) return unavailable_answer{false, "the database has no room"};
    return pause_answer{};
  }
  answer operator()(const peek&) { return shown(); }
  answer operator()(const peek_first&) { return shown(); }
  answer operator()(const count_tube&) { return counted(); }
  answer operator()(const count_all&) { return counted(); }
  answer operator()(const list_jobs&) { return read_page_of_jobs(*from_, time_); }
  answer operator()(const list_tubes&) {
    if (is_page_) return read_page_of_tubes(*from_, time_);
    if (!from_->is_null(0, 0)) return tubes_answer{from_->texts(0, 0)};
    return unavailable_answer{false, "the database has too many tubes to list them in time"};
  }
  answer operator()(const list_nodes&) { return read_nodes(*from_, time_); }
  answer operator()(const list_due&) {
    if (from_->is_null(0, 0)) {
      return unavailable_answer{
          false, "the database has too many tubes, or too many dead rows of delayed jobs, to search them in time"};
    }
    due_answer result;
    std::vector<std::string> tubes = from_->texts(0, 1);
    const std::vector<std::int64_t> dues = from_->integers(0, 2);
    for (const std::int64_t id : from_->integers(0, 0)) {
      const std::size_t place = result.jobs.size();
      result.jobs.push_back({from_database(id), std::move(tubes[place]), job_state::delayed, utc_of(dues[place])});
    }
    return result;
  }

 private:
  answer answer_to_put() {
    if (is_plain_) {
      const std::int64_t id = numbers().at(index_);
      if (id == sql_constants::no_id) return is_elsewhere();
      if (id == no_room) return put_answer{put_answer::kind::no_space};
      return put_answer{put_answer::kind::inserted, from_database(id)};
    }
    const auto [what, id, version, is_replayed] = row();
    if (what == elsewhere) return is_elsewhere();
    if (what == passed_over) return passed_over_answer{};
    if (what == no_room) return put_answer{put_answer::kind::no_space};
    return put_answer{static_cast<put_answer::kind>(what), id, version, is_replayed};
  }
  answer is_elsewhere() {
    was_elsewhere_ = true;
    return passed_over_answer{};
  }
  [[nodiscard]] static bool has_put(const answer& it) {
    const auto* const made = std::get_if<put_answer>(&it);
    return made != nullptr && !is_refused(*made) && made->what != put_answer::kind::kept;
  }
  /// The first one that is not the answer of a put, or refuses it, is that of all.
  [[nodiscard]] static answer answer_of_all(const std::vector<answer>& each) {
    put_all_answer all;
    for (const answer& it : each) {
      const auto* const made = std::get_if<put_answer>(&it);
      if (made == nullptr) return it;
      if (is_refused(*made)) {
        return put_all_answer{.what = put_all_answer::kind::refused, .place = all.puts.size(), .why = *made};
      }
      all.puts.push_back(*made);
    }
    return all;
  }

  const std::vector<std::int64_t>& numbers() {
    if (numbers_.empty()) numbers_ = from_->integers(0, 0);
    return numbers_;
  }
  /// The numbers of an answer about a job that is named by its id or its key.
  struct named_row {
    std::int64_t what = 0;
    job_id id = 0;
    job_version version = 0;
    bool is_replayed = false;
  };
  named_row row() {
    const bool has_version = has_versions_ || is_once_ || is_all_once_;
    const std::size_t length = is_once_ ? 4 : has_version ? 3 : 2;
    const std::size_t begin = length * index_ + (is_all_once_ ? 1 : 0);
    return {numbers().at(begin), from_database(numbers().at(begin + 1)),
            has_version ? from_database(numbers().at(begin + 2)) : 0, is_once_ && numbers().at(begin + 3) != 0};
  }
  holder_answer held() {
    if (numbers().at(index_) == no_room) return holder_answer{holder_answer::kind::no_space};
    const bool is_held = numbers().at(index_) != reply::null_element;
    return holder_answer{is_held ? holder_answer::kind::done : holder_answer::kind::not_held};
  }
  answer changed() {
    const auto [what, id, version, is_replayed] = row();
    if (what == passed_over) return passed_over_answer{};
    if (what == no_room) return change_answer{change_answer::kind::no_space, id};
    return change_answer{static_cast<change_answer::kind>(what), id, version};
  }
  answer shown() const {
    if (from_->rows() == 0) return peek_answer{};
    if (from_->is_null(0, 0)) return passed_over_answer{};
    return peek_answer{read_job(*from_, 0, 1, static_cast<job_state>(from_->integer(0, 0)), time_),
                       utc_of(time_.now_ms), from_database(from_->integer(0, 17))};
  }
  count_answer counted() { return read_count(std::span(numbers()).first(numbers_of_count), time_); }

  const std::int64_t registration_;
  const std::int64_t opening_;
  const batch_time& time_;
  const reply* from_ = nullptr;
  std::size_t index_ = 0;
  bool is_plain_ = false;      // puts without keys
  bool has_versions_ = false;  // each row has one more number
  bool is_once_ = false;       // puts of which one happens once: each row has two more
  bool is_all_once_ = false;   // a put_all that does: the rows have versions, and one number before them
  bool is_page_ = false;       // of tubes
  bool was_elsewhere_ = false;
  bool has_put_some_ = false;
  std::vector<std::int64_t> numbers_;
  std::vector<reservation> of_others_;
};

}  // namespace

batch_plan::outcome batch_plan::read(std::span<const reply> replies, batch_time& time) const {
  outcome result;
  const reply& first = replies.front();
  time.now_ms = first.integer(0, 0);
  time.now_ns = first.integer(0, 1);
  const auto still = first.integers(0, 2);
  const auto ends = first.integers(0, 3);
  for (std::size_t i = 0; i < still.size(); ++i) {
    result.still.emplace_back(from_database(still[i]), time.to_local(ends[i]));
  }
  answer_reader reader(registration_, opening_, time);
  result.done.answers.reserve(batch_.size());
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    reader.take(calls_[places_[i].call].what(), replies[places_[i].call], places_[i].index);
    result.done.answers.push_back(std::visit(reader, batch_[i]));
    if (reader.was_elsewhere()) result.map.elsewhere.push_back(i);
    if (!result.undone && reader.has_put_some(result.done.answers.back())) result.undone = i;
  }
  result.of_others = reader.take_of_others();
  result.wants_heartbeat = has_heartbeat_ && replies[1].integer(0, 0) != 0;
  const reply& last = replies.back();
  if (!last.is_null(0, 0)) result.done.ready_tubes = last.texts(0, 0);
  if (!last.is_null(0, 1)) result.done.emptied_tubes = last.texts(0, 1);
  if (!last.is_null(0, 2)) result.next.due = time.to_local_due(last.integer(0, 2));
  if (!last.is_null(0, 3)) result.next.expiry = time.to_local(last.integer(0, 3));
  result.map.version = last.integer(0, 4);
  result.map.sends = last.integer(0, 5) != 0;
  if (!last.is_null(0, 6)) result.partition = last.integer(0, 6);
  return result;
}

}  // namespace foliot::jobs::detail

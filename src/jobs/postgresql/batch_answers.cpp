// What the replies to a batch say: see batch_plan.hpp.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "batch_plan.hpp"
#include "database_connection.hpp"
#include "database_integers.hpp"
#include "sql_constants.hpp"
#include "statements.hpp"

namespace foliot::jobs::detail {

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

/// Reads the answer to an operation from the reply to its call. Most calls return one array of numbers, which is read
/// once for all their operations.
class answer_reader {
 public:
  answer_reader(std::int64_t opening, const batch_time& time) : opening_(opening), time_(time) {}

  /// The next answer is the one at `index` of this reply. `is_plain`: of puts without keys.
  void take(const reply& from, std::size_t index, bool is_plain) {
    if (from_ != &from) numbers_.clear();
    from_ = &from;
    index_ = index;
    is_plain_ = is_plain;
    was_elsewhere_ = false;
  }
  /// Whether the last answer was that of a put into a tube that is in another database.
  [[nodiscard]] bool was_elsewhere() const noexcept { return was_elsewhere_; }

  answer operator()(const put&) {
    if (is_plain_) {
      const std::int64_t id = numbers().at(index_);
      if (id == sql_constants::no_id) return is_elsewhere();
      if (id == no_room) return put_answer{put_answer::kind::no_space};
      return put_answer{put_answer::kind::inserted, from_database(id)};
    }
    if (numbers().at(2 * index_) == elsewhere) return is_elsewhere();
    if (numbers().at(2 * index_) == passed_over) return passed_over_answer{};
    if (numbers().at(2 * index_) == no_room) return put_answer{put_answer::kind::no_space};
    return put_answer{static_cast<put_answer::kind>(numbers().at(2 * index_)),
                      from_database(numbers().at(2 * index_ + 1))};
  }
  answer operator()(const claim&) { return read_claim(*from_, opening_, time_); }
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
  answer operator()(const list_tubes&) {
    if (!from_->is_null(0, 0)) return tubes_answer{from_->texts(0, 0)};
    return unavailable_answer{false, "the database has too many tubes to list them in time"};
  }
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
  answer is_elsewhere() {
    was_elsewhere_ = true;
    return passed_over_answer{};
  }

  const std::vector<std::int64_t>& numbers() {
    if (numbers_.empty()) numbers_ = from_->integers(0, 0);
    return numbers_;
  }
  holder_answer held() {
    if (numbers().at(index_) == no_room) return holder_answer{holder_answer::kind::no_space};
    const bool is_held = numbers().at(index_) != reply::null_element;
    return holder_answer{is_held ? holder_answer::kind::done : holder_answer::kind::not_held};
  }
  answer changed() {
    if (numbers().at(2 * index_) == passed_over) return passed_over_answer{};
    const bool lacks_room = numbers().at(2 * index_) == no_room;
    if (lacks_room) return change_answer{change_answer::kind::no_space, from_database(numbers().at(2 * index_ + 1))};
    return change_answer{static_cast<change_answer::kind>(numbers().at(2 * index_)),
                         from_database(numbers().at(2 * index_ + 1))};
  }
  answer shown() const {
    if (from_->rows() == 0) return peek_answer{};
    if (from_->is_null(0, 0)) return passed_over_answer{};
    return peek_answer{read_job(*from_, 0, 1, static_cast<job_state>(from_->integer(0, 0)), time_),
                       utc_of(time_.now_ms)};
  }
  count_answer counted() {
    count_answer result;
    result.counts = {.urgent = from_database(numbers().at(0)),
                     .ready = from_database(numbers().at(1)),
                     .reserved = from_database(numbers().at(2)),
                     .delayed = from_database(numbers().at(3)),
                     .buried = from_database(numbers().at(4))};
    if (numbers().at(5) != reply::null_element) result.paused_until = time_.to_local(numbers().at(5));
    if (numbers().at(6) != 0) result.what = count_answer::kind::cut_short;
    return result;
  }

  const std::int64_t opening_;
  const batch_time& time_;
  const reply* from_ = nullptr;
  std::size_t index_ = 0;
  bool is_plain_ = false;
  bool was_elsewhere_ = false;
  std::vector<std::int64_t> numbers_;
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
  answer_reader reader(opening_, time);
  result.done.answers.reserve(batch_.size());
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const sql_statement* const what = &calls_[places_[i].call].what();
    const bool is_plain = what == &statements::put_plain || what == &statements::put_plain_with_fields;
    reader.take(replies[places_[i].call], places_[i].index, is_plain);
    result.done.answers.push_back(std::visit(reader, batch_[i]));
    if (reader.was_elsewhere()) result.map.elsewhere.push_back(i);
  }
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

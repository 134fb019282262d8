#include <foliot/jobs/database_map.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/limits.hpp>

#include "retrying_connection.hpp"
#include "sleep_for.hpp"
#include "sql_constants.hpp"
#include "statements.hpp"
#include "target.hpp"
#include "tube_map.hpp"

namespace foliot::jobs {

namespace {

using detail::call;
using detail::reply;
using detail::retrying_connection;
namespace statements = detail::statements;

/// The largest piece that moves at once.
constexpr std::int64_t most_jobs = 256;
constexpr std::int64_t most_bytes = std::int64_t{4} << 20;
/// How many records of operations that happen once are looked at for a page of them.
constexpr std::int64_t records_looked_at = 1024;
/// The pause between two looks at jobs that cannot be moved now.
constexpr duration pause_between_looks = std::chrono::milliseconds(100);

/// The jobs of a piece, as sent_jobs() gives them, in the form of take_piece().
struct piece_columns {
  explicit piece_columns(const reply& sent) {
    for (int row = 0; row < sent.rows(); ++row) {
      keys.push_back(sent.bytes(row, 1));
      bodies.push_back(sent.bytes(row, 2));
      for (const std::int64_t each : sent.integers(row, 3)) numbers.emplace_back(each);
      fields.push_back(sent.bytes(row, 4));
      histories.push_back(sent.bytes(row, 5));
    }
  }

  detail::sql_texts keys;
  detail::sql_texts bodies;
  detail::sql_integers numbers;
  detail::sql_texts fields;
  detail::sql_texts histories;
};

/// Pieces of other tubes on their way from the same database, which sends one piece at a time: while another process
/// moves one of these tubes, its pieces come and go.
class other_moves {
 public:
  /// This piece of another tube was met. Throws store_failure if it stays.
  void wait_for(std::int64_t piece, std::string_view tube, const retrying_connection& from) {
    const instant now = monotonic_clock::instance().now();
    if (std::exchange(piece_, piece) != piece) until_ = now + patience;
    if (now >= until_) {
      throw store_failure("jobs of the tube '" + std::string(tube) + "' have been on their way from " + from.place() +
                          " for " + std::to_string(patience.count() / 1'000'000'000) +
                          " s: its move was broken off, or is slow. Repeat that one, or wait for it, and then repeat "
                          "this one");
    }
    detail::sleep_for(pause);
  }

 private:
  static constexpr duration patience = std::chrono::seconds(5);
  static constexpr duration pause = std::chrono::milliseconds(5);

  std::int64_t piece_ = 0;
  instant until_ = instant::earliest();
};

/// Moves the piece that is on its way, if it is one of this tube; returns how many jobs it had.
std::uint64_t carry(retrying_connection& from, retrying_connection& to, int number, std::int64_t piece,
                    const std::string& tube, other_moves& others) {
  const reply sent = from.run(call(statements::sent_jobs));
  if (sent.rows() > 0 && sent.bytes(0, 0) != tube) {
    others.wait_for(piece, sent.bytes(0, 0), from);
    return 0;
  }
  if (sent.rows() > 0) {
    const piece_columns columns(sent);
    call taking(statements::take_piece);
    taking.add(std::int64_t{number}).add(piece).add(tube);
    try {
      taking.add(columns.keys).add(columns.bodies).add(columns.numbers);
      to.run(std::move(taking.add(columns.fields).add(columns.histories)));
    } catch (const store_failure& error) {
      throw store_failure(std::string(error.what()) + ". " + std::to_string(sent.rows()) + " jobs of the tube '" +
                          tube + "' are on their way: nobody gets them until the move is repeated");
    }
  }
  from.run(call(statements::forget_piece).add(piece));
  to.run(call(statements::tell_of).add(tube));
  return static_cast<std::uint64_t>(sent.rows());
}

/// Records of operations that happen once, as once_of_tube() gives them, in the form of take_once().
struct record_columns {
  explicit record_columns(const reply& page) {
    for (int row = 0; row + 1 < page.rows(); ++row) {
      keys.push_back(page.bytes(row, 0));
      requests.push_back(page.bytes(row, 1));
      kinds.emplace_back(page.integer(row, 2));
      ends.emplace_back(page.integer(row, 3));
      const std::vector<std::string> its_tubes = page.texts(row, 4);
      const std::vector<std::int64_t> its_numbers = page.integers(row, 5);
      tube_counts.emplace_back(static_cast<std::int64_t>(its_tubes.size()));
      number_counts.emplace_back(static_cast<std::int64_t>(its_numbers.size()));
      names.insert(names.end(), its_tubes.begin(), its_tubes.end());
      for (const std::int64_t each : its_numbers) numbers.emplace_back(each);
    }
  }

  detail::sql_texts keys;
  detail::sql_texts requests;
  detail::sql_integers kinds;
  detail::sql_integers ends;
  detail::sql_integers tube_counts;
  std::vector<std::string> names;
  detail::sql_integers number_counts;
  detail::sql_integers numbers;
};

/// Copies the records of operations on the tube that happen once.
void copy_records(retrying_connection& from, retrying_connection& to, const std::string& tube) {
  for (std::string after;;) {
    const reply page = from.run(call(statements::once_of_tube).add(tube).add(after).add(records_looked_at));
    const record_columns columns(page);
    if (!columns.keys.empty()) {
      call taking(statements::take_once);
      taking.add(columns.keys).add(columns.requests).add(columns.kinds).add(columns.ends).add(columns.tube_counts);
      taking.add(detail::sql_texts(columns.names.begin(), columns.names.end()));
      to.run(std::move(taking.add(columns.number_counts).add(columns.numbers)));
    }
    const int last = page.rows() - 1;
    if (page.is_null(last, 0)) return;
    after = page.bytes(last, 0);
  }
}

/// The same for all names of a database.
std::string identity(retrying_connection& of) { return std::string(of.run(call(statements::identity)).bytes(0, 0)); }

/// The number and the map that a database has stored.
struct membership {
  std::optional<int> number;  ///< none: it is the only one
  std::string map;

  explicit membership(retrying_connection& of) {
    const reply stored = of.run(call(statements::membership));
    if (!stored.is_null(0, 0)) number = static_cast<int>(stored.integer(0, 0));
    map = stored.bytes(0, 1);
  }
};

/// Whether a database takes no jobs, because its disk is full (sql/ballast.sql).
bool refuses_jobs(retrying_connection& of) { return of.run(call(statements::refuses_puts)).integer(0, 0) != 0; }

[[noreturn]] void fail_for_room(const retrying_connection& in) {
  throw store_failure("the database " + in.place() +
                      " has no room for new jobs: no job was sent to it. It takes some again within two minutes after "
                      "there is room on its disk; then repeat the move");
}

/// Since it was added, its connection string may have come to lead elsewhere.
void expect_number(retrying_connection& of, int number, retrying_connection& first) {
  const membership its(of);
  if (its.number == number && its.map == membership(first).map) return;
  throw store_failure(of.place() + " is not the database " + std::to_string(number) +
                      " of this map, by what is stored in it: it is another one, or was made anew, or restored to a "
                      "time before it was added");
}

}  // namespace

database_map::database_map(const std::string& first)
    : first_name_(first), first_(std::make_unique<retrying_connection>(first)) {
  const int number = membership(*first_).number.value_or(0);
  if (number > 0) {
    throw store_failure(first_->place() + " is the database " + std::to_string(number) +
                        " of several: name the first one, which has the map");
  }
}

database_map::~database_map() = default;

const std::string& database_map::place() const noexcept { return first_->place(); }

std::vector<database_map::database> database_map::databases() {
  const detail::tube_map map(first_->run(call(statements::read_databases)), first_->run(call(statements::read_places)));
  std::vector<database> all;
  for (const auto& [number, connection] : map.databases()) {
    all.push_back({number, connection, detail::target(connection).to_string()});
  }
  return all;
}

std::vector<database_map::tube_place> database_map::places() {
  const detail::tube_map map(first_->run(call(statements::read_databases)), first_->run(call(statements::read_places)));
  std::vector<tube_place> all;
  for (const auto& [tube, where] : map.places()) all.push_back({tube, where.database, where.before});
  return all;
}

int database_map::add(const std::string& connection) {
  retrying_connection added(connection);
  if (identity(added) == identity(*first_)) {
    throw store_failure(added.place() + " is the first database itself");
  }
  if (const membership its(added); its.number) {
    if (its.map != membership(*first_).map) {
      throw store_failure(added.place() + " is the database " + std::to_string(*its.number) + " of another map");
    }
    return add_again(*its.number, connection, added.place());
  }
  for (const database& each : databases()) {
    if (each.connection == connection) expect_number(added, each.number, *first_);  // it has none: this throws
  }
  if (added.run(call(statements::has_job)).integer(0, 0) != 0) {
    throw store_failure("the database " + added.place() + " has jobs: only one without jobs can become one of several");
  }
  const std::int64_t number = first_->run(call(statements::plan_database).add(connection)).integer(0, 0);
  const std::int64_t above = first_->run(call(statements::last_id)).integer(0, 0);
  added.run(call(statements::become_database).add(number).add(membership(*first_).map).add(above));
  first_->run(call(statements::place_database).add(number).add(connection));
  return static_cast<int>(number);
}

int database_map::add_again(int number, const std::string& connection, const std::string& place) {
  for (const database& each : databases()) {
    if (each.number != number) continue;
    if (each.connection == connection) return number;
    const std::string its_number = std::to_string(number);
    throw store_failure(place + " is in the map already: it is the database " + its_number + ", " + each.place +
                        "; to change its connection string, use `foliot map … --rename " + its_number + " …`");
  }
  first_->run(call(statements::place_database).add(std::int64_t{number}).add(connection));
  return number;
}

void database_map::rename(int number, const std::string& connection) {
  if (number == 0) {
    throw std::invalid_argument(
        "foliot: the map has no connection string of the database 0: each node gets its own, with --store");
  }
  static_cast<void>(connection_of(number));
  retrying_connection renamed(connection);
  expect_number(renamed, number, *first_);
  first_->run(call(statements::rename_database).add(std::int64_t{number}).add(connection));
}

void database_map::remove(int number, bool is_lost) {
  if (number == 0) throw std::invalid_argument("foliot: the database 0 has the map, and cannot leave it");
  const std::string connection = connection_of(number);
  if (!is_lost) {
    retrying_connection removed(connection);
    expect_number(removed, number, *first_);
    if (removed.run(call(statements::has_job)).integer(0, 0) != 0) {
      throw store_failure("the database " + std::to_string(number) + ", " + removed.place() +
                          ", has jobs: move its tubes to another one first");
    }
  }
  first_->run(call(statements::remove_database).add(std::int64_t{number}));
}

std::string database_map::connection_of(int number) {
  if (number == 0) return first_name_;
  for (const database& each : databases()) {
    if (each.number == number) return each.connection;
  }
  throw std::invalid_argument("foliot: there is no database with the number " + std::to_string(number));
}

void database_map::move(const std::string& tube, int to, const std::function<bool(const progress&)>& tell) {
  if (const auto problem = validate(count_tube{tube}, {})) throw std::invalid_argument("foliot: " + *problem);
  retrying_connection target(connection_of(to));
  if (to != 0) expect_number(target, to, *first_);
  const auto moves = [&](const tube_place& each) { return each.tube == tube && each.before; };
  if (refuses_jobs(target) && std::ranges::none_of(places(), moves)) fail_for_room(target);
  const reply planned = first_->run(call(statements::plan_move).add(tube).add(std::int64_t{to}));
  if (planned.is_null(0, 0)) return;  // it is there
  const int from = static_cast<int>(planned.integer(0, 0));
  retrying_connection source(connection_of(from));
  if (from != 0) expect_number(source, from, *first_);
  const std::int64_t above = source.run(call(statements::leave).add(tube)).integer(0, 0);
  target.run(call(statements::join).add(tube).add(above));
  other_moves others;
  progress so_far;
  if (tell && !tell(so_far)) return;
  for (;;) {
    // A piece that was sent before is to arrive, or to be forgotten if it has.
    const bool has_room = !refuses_jobs(target);
    const std::int64_t most = has_room ? most_jobs : 0;
    const reply piece = source.run(call(statements::send_piece).add(tube).add(most).add(most_bytes));
    so_far.waits = piece.is_null(0, 0);
    if (so_far.waits && piece.integer(0, 1) == 0) break;
    if (so_far.waits && !has_room) fail_for_room(target);
    if (!so_far.waits) so_far.jobs += carry(source, target, from, piece.integer(0, 0), tube, others);
    if (tell && !tell(so_far)) return;
    if (so_far.waits) detail::sleep_for(pause_between_looks);
  }
  copy_records(source, target, tube);
  source.run(call(statements::has_left).add(tube));
  first_->run(call(statements::end_move).add(tube));
}

}  // namespace foliot::jobs

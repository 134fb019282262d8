#include <foliot/jobs/database_map.hpp>

#include <poll.h>

#include <stdexcept>
#include <utility>

#include "database_integers.hpp"
#include "errand.hpp"
#include "statements.hpp"
#include "target.hpp"
#include "tube_map.hpp"

namespace foliot::jobs {

namespace {

using detail::call;
using detail::errand;
using detail::reply;
namespace statements = detail::statements;

/// Of a piece that moves.
constexpr std::int64_t most_jobs = 256;
constexpr std::int64_t most_bytes = std::int64_t{4} << 20;
/// Between two looks at jobs that cannot be moved now, in ms.
constexpr int pause_between_looks = 100;

/// The jobs of a piece, as sent_piece() gives them, in the form of take_piece().
struct piece_columns {
  explicit piece_columns(const reply& sent) {
    for (int row = 0; row < sent.rows(); ++row) {
      keys.push_back(sent.bytes(row, 1));
      bodies.push_back(sent.bytes(row, 2));
      for (const std::int64_t each : sent.integers(row, 3)) numbers.emplace_back(each);
    }
  }

  detail::sql_texts keys;
  detail::sql_texts bodies;
  detail::sql_integers numbers;
};

/// Moves the piece that is on its way; returns how many jobs it had.
std::uint64_t carry(errand& from, errand& to, int number, std::int64_t piece, const std::string& tube) {
  const reply sent = from.run(call(statements::sent_piece));
  if (sent.rows() > 0) {
    if (sent.bytes(0, 0) != tube) {
      throw store_failure("foliot: the move of the tube '" + std::string(sent.bytes(0, 0)) + "' from " + from.place() +
                          " was broken off: it must be ended first");
    }
    const piece_columns columns(sent);
    call taking(statements::take_piece);
    taking.add(std::int64_t{number}).add(piece).add(tube);
    to.run(taking.add(columns.keys).add(columns.bodies).add(columns.numbers));
  }
  from.run(call(statements::forget_piece).add(piece));
  to.run(call(statements::tell_of).add(tube));
  return static_cast<std::uint64_t>(sent.rows());
}

/// The same for all names of a database.
std::string identity(errand& of) { return std::string(of.run(call(statements::identity)).bytes(0, 0)); }

}  // namespace

database_map::database_map(const std::string& first) : first_name_(first), first_(std::make_unique<errand>(first)) {
  const reply number = first_->run(call(statements::number_of_database));
  if (number.integer(0, 0) > 0) {
    throw store_failure("foliot: " + first_->place() + " is the database " + std::to_string(number.integer(0, 0)) +
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
  errand added(connection);
  if (identity(added) == identity(*first_)) {
    throw store_failure("foliot: " + added.place() + " is the first database itself");
  }
  if (added.run(call(statements::has_job)).integer(0, 0) != 0) {
    for (const database& each : databases()) {
      if (each.connection == connection) return each.number;
    }
    throw store_failure("foliot: the database " + added.place() +
                        " has jobs: only one without jobs can become one of several");
  }
  const reply number = first_->run(call(statements::add_database).add(connection));
  added.run(call(statements::become_database).add(number.integer(0, 0)));
  return static_cast<int>(number.integer(0, 0));
}

std::string database_map::connection_of(int number) {
  if (number == 0) return first_name_;
  for (const database& each : databases()) {
    if (each.number == number) return each.connection;
  }
  throw std::invalid_argument("foliot: there is no database with the number " + std::to_string(number));
}

void database_map::move(const std::string& tube, int to, const std::function<bool(const progress&)>& tell) {
  if (tube.empty()) throw std::invalid_argument("foliot: the name of a tube must not be empty");
  errand target(connection_of(to));
  const reply planned = first_->run(call(statements::plan_move).add(tube).add(std::int64_t{to}));
  if (planned.is_null(0, 0)) return;  // it is there
  const int from = static_cast<int>(planned.integer(0, 0));
  errand source(connection_of(from));
  const std::int64_t above = source.run(call(statements::leave).add(tube)).integer(0, 0);
  target.run(call(statements::join).add(tube).add(above));
  progress so_far;
  if (tell && !tell(so_far)) return;
  for (;;) {
    const reply piece = source.run(call(statements::send_piece).add(tube).add(most_jobs).add(most_bytes));
    so_far.waits = piece.is_null(0, 0);
    if (so_far.waits && piece.integer(0, 1) == 0) break;
    if (!so_far.waits) so_far.jobs += carry(source, target, from, piece.integer(0, 0), tube);
    if (tell && !tell(so_far)) return;
    if (so_far.waits) static_cast<void>(::poll(nullptr, 0, pause_between_looks));
  }
  source.run(call(statements::has_left).add(tube));
  first_->run(call(statements::end_move).add(tube));
}

}  // namespace foliot::jobs

// The route of one operation through several databases: which of them it goes to, one after the other or all at once,
// and how their answers are joined. Both are planned before anything executes, and planned again only for a newer map.
//
// A tube that moves has jobs in two databases, and they only go from the older place to the newer one. So a job is
// looked for at the older place first. A job that is named by its id may be in any database; if jobs were just leaving
// one that it was not found in, it is looked for once more.
//
// Where several databases could have the record of an operation that happens once, all of them are asked for it first,
// at once. Only if none has one is the operation executed. So a claim that is sent again does not claim anew where it
// has got nothing; and a put_all is answered once more though its tubes have come to several databases since.
//
// It refers to its caller's operation, and has no copy of it. The operation must live as long as this, and nobody else
// may change it meanwhile, except the database that executes it. It is moved out only for a share, and is back before
// it can be sent again. Only its count, if it has one, falls to what is missing.
//
// No connection, no clock: a value that its answers change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <foliot/jobs/operations.hpp>

#include "database_set.hpp"
#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::detail {

/// The databases that may have to do with an operation, in the order in which they are asked one after the other.
struct route {
  database_set databases = {};  ///< at least one, but for a put_all that none can execute
  int begin = 0;                ///< one of them; the next ones are above it in ascending order, and then from 0 on
};

class routed_operation {
 public:
  /// Plans the route by this map. `first`: at which of its databases a claim begins; any number.
  routed_operation(operation& what, const tube_map& map, std::size_t first);

  /// The operation. While a database has it, it has been moved out, from share() until take_back().
  [[nodiscard]] const operation& what() const noexcept { return *what_; }
  /// The databases that execute the operation now, all at once; empty when it is complete.
  [[nodiscard]] database_set next() const noexcept { return next_; }
  /// Whether next() is this database alone, and it executes all that is left of the operation: then it can execute
  /// what() itself, and share() need not be called. Not so where it has only some of the tubes of a claim.
  [[nodiscard]] bool is_whole_for(int database, const tube_map& map) const;
  /// Sets the count of what() to how many jobs are still missing.
  void reduce();
  /// The operation for this database, which is one of next(): what it has of the tubes of a claim, and how many jobs
  /// are still missing.
  [[nodiscard]] operation share(int database, const tube_map& map);
  void take_back(operation&& share);

  /// Takes the answer of this database. `sends`: jobs are leaving this database.
  void take(int database, answer&& got, bool sends);
  /// The database has refused the put, because its tube is in another one.
  void take_elsewhere(int database);
  /// The database did not execute the operation, or that is in doubt.
  void take_refusal(int database, bool is_in_doubt, const std::string& why);
  /// The map has changed and cannot be read, so a job that was not found may be in a database that this node does not
  /// know of. Such an answer becomes unavailable_answer. A put needs none of this: its database refuses it if the tube
  /// has left.
  void take_doubt(const std::string& why);
  /// Plans the rest of the route again, because the map has changed. next() stays as it is until go_on().
  void follow(const tube_map& map);
  /// Sets next(). Precondition: all databases in next() have answered, and the map of the route is at least as new as
  /// their answers.
  void go_on();

  /// Whether next() has a database.
  [[nodiscard]] bool is_under_way() const noexcept { return !next_.empty(); }
  /// Whether this is a put that no database took, or a put_all for which an old map has none. It may begin again once
  /// the map has changed.
  [[nodiscard]] bool is_unplaced() const noexcept {
    return next_.empty() && (is_elsewhere_ || (had_no_route_ && !result_ && !refused_ && !has_new_map_));
  }
  void begin_again(const tube_map& map);

  /// Precondition: next() is empty.
  [[nodiscard]] answer result();

 private:
  [[nodiscard]] bool is_complete() const;
  void set_next();

  operation* what_;
  std::uint64_t wanted_;  // how many jobs, if answers are joined until there are enough
  std::size_t first_;
  operation_spread spread_;
  route route_;
  database_set to_ask_;  // for the record of an operation that happens once
  database_set next_;
  database_set asked_;
  std::optional<answer> result_;  // of all so far
  std::optional<unavailable_answer> refused_;
  std::optional<answer> no_route_;  // that of a put_all, if the map has no database for it
  bool asks_;                       // next() is only to look for a record
  bool is_out_ = false;             // the operation, in a share
  bool had_no_route_ = false;       // so it was not sent, though the map that was followed since may have one
  bool is_elsewhere_ = false;       // the last answer
  bool has_new_map_ = false;        // it has begun again
  bool sends_ = false;
  bool looks_again_ = false;
};

}  // namespace foliot::jobs::detail

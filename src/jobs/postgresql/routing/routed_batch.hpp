// A batch on its way through the databases. What each database executes in a round, and how the answers are joined, is
// planned by the map before anything executes.
//
//   routed_batch batch(operations, map, turn);
//   for (auto round = batch.next_round(); !round.empty(); round = batch.next_round()) {
//     for (auto& [database, its] : round) batch.take(database, its, answers, shown);
//     batch.go_on();
//   }
//   return batch.answers();
//
// Most batches take one round. An operation that may go to several databases, one after the other, takes a round for
// each, until its answer is complete (routed_operation.hpp).
//
// It refers to its caller's operations, which must live as long as the batch, and which nobody else may change
// meanwhile. A database that executes all that is left of the batch gets the caller's operations themselves: so nothing
// is copied or moved for the only database of a map. If several databases have a part, the operations are moved into
// their shares and back. In both cases each operation is where the caller had it once its share was taken or refused.
//
// No connection, no clock: a value that its answers change. O(1) for an operation and a database that it goes to, and
// O(log n) for n tubes that are not in the first database.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <foliot/jobs/operations.hpp>

#include "jobs/postgresql/batch_plan.hpp"
#include "jobs/postgresql/tube_map.hpp"
#include "routed_operation.hpp"

namespace foliot::jobs::detail {

class routed_batch {
 public:
  /// What one database executes in one round.
  struct share {
    std::span<operation> operations = {};  ///< in the order of the batch: the caller's own, or those of `moved`
    std::vector<std::size_t> of = {};      ///< for each of them, its place in the batch
    std::vector<operation> moved = {};     ///< where several databases execute the batch, or only some of it
  };
  /// The shares of a round by the numbers of their databases.
  using round = std::map<int, share>;

  /// Plans the batch. `first`: at which of its databases a claim begins; any number.
  routed_batch(std::span<operation> batch, std::shared_ptr<const tube_map> map, std::size_t first);

  /// Whether the batch has no operation.
  [[nodiscard]] bool is_empty() const noexcept { return operations_.empty(); }
  /// What the databases execute next; empty: all operations are complete, or unplaced.
  [[nodiscard]] round next_round();
  /// Takes the answers of a database to its share, and what it has shown of the map.
  void take(int database, share& executed, std::vector<answer>& answers, const map_state& shown);
  /// The database has not executed its share, or that is in doubt.
  void take_refusal(int database, share& refused, bool is_in_doubt, const std::string& why);
  /// From now on this is the map. Precondition: each share of the round was taken or refused.
  void follow(std::shared_ptr<const tube_map> map);
  /// This database knows a newer map, which cannot be read: see routed_operation::take_doubt(). Precondition: that of
  /// follow().
  void take_doubt(int database, const std::string& why);
  /// Ends the round. Precondition: that of follow().
  void go_on();

  /// Whether there is a put that no database has taken.
  [[nodiscard]] bool has_unplaced() const;
  /// Lets those puts begin again, by a newer map.
  void begin_again(std::shared_ptr<const tube_map> map);

  /// The answers in the order of the operations. Precondition: next_round() is empty.
  [[nodiscard]] std::vector<answer> answers();
  /// The operation at this place. Precondition: no database has it.
  [[nodiscard]] const operation& at(std::size_t place) const { return operations_[place].what(); }

 private:
  /// The database that executes all operations of the batch as they are in this round, if there is one.
  [[nodiscard]] std::optional<int> only_database() const;

  const std::span<operation> batch_;
  std::shared_ptr<const tube_map> map_;
  std::vector<routed_operation> operations_;
};

}  // namespace foliot::jobs::detail

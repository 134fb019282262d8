// The route of one operation through several databases: which of them it goes to, one after the other or all at once,
// and what the answers of all make together.
//
// A tube that moves has jobs in two databases, and they only go from the older place to the newer one. So a job is
// looked for at the older place first. A job that is named by its id may be in any database; if jobs were just leaving
// one that it was not found in, it is looked for once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <foliot/jobs/operations.hpp>

#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::detail {

class routed_operation {
 public:
  /// `first`: at which of its databases a claim begins; any number.
  routed_operation(operation&& what, const tube_map& map, std::size_t first);

  /// The operation. A put has been moved out from share() until take_back().
  [[nodiscard]] const operation& what() const noexcept { return what_; }
  /// The databases that execute the operation now, all at once; empty when it is complete.
  [[nodiscard]] const std::vector<int>& next() const noexcept { return next_; }
  /// The operation for this database. The body of a put is moved out, until take_back().
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
  /// Sets next(). Precondition: all databases in next() have answered, and the map is at least as new as their answers.
  void go_on(const tube_map& map);

  /// Whether this is a put that no database took. It may begin again once the map has changed.
  [[nodiscard]] bool is_unplaced() const noexcept { return next_.empty() && is_elsewhere_; }
  void begin_again(const tube_map& map);

  /// Precondition: next() is empty.
  [[nodiscard]] answer result();

 private:
  /// How the answers of several databases make one.
  enum class kind : std::uint8_t {
    taken,     ///< the first database that takes it has the answer
    found,     ///< the first one that finds the job has it
    filled,    ///< one after the other until there is enough
    together,  ///< all of them
  };
  [[nodiscard]] static kind kind_of(const operation& what);
  [[nodiscard]] bool is_complete() const;
  void set_next(const tube_map& map);

  operation what_;
  kind kind_;
  std::size_t first_;
  std::set<int> asked_;
  std::vector<int> next_;
  std::optional<answer> result_;  // of all so far
  std::optional<unavailable_answer> refused_;
  bool is_elsewhere_ = false;  // the last answer
  bool sends_ = false;
  bool looks_again_ = false;
};

}  // namespace foliot::jobs::detail

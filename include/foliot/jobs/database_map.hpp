// The map of tubes to PostgreSQL databases, for a job store that has outgrown one (postgresql_store.hpp). The first
// database has the map, and all tubes that are nowhere else.
//
//   foliot::jobs::database_map map("postgresql://db1,db2/jobs");         // the first database, as all nodes name it
//   const int second = map.add("postgresql://db3,db4/jobs");            // has no jobs
//   map.move("mails", second);                                          // while nodes are running
//
// A tube moves while its jobs are put, claimed and finished: nothing is lost, and nothing is doubled. Meanwhile it has
// jobs in both databases: a claim takes from one of them first, so the order of all holds again at the end. A tube that
// is paused is paused in the database that it leaves only.
//
// The role needs the rights of migrate(). Thread safety: one thread at a time.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>

namespace foliot::jobs {
namespace detail {
class retrying_connection;
}  // namespace detail

/// The map, over connections of its own. Each call takes some round trips; move() takes about as long as it takes to
/// put the jobs of the tube once more.
class FOLIOT_EXPORT database_map {
 public:
  /// Connects to the first database. Throws store_failure: it cannot be reached, has no schema, or is not the first
  /// one.
  explicit database_map(const std::string& first);
  ~database_map();
  database_map(const database_map&) = delete;
  database_map& operator=(const database_map&) = delete;

  /// One of the databases but for the first one, which has the number 0.
  struct database {
    int number = 0;
    std::string connection;
    std::string place;  ///< for people: without a password

    friend bool operator==(const database&, const database&) = default;
  };
  /// A tube that is not in the first database, or moves from `before` to `database`.
  struct tube_place {
    std::string tube;
    int database = 0;
    std::optional<int> before = std::nullopt;

    friend bool operator==(const tube_place&, const tube_place&) = default;
  };
  /// The first database, for people.
  [[nodiscard]] const std::string& place() const noexcept;
  /// By their numbers.
  [[nodiscard]] std::vector<database> databases();
  /// By their names.
  [[nodiscard]] std::vector<tube_place> places();

  /// Adds a database, which must have the schema and no job; returns its number. The same one again does nothing, but
  /// under another connection string it is refused. If it is refused, nodes see the map as it was. It may be
  /// repeated, also if the process ended in the middle.
  int add(const std::string& connection);
  /// Changes the connection string of the database with this number. Throws store_failure, and changes nothing, if what
  /// the string leads to is not that database; std::invalid_argument if there is none with the number, or if it is 0.
  /// Nodes that are running use the new string for their next connections to it.
  void rename(int number, const std::string& connection);

  /// Takes the database with this number, which has no tube and no job, out of the map: nodes that are running leave
  /// it. It may be added again, and has its number then. `is_lost`: it is not asked whether it has jobs, for it will
  /// never answer again. Throws store_failure, and changes nothing, if it has a tube or a job, or does not answer;
  /// std::invalid_argument if there is none with the number, or if it is 0.
  void remove(int number, bool is_lost = false);

  /// What has moved so far.
  struct progress {
    std::uint64_t jobs = 0;
    bool waits = false;  ///< for jobs that workers have, or that are locked
  };
  /// Moves a tube to the database with this number, and waits until no job of it is left where it was: those that
  /// workers have move when they are given back. `tell` gets the progress before the first and after each piece of up
  /// to 256 jobs, and while it waits, and ends the move by returning false, or by throwing: then the tube goes on to
  /// have jobs in both databases. A move that has not ended goes on when it is asked for again. If the process ends
  /// within a piece, its jobs are in neither database until then. Other processes may move other tubes meanwhile; a
  /// database sends one piece at a time. Throws std::invalid_argument, or store_failure if a database cannot be reached
  /// for 5 s, or stops answering for 30 s, or if a piece of another tube does not arrive.
  void move(const std::string& tube, int to, const std::function<bool(const progress&)>& tell = {});

 private:
  [[nodiscard]] std::string connection_of(int number);
  /// Of a database that has this number in this map already. Ends an add() that was interrupted.
  int add_again(int number, const std::string& connection, const std::string& place);

  std::string first_name_;
  std::unique_ptr<detail::retrying_connection> first_;
};

}  // namespace foliot::jobs

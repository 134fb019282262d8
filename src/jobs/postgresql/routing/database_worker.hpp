// One of the databases of a map, with a thread of its own if there are several: so that the databases execute their
// shares of a batch in parallel, and one that does not answer delays the others only until it is known to be down.
//
// Thread safety: one thread at a time, except other_nodes of the node.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "jobs/postgresql/batch_plan.hpp"
#include "jobs/postgresql/postgresql_node.hpp"
#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::detail {

/// The outcome of one share of a batch.
struct share_outcome {
  execution done = {};
  map_state map = {};
  next_change next = {};
  std::optional<tube_map> map_read = std::nullopt;  // by begin_to_read_map()
  std::exception_ptr failure = nullptr;

  /// Whether the share has failed such that it may have been executed.
  [[nodiscard]] bool is_in_doubt() const;
  /// Throws the failure, unless it means that the database is down: store_unavailable, or store_failure, as if its
  /// schema is away. Precondition: there is a failure.
  void rethrow_unless_down() const;
};

class database_worker {
 public:
  /// Of the database that this node uses.
  database_worker(postgresql_options options, std::unique_ptr<postgresql_node> node);
  /// `options` name the database. The first share opens it.
  database_worker(postgresql_options options, std::shared_ptr<database_access> access);
  /// Waits for the share that is being executed.
  ~database_worker();
  database_worker(const database_worker&) = delete;
  database_worker& operator=(const database_worker&) = delete;

  /// Whether the thread executes the shares that begin from now on; else the caller's does, before begin() returns.
  /// At first the caller's.
  void use_thread(bool uses) noexcept { uses_thread_ = uses; }
  /// Begins to execute a share: opens the database first, unless it is open. Precondition: nothing is being executed,
  /// and the operations live until it is. The first call that needs the thread starts it: throws std::system_error if
  /// there is none.
  void begin(std::span<operation> share) FOLIOT_EXCLUDES(lock_);
  /// Begins to read the map, as if that were a share. Precondition: as that of begin(), and of the node's read_map().
  void begin_to_read_map() FOLIOT_EXCLUDES(lock_);
  /// Begins to close the node, in the same way.
  void begin_to_close() FOLIOT_EXCLUDES(lock_);
  /// Whether the share has been executed, or none was begun.
  [[nodiscard]] bool is_idle() const FOLIOT_EXCLUDES(lock_);
  /// Waits until the share that was begun has been executed, or until `deadline`; may return earlier.
  void wait_until(instant deadline) FOLIOT_EXCLUDES(lock_);
  /// Waits until the share that was begun has been executed, and returns why that has failed, if it has. The outcome is
  /// still there for take(), which must not have been called since begin().
  [[nodiscard]] std::exception_ptr wait() FOLIOT_EXCLUDES(lock_);
  /// Waits for the outcome of the share that was begun.
  [[nodiscard]] share_outcome take() FOLIOT_EXCLUDES(lock_);
  /// The node; null: the database could not be reached yet. Precondition: idle.
  [[nodiscard]] postgresql_node* node() noexcept { return node_.get(); }
  [[nodiscard]] const std::string& database() const noexcept { return options_.database; }
  /// As postgresql_node::connect_to(). Precondition: idle.
  void connect_to(const std::string& database);

 private:
  enum class task : std::uint8_t { execute, read_map, close };

  void run() noexcept;
  void open();
  [[nodiscard]] share_outcome execute(std::span<operation> share) noexcept;
  [[nodiscard]] share_outcome read_map() noexcept;
  [[nodiscard]] share_outcome close() noexcept;
  [[nodiscard]] share_outcome perform(std::span<operation> share, task what) noexcept;
  void begin(std::span<operation> share, task what) FOLIOT_EXCLUDES(lock_);

  postgresql_options options_;
  const std::shared_ptr<database_access> access_;  // null: there has always been a node
  bool uses_thread_ = false;                       // of the caller's thread
  std::unique_ptr<postgresql_node> node_;          // of the thread while a share is being executed
  mutable mutex lock_{lock_rank::object};
  condition changed_;
  std::optional<std::span<operation>> share_ FOLIOT_GUARDED_BY(lock_);
  task task_ FOLIOT_GUARDED_BY(lock_) = task::execute;  // of the share, or instead of it
  std::optional<share_outcome> outcome_ FOLIOT_GUARDED_BY(lock_);
  bool ending_ FOLIOT_GUARDED_BY(lock_) = false;
  seam::thread thread_;
};

}  // namespace foliot::jobs::detail

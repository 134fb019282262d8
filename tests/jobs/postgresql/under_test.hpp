// postgresql_store for the suites that reopen stores: on a database of its own, by the role that docs/serve/nodes.md
// describes, over connections that break on demand, while the partitions of its tables change all the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "broken_connection.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "jobs/conformance/conformance.hpp"
#include "jobs/postgresql/postgresql_node.hpp"
#include "node_role.hpp"

namespace foliot::jobs::conformance {

class postgresql_under_test final : public store_under_test {
 public:
  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    *breaks_ = {};
    if (database_.empty()) {
      database_ = foliot_test::new_database();
      for_nodes_ = foliot_test::as_node_role(database_);
      rotation_ = std::make_shared<rotation>(database_);
    }
    postgresql_options options = foliot_test::options_of(for_nodes_, "node", std::chrono::seconds(5));
    options.clocks = clocks;
    return detail::postgresql_node::as_store(std::make_unique<detail::postgresql_node>(
        options, [breaks = breaks_, rotation = rotation_](int socket, detail::exchange_point at) {
          // Not while the server executes a batch: a claim would pass over the job that is just being moved.
          if (at == detail::exchange_point::answered) rotation->step();
          breaks->step(socket);
        }));
  }
  bool durable() const override { return true; }
  /// The process dies: the session stays open.
  void crash() override { breaks_->for_ever = true; }
  bool fail_call(std::uint64_t n) override {
    breaks_->steps = n;
    return true;
  }

 private:
  struct breaks {
    std::uint64_t steps = 0;  // until the connection breaks; 0: it does not
    bool for_ever = false;

    void step(int socket) {
      const bool now = steps != 0 && --steps == 0;
      if (now || for_ever) foliot_test::break_connection(socket);
    }
  };

  /// Rotates the partitions, moves resting jobs, and truncates empty partitions, also between the statements of a batch
  /// and its commit.
  class rotation {
   public:
    explicit rotation(const std::string& database) : over_(database) { over_.sql("SET lock_timeout = '1ms'"); }
    void step() {
      if (++steps_ % 2 != 0) return;
      for (const char* table : tables) foliot_test::age_partitions(over_, table, std::chrono::minutes(2));
      over_.sql("SELECT foliot.move_resting()");
      for (const char* table : tables) {
        // A batch under way has locks.
        static_cast<void>(over_.error_of(std::string("SELECT foliot.rotate_table('") + table + "', 0, '0 s')"));
      }
    }

   private:
    static constexpr const char* tables[] = {"delayed", "ready", "reserved", "job", "batch"};
    foliot_test::postgresql_connection over_;
    std::uint64_t steps_ = 0;
  };

  std::string database_;  // empty: the store was not opened yet
  std::string for_nodes_;
  std::shared_ptr<rotation> rotation_;
  std::shared_ptr<breaks> breaks_ = std::make_shared<breaks>();
};

}  // namespace foliot::jobs::conformance

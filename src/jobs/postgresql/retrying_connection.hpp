// A connection that executes one call after the other, each as a transaction, and repeats a call when the connection
// fails. So each call must be harmless if it is executed twice. One thread at a time.
//
// Each transaction begins with the check whether the schema admits this program (sql/admit.sql): between two of them a
// newer program may have migrated the schema.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <foliot/core/instant.hpp>

#include "call.hpp"
#include "database_connection.hpp"
#include "target.hpp"

namespace foliot::jobs::detail {

class retrying_connection {
 public:
  /// `first_patience` is for the first connection: if it fails, the connection string is probably wrong.
  explicit retrying_connection(const std::string& database, duration patience = std::chrono::seconds(30),
                               duration first_patience = std::chrono::seconds(5))
      : target_(database), patience_(patience), first_patience_(first_patience) {}

  /// Executes the call, unless the schema is older than the program needs, or for newer programs only by now. Throws
  /// store_failure in these cases, and if the database does not answer within that time, or refuses the call.
  reply run(call what);
  [[nodiscard]] const std::string& place() const noexcept { return target_.to_string(); }

 private:
  target target_;
  const duration patience_;
  const duration first_patience_;
  bool has_connected_ = false;
  const exchange_step no_step_;
  std::unique_ptr<database_connection> connection_;
};

}  // namespace foliot::jobs::detail

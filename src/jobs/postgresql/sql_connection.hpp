// The real side of node_connection.hpp: the SQL of the store over libpq.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "node_connection.hpp"

namespace foliot::jobs::detail {

class sql_access final : public database_access {
 public:
  /// `at_step` is for tests; see database_connection.
  explicit sql_access(exchange_step at_step = {}) : at_step_(std::move(at_step)) {}

  [[nodiscard]] std::unique_ptr<node_connection> connect(target& to, const warning& warn) override;
  [[nodiscard]] std::unique_ptr<node_listener> listen(const std::string& database, duration scan_every) override;
  /// Without `at_step`.
  [[nodiscard]] std::shared_ptr<database_access> of_other_databases() override;

 private:
  const exchange_step at_step_;
};

}  // namespace foliot::jobs::detail

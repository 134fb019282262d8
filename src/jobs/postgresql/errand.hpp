// One call after the other to a database, each as a transaction, which is tried again when the connection fails. So the
// calls must be such that they may be executed twice.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <foliot/core/instant.hpp>

#include "call.hpp"
#include "lane.hpp"
#include "reply.hpp"
#include "target.hpp"

namespace foliot::jobs::detail {

class errand {
 public:
  explicit errand(const std::string& database, duration patience = std::chrono::seconds(30))
      : target_(database), patience_(patience) {}

  /// Throws store_failure after `patience`, and if the database refuses the call.
  reply run(const call& what);
  [[nodiscard]] const std::string& place() const noexcept { return target_.to_string(); }

 private:
  target target_;
  const duration patience_;
  const lane_step no_step_;
  std::unique_ptr<lane> lane_;
};

}  // namespace foliot::jobs::detail

// Checks that a piece of code needs each of its memory orders.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check.hpp"

namespace foliot::model {

/// Each memory order of `body`, weakened alone by one step, must make an execution fail, except those that `without`
/// names as "file order -> order": these must not.
inline void needs_its_orders(const options& with, const std::function<void()>& body,
                             const std::vector<std::string>& without = {}) {
  const support::leaks_ignored for_what_is_abandoned;
  std::vector<bool> met(without.size());
  for (const audited& each : audit(with, body)) {
    const std::string what = each.weakened.describe();
    bool needed = true;
    for (std::size_t i = 0; i < without.size(); ++i) {
      if (each.weakened.describe(false) == without[i]) {
        needed = false;
        met[i] = true;
      }
    }
    std::printf("%s: %s: %s\n", with.name.c_str(), what.c_str(),
                each.found.failed ? each.found.failed->what.c_str() : "nothing is found");
    EXPECT_EQ(each.found.failed.has_value(), needed) << with.name << ": " << what << ": " << each.found.describe();
  }
  for (std::size_t i = 0; i < without.size(); ++i) EXPECT_TRUE(met[i]) << without[i];
}

inline void holds_and_needs_its_orders(const options& with, const std::function<void()>& body,
                                       const std::vector<std::string>& without = {}) {
  holds(with, body);
  needs_its_orders(with, body, without);
}

}  // namespace foliot::model

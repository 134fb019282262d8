// The results of explorations as expectations of GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>

#include "foliot_model/model.hpp"
#include "support/leaks.hpp"

namespace foliot::model {

/// Expects that every execution succeeds, and that all executions within the bound were run.
inline result holds(const options& with, const std::function<void()>& body) {
  const result found = explore(with, body);
  if (!found.failed) std::printf("%s: %s\n", with.name.c_str(), found.describe().c_str());
  EXPECT_FALSE(found.failed) << with.name << ": " << found.describe();
  // An exploration with a larger bound than the test's own, from the environment, may reach a limit.
  const bool as_given = std::getenv("FOLIOT_MODEL_PREEMPTIONS") == nullptr &&
                        std::getenv("FOLIOT_MODEL_SECONDS") == nullptr && std::getenv("FOLIOT_MODEL_REPEAT") == nullptr;
  EXPECT_TRUE(found.complete || found.failed || !as_given) << with.name << ": " << found.describe();
  return found;
}

/// Expects that an execution fails with a message that contains `words`.
inline result finds(const options& with, const std::string& words, const std::function<void()>& body) {
  const support::leaks_ignored for_what_is_abandoned;
  const result found = explore(with, body);
  EXPECT_TRUE(found.failed) << with.name << ": " << found.describe();
  if (found.failed) {
    EXPECT_NE(found.failed->what.find(words), std::string::npos) << found.failed->what;
  }
  return found;
}

/// All results of `body`, which is called once for each execution.
inline std::set<std::string> outcomes(const options& with, const std::function<std::string()>& body) {
  std::set<std::string> seen;
  holds(with, [&] { seen.insert(body()); });
  return seen;
}

}  // namespace foliot::model

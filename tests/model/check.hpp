// What tests say about explorations, in GoogleTest's words.
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

/// Every execution succeeds, and all within the bound were run.
inline result holds(const options& with, const std::function<void()>& body) {
  const result found = explore(with, body);
  if (!found.failed) std::printf("%s: %s\n", with.name.c_str(), found.describe().c_str());
  EXPECT_FALSE(found.failed) << with.name << ": " << found.describe();
  // Who asks for more than the tests do by themselves may well get as far as a limit.
  const bool as_given = std::getenv("FOLIOT_MODEL_PREEMPTIONS") == nullptr &&
                        std::getenv("FOLIOT_MODEL_SECONDS") == nullptr && std::getenv("FOLIOT_MODEL_REPEAT") == nullptr;
  EXPECT_TRUE(found.complete || found.failed || !as_given) << with.name << ": " << found.describe();
  return found;
}

/// Some execution fails, and says so with these words.
inline result finds(const options& with, const std::string& words, const std::function<void()>& body) {
  const support::leaks_ignored for_what_is_abandoned;
  const result found = explore(with, body);
  EXPECT_TRUE(found.failed) << with.name << ": " << found.describe();
  if (found.failed) {
    EXPECT_NE(found.failed->what.find(words), std::string::npos) << found.failed->what;
  }
  return found;
}

/// All outcomes that there are: what `body` returns, which is called once for each execution.
inline std::set<std::string> outcomes(const options& with, const std::function<std::string()>& body) {
  std::set<std::string> seen;
  holds(with, [&] { seen.insert(body()); });
  return seen;
}

}  // namespace foliot::model

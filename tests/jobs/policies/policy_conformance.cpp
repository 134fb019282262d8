// policy_store in the conformance suite: without policies, and with some that change nothing of what the suite sees.
#include <memory>
#include <string>
#include <utility>

#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/policy_store.hpp>

#include "jobs/conformance/conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

/// Both stores as one.
struct inner_store {
  explicit inner_store(const store_clocks& clocks) : memory(clocks) {}
  memory_store memory;
};
class joined_store final : inner_store, public job_store {
 public:
  joined_store(const store_clocks& clocks, std::shared_ptr<const policy_table> policies)
      : inner_store(clocks), outer_(memory, clocks) {
    outer_.set_policies(std::move(policies));
  }
  execution execute(std::span<operation> batch) override { return outer_.execute(batch); }
  [[nodiscard]] next_change next() const noexcept override { return outer_.next(); }
  [[nodiscard]] check_result check() override { return outer_.check(); }

 private:
  policy_store outer_;
};

class policies_under_test final : public store_under_test {
 public:
  explicit policies_under_test(policy_table policies)
      : policies_(policies.empty() ? nullptr : std::make_shared<const policy_table>(std::move(policies))) {}
  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    return std::make_unique<joined_store>(clocks, policies_);
  }

 private:
  std::shared_ptr<const policy_table> policies_;
};

FOLIOT_CONFORMING_STORE(no_policies, [] { return std::make_unique<policies_under_test>(policy_table{}); });
// Of a tube that the suite does not use.
FOLIOT_CONFORMING_STORE(other_policies, [] {
  return std::make_unique<policies_under_test>(policy_table{{"another tube", {.tries = 1, .most_reserved = 1}}});
});

}  // namespace
}  // namespace foliot::jobs::conformance

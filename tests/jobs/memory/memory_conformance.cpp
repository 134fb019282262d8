// memory_store in the conformance suite.
#include <memory>

#include <foliot/jobs/memory_store.hpp>

#include "jobs/conformance/conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

class memory_under_test final : public store_under_test {
 public:
  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    return std::make_unique<memory_store>(clocks);
  }
};

FOLIOT_CONFORMING_STORE(memory, [] { return std::make_unique<memory_under_test>(); });

}  // namespace
}  // namespace foliot::jobs::conformance

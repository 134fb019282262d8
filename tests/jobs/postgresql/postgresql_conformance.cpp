// postgresql_store in the conformance suite. Where connections break, no batch may happen twice, or half.
#include <memory>

#include "jobs/conformance/conformance.hpp"
#include "under_test.hpp"

namespace foliot::jobs::conformance {
namespace {

FOLIOT_CONFORMING_STORE(postgresql, [] { return std::make_unique<postgresql_under_test>(); });

}  // namespace
}  // namespace foliot::jobs::conformance

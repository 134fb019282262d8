// embedded_store in the conformance suite.
#include <cstddef>
#include <memory>

#include "jobs/conformance/conformance.hpp"
#include "under_test.hpp"

namespace foliot::jobs::conformance {
namespace {

FOLIOT_CONFORMING_STORE(embedded, [] { return std::make_unique<embedded_under_test>(std::size_t{1} << 14); });
// Windows that hold two jobs: most jobs are on disk alone.
FOLIOT_CONFORMING_STORE(embedded_narrow, [] { return std::make_unique<embedded_under_test>(2); });

}  // namespace
}  // namespace foliot::jobs::conformance

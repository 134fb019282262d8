#include <foliot/core/contract.hpp>

#include <cstdio>
#include <cstdlib>

namespace foliot::detail {

void contract_broken(const char* condition, const char* sentence, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: foliot: %s (%s)\n", file, line, sentence, condition);
  std::abort();
}

}  // namespace foliot::detail

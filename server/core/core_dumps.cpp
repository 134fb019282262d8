#include "core_dumps.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace foliot::program {

namespace {

/// With a limit of 0 the kernel writes no file, but would still hand the dump to a program, where the system has one
/// for them. With 1 it does neither: no dump is so small, and that program gets none either.
constexpr rlim_t no_dump = 1;

}  // namespace

void forbid_core_dumps() noexcept {
  rlimit now{};
  if (::getrlimit(RLIMIT_CORE, &now) != 0) return;
  const rlimit none{std::min(no_dump, now.rlim_max), now.rlim_max};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
}

}  // namespace foliot::program

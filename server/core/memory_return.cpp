#include "memory_return.hpp"

#include <malloc.h>

#include <exception>

#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

namespace foliot::program {

namespace {

/// How long to wait first: tasks that are about to end free their memory meanwhile, and one trim serves all of them.
constexpr duration a_moment = duration::nanoseconds(1'000'000'000);

void trim_heaps() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

void memory_return::begin() noexcept {
  if (is_under_way_.exchange(true)) return;
  try {
    static_cast<void>(runtime::spawn(give_back(), "gives memory back"));
  } catch (const std::exception&) {
    is_under_way_ = false;
  }
}

task<> memory_return::give_back() {
  co_await runtime::sleep(a_moment);
  is_under_way_ = false;  // memory that is freed from here on may miss this trim, and may ask for another one
  auto work = [] { trim_heaps(); };
  co_await runtime::blocking(work);
}

}  // namespace foliot::program

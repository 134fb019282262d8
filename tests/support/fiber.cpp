#include "fiber.hpp"

#include <cxxabi.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "leaks.hpp"

#if defined(FOLIOT_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace foliot::support {
namespace {

constexpr std::size_t stack_size = 256 * 1024;

// Stacks come and go by the million: they stay with the allocator, which else would ask the system for each.
[[maybe_unused]] const bool stacks_are_kept = [] {
  constexpr int more_than_all_stacks = 1 << 30;
  return mallopt(M_MMAP_THRESHOLD, more_than_all_stacks) == 1 && mallopt(M_TRIM_THRESHOLD, more_than_all_stacks) == 1;
}();

// The switch that is going on: who left, and who is about to begin.
fiber* departed = nullptr;
fiber* arriving = nullptr;

}  // namespace

fiber::fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(std::make_unique_for_overwrite<char[]>(stack_size)) {
  bottom_ = stack_.get();
  size_ = stack_size;
  begun_ = false;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = stack_size;
  context_.uc_link = nullptr;
  makecontext(&context_, &fiber::begin, 0);
}

void fiber::begin() {
  fiber& self = *arriving;
  self.arrive();
  self.body_();
  std::abort();  // there is nowhere to return to
}

void fiber::go(fiber& from, fiber& to) {
  from.depart(to, false);
#if defined(FOLIOT_ADDRESS_SANITIZER)
  // It would clean up the whole stack at every jump.
  swapcontext(&from.context_, &to.context_);
#else
  if (_setjmp(from.registers_) == 0) to.enter();
#endif
  from.arrive();
}

void fiber::leave(fiber& from, fiber& to) {
  from.depart(to, true);
  to.enter();
}

void fiber::enter() {
#if !defined(FOLIOT_ADDRESS_SANITIZER)
  if (begun_) _longjmp(registers_, 1);
#endif
  begun_ = true;
  setcontext(&context_);
  std::abort();
}

void fiber::depart(fiber& to, [[maybe_unused]] bool forever) {
  departed = this;
  arriving = &to;
  std::memcpy(exceptions_.data(), abi::__cxa_get_globals(), sizeof(exceptions_));
#if defined(FOLIOT_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(forever ? nullptr : &fake_stack_, to.bottom_, to.size_);
#endif
}

void fiber::arrive() {
  // The caught ones, and the number of those on their way: the ABI says so (Itanium C++ ABI, 2.2.2).
  std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), exceptions_.data(), sizeof(exceptions_));
#if defined(FOLIOT_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(fake_stack_, &departed->bottom_, &departed->size_);
#endif
}

}  // namespace foliot::support

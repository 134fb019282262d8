#include "support/allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

namespace foliot::test {
namespace {

constexpr std::size_t never_fail = std::numeric_limits<std::size_t>::max();

thread_local std::size_t allocations = 0;
thread_local std::size_t until_failure = never_fail;
thread_local std::size_t failures_left = 0;
thread_local bool has_failed = false;
thread_local std::size_t until_act = 0;  // 0: there is none
thread_local const std::function<void()>* act_before = nullptr;
std::atomic<std::size_t> live{0};

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (until_act != 0 && --until_act == 0) (*act_before)();
  if (until_failure != never_fail && until_failure-- == 0) {
    until_failure = --failures_left == 0 ? never_fail : 0;
    has_failed = true;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(size) : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  live.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

allocation_count::allocation_count() noexcept : start_(allocations) {}
std::size_t allocation_count::so_far() const noexcept { return allocations - start_; }

failing_allocations::failing_allocations(std::size_t succeeding, std::size_t failing) noexcept {
  has_failed = false;
  failures_left = failing;
  until_failure = succeeding;
}
failing_allocations::~failing_allocations() { until_failure = never_fail; }
bool failing_allocations::failed() const noexcept { return has_failed; }

before_allocation::before_allocation(std::size_t nth, std::function<void()> act) {
  act_before = new std::function<void()>(std::move(act));
  until_act = nth;
}
before_allocation::~before_allocation() {
  until_act = 0;
  delete std::exchange(act_before, nullptr);
}

std::size_t live_bytes() noexcept { return live.load(std::memory_order_relaxed); }

}  // namespace foliot::test

// All forms, since AddressSanitizer brings its own of those that are left out.
void* operator new(std::size_t size) { return foliot::test::allocate(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return foliot::test::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept { return operator new(size, nothrow); }

void operator delete(void* memory) noexcept { foliot::test::release(memory); }
void operator delete[](void* memory) noexcept { foliot::test::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { foliot::test::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { foliot::test::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { foliot::test::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { foliot::test::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { foliot::test::release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { foliot::test::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { foliot::test::release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { foliot::test::release(memory); }

#include "failing_calls.hpp"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <thread>

namespace foliot::test {
namespace {

std::atomic<call> failing{call::none};
std::atomic<int> with_error{0};
std::atomic<std::size_t> first{0};
std::atomic<std::size_t> how_many{0};
std::atomic<std::size_t> seen{0};
std::atomic<bool> has_failed{false};

/// Whether this call fails; errno says why.
bool fails(call which) noexcept {
  if (failing.load() != which) return false;
  const std::size_t number = seen.fetch_add(1);
  if (number < first.load() || number - first.load() >= how_many.load()) return false;
  has_failed.store(true);
  errno = with_error.load();
  return true;
}

/// The result of a call that fails.
int refusal() noexcept { return with_error.load() == 0 ? 0 : -1; }

}  // namespace

failing_calls::failing_calls(call which, int error, std::size_t succeeding, std::size_t failures) noexcept {
  with_error.store(error);
  first.store(succeeding);
  how_many.store(failures);
  seen.store(0);
  has_failed.store(false);
  failing.store(which);
}
failing_calls::~failing_calls() { failing.store(call::none); }
bool failing_calls::failed() const noexcept { return has_failed.load(); }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace foliot::test

using foliot::test::call;
using foliot::test::fails;
using foliot::test::refusal;

extern "C" {

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list given;
  va_start(given, number);
  long a[6];
  for (long& each : a) each = va_arg(given, long);  // the kernel ignores arguments that the call does not have
  va_end(given);
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && fails(call::futex_wait)) return refusal();
  if (number == SYS_membarrier) {
    if (fails(call::membarrier)) return refusal();
    static const bool missing = std::getenv("FOLIOT_WITHOUT_MEMBARRIER") != nullptr;
    if (missing) return errno = ENOSYS, -1;
  }
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags) {
  return fails(call::timerfd_create) ? refusal() : __real_timerfd_create(clock, flags);
}

int __real_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event);
int __wrap_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) {
  return fails(call::epoll_ctl) ? refusal() : __real_epoll_ctl(epoll, operation, descriptor, event);
}

ssize_t __real_read(int descriptor, void* into, std::size_t size);
ssize_t __wrap_read(int descriptor, void* into, std::size_t size) {
  return fails(call::timerfd_read) ? refusal() : __real_read(descriptor, into, size);
}

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...) {
  va_list given;
  va_start(given, option);
  unsigned long a[4];
  for (unsigned long& each : a) each = va_arg(given, unsigned long);
  va_end(given);
  return fails(call::prctl) ? refusal() : __real_prctl(option, a[0], a[1], a[2], a[3]);
}

}  // extern "C"

// std::thread::_M_start_thread, a member function, as a function of its own.
void real_start(std::thread* self, std::thread::_State_ptr state, void (*depend)()) __asm__(
    "__real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
void wrapped_start(std::thread* self, std::thread::_State_ptr state, void (*depend)()) __asm__(
    "__wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
void wrapped_start(std::thread* self, std::thread::_State_ptr state, void (*depend)()) {
  if (fails(call::thread)) throw std::system_error(errno, std::generic_category());  // as the library's own does
  real_start(self, std::move(state), depend);
}

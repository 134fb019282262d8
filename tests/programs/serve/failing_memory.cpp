// Memory and threads that run out on demand, for the tests of `foliot serve`: loaded in front of the C library
// (LD_PRELOAD). It fails the allocations that the test names, and the threads.
//
// Counted are the allocations of the threads that the program itself has started, also those that libraries make there.
// Those of the threads of RocksDB are not: it ends the process by itself when one fails. Nor do those of LZ4 fail,
// since RocksDB 7.8 uses what it gets without a look.
//
// The test controls it through the memory of a file, which FOLIOT_FAILING_MEMORY names; see failing_memory.py. Where
// `from_start` is set, counting begins when the server begins to handle signals, which is the first thing that it does.
//
// For the message of a test that fails, it writes where the first calls failed to a file beside that one; and a thread
// that gets the signal SIGRTMIN + 6 writes the calls that it is in to the standard error.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}

namespace {

using shared_number = std::atomic<std::int64_t>;
static_assert(shared_number::is_always_lock_free);

/// All zero at first: nothing fails. The test writes the first four, this library the others.
struct control_block {
  shared_number first;       ///< the number of the first call that fails; 0: none is counted
  shared_number count;       ///< how many calls fail from there on, one after the other
  shared_number kind;        ///< what is counted and fails: see `kind`
  shared_number from_start;  ///< whether to wait for the start of the server
  shared_number calls;       ///< how many were counted
  shared_number failed;      ///< how many have failed
};

enum kind : std::int64_t { allocations = 1, threads = 2 };

constexpr std::int64_t most_places = 4;  ///< of calls that have failed, which are written to the file

control_block* control = nullptr;
int places = -1;  ///< the file of the places of calls that have failed
/// Whether the program has started this thread.
__attribute__((tls_model("initial-exec"))) thread_local bool is_counted = false;

/// Writes the calls that this thread is in, without memory.
void write_calls(int to) {
  std::array<void*, 64> calls{};
  const int count = ::backtrace(calls.data(), static_cast<int>(calls.size()));
  ::backtrace_symbols_fd(calls.data(), count, to);
}

void tell(int /*signal*/) {
  const int kept = errno;
  const bool counts = std::exchange(is_counted, false);
  ::dprintf(STDERR_FILENO, "thread %d is in\n", ::gettid());
  write_calls(STDERR_FILENO);
  ::dprintf(STDERR_FILENO, "thread %d ends here\n", ::gettid());
  is_counted = counts;
  errno = kept;
}

/// On this thread, where the program's threads begin with all signals blocked.
void allow_telling() {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGRTMIN + 6);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

/// Where this call fails, if it is one of the first.
void note_place() {
  if (control->failed.load() > most_places) return;
  is_counted = false;  // what it needs itself does not fail
  ::dprintf(places, "thread %d in\n", ::gettid());
  write_calls(places);
  is_counted = true;
}

__attribute__((constructor)) void open_control() {
  const char* const path = std::getenv("FOLIOT_FAILING_MEMORY");
  if (path == nullptr) return;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  void* const at = ::mmap(nullptr, sizeof(control_block), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) std::abort();
  ::close(file);
  control = static_cast<control_block*>(at);
  std::array<char, 4096> beside{};
  std::snprintf(beside.data(), beside.size(), "%s.places", path);
  places = ::open(beside.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::array<void*, 1> calls{};
  ::backtrace(calls.data(), 1);  // the first one loads a library
  struct sigaction telling{};
  telling.sa_handler = tell;
  telling.sa_flags = SA_RESTART;
  ::sigaction(SIGRTMIN + 6, &telling, nullptr);
  is_counted = true;
}

/// Whether this address lies in a library whose name has this word.
bool is_in(const char* word, const void* address) {
  Dl_info about{};
  return ::dladdr(address, &about) != 0 && about.dli_fname != nullptr && std::strstr(about.dli_fname, word) != nullptr;
}

/// Counts a call, and returns whether it is to fail.
bool fails(kind which, const void* caller) {
  if (control == nullptr || !is_counted || control->kind.load() != which) return false;
  const std::int64_t first = control->first.load();
  if (first == 0 || control->from_start.load() != 0) return false;
  const std::int64_t call = ++control->calls;
  const std::int64_t count = control->count.load();
  if (call < first || control->failed.load() >= count) return false;
  // LZ4's last call returns to RocksDB, which itself uses operator new. The next call fails in the place of this one.
  if (which == allocations && (is_in("lz4", caller) || is_in("rocksdb", caller))) return false;
  if (control->failed.fetch_add(1) < count) {
    note_place();
    return true;
  }
  --control->failed;  // another thread was first
  return false;
}

void* refuse() {
  errno = ENOMEM;
  return nullptr;
}

/// What a thread runs, and whether it is counted.
struct thread_body {
  void* (*run)(void*);
  void* argument;
  bool is_counted;
};

void* run_body(void* given) {
  const thread_body body = *static_cast<thread_body*>(given);
  __libc_free(given);
  is_counted = body.is_counted;
  allow_telling();
  return body.run(body.argument);
}

/// Whether RocksDB starts this thread. The function is that of std::thread, so what it is to call tells: an object
/// whose table of functions lies in the library that has made it.
bool is_of_rocksdb(void* argument) {
  void* table = nullptr;
  if (argument == nullptr) return false;
  std::memcpy(&table, argument, sizeof(table));
  return is_in("rocksdb", table);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  return fails(allocations, __builtin_return_address(0)) ? refuse() : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return fails(allocations, __builtin_return_address(0)) ? refuse() : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  return size != 0 && fails(allocations, __builtin_return_address(0)) ? refuse() : __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return fails(allocations, __builtin_return_address(0)) ? refuse() : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return fails(allocations, __builtin_return_address(0)) ? refuse() : __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) noexcept {
  void* const made = fails(allocations, __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *to = made;
  return 0;
}

int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*run)(void*), void* argument) noexcept {
  static auto* const real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (fails(threads, nullptr)) return EAGAIN;
  auto* const body = static_cast<thread_body*>(__libc_malloc(sizeof(thread_body)));
  if (body == nullptr) return EAGAIN;
  *body = thread_body{run, argument, is_counted && !is_of_rocksdb(argument)};
  const int result = real(made, how, run_body, body);
  if (result != 0) __libc_free(body);
  return result;
}

int signalfd(int fd, const sigset_t* mask, int flags) noexcept {
  static auto* const real = reinterpret_cast<decltype(&signalfd)>(::dlsym(RTLD_NEXT, "signalfd"));
  const int result = real(fd, mask, flags);
  if (control != nullptr) control->from_start = 0;
  return result;
}

}  // extern "C"

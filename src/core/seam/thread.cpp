// The numbers of threads: a small one that no other living thread has, for tables of counters, and one that distributes
// threads over objects (sync.hpp). In a thread_state both are stored plus one; 0 means that there is none yet.
#include <bit>

#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core::seam::detail {

constinit thread_local thread_state own_state;

void full_barrier_elsewhere() noexcept {
#if defined(__SANITIZE_THREAD__) || defined(FOLIOT_THREAD_SANITIZER)
  // ThreadSanitizer does not know fences. An operation on one atomic tells it that these calls are ordered.
  static std::atomic<int> anything{0};
  anything.fetch_add(0, seq_cst);
#else
  std::atomic_thread_fence(seq_cst);
#endif
}

namespace {

/// One bit for each number that a living thread has.
atomic<std::uint64_t> taken_numbers{0};
constexpr std::uint64_t all_numbers = (std::uint64_t{1} << shared_thread_number) - 1;

/// Returns the thread's number when the thread ends. Code that runs on the thread after that has the shared number.
struct number_lease {
  std::uint64_t bit = 0;
  number_lease() noexcept = default;
  number_lease(const number_lease&) = delete;
  number_lease& operator=(const number_lease&) = delete;
  ~number_lease() {
    this_thread().number = shared_thread_number + 1;
    // release: pairs with the acquire in take_thread_number(): the next thread with this number sees what this one did.
    taken_numbers.fetch_and(~bit, release);
  }
};

}  // namespace

std::size_t take_thread_number() noexcept {
  std::uint64_t taken = taken_numbers.load(relaxed);
  std::uint64_t bit = 0;
  do {
    bit = ~taken & all_numbers;
    bit &= ~bit + 1;  // the lowest free number
    // acquire: pairs with the release in ~number_lease.
  } while (bit != 0 && !taken_numbers.compare_exchange_weak(taken, taken | bit, acquire, relaxed));
  std::size_t number = shared_thread_number;
  if (bit != 0) {
    thread_local number_lease lease;
    lease.bit = bit;
    number = static_cast<std::size_t>(std::countr_zero(bit));
  }
  this_thread().number = static_cast<std::uint32_t>(number) + 1;
  return number;
}

std::size_t take_thread_home() noexcept {
  static atomic<std::size_t> next{0};
  const std::size_t home = next.fetch_add(1, relaxed);  // publishes nothing
  this_thread().home = home + 1;
  return home;
}

}  // namespace foliot::inline core::seam::detail

// The simulated side of the synchronisation seam; included by <foliot/core/seam/sync.hpp> only.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace foliot::simulation {
void point();
/// True now and then: a compare_exchange_weak may fail for no reason.
bool fails_weakly();
std::size_t spawn(const char* name, std::function<void()> body);
void join(std::size_t thread);
}  // namespace foliot::simulation

namespace foliot::inline core::seam {

/// Orders are accepted and not modelled: the world is sequentially consistent. Weak orders are the model's
/// (tests/model).
enum class order { relaxed, acquire, release, acq_rel, seq_cst };
inline constexpr order relaxed = order::relaxed;
inline constexpr order acquire = order::acquire;
inline constexpr order release = order::release;
inline constexpr order acq_rel = order::acq_rel;
inline constexpr order seq_cst = order::seq_cst;

template <class Value>
class atomic {
 public:
  atomic() noexcept = default;
  constexpr atomic(Value value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  Value load(order = seq_cst) const noexcept { return here(); }
  void store(Value value, order = seq_cst) noexcept { here() = value; }
  operator Value() const noexcept { return load(); }
  Value operator=(Value value) noexcept { return here() = value; }
  Value operator++() noexcept { return fetch_add(1) + 1; }
  Value operator++(int) noexcept { return fetch_add(1); }
  Value operator--() noexcept { return fetch_sub(1) - 1; }
  Value operator--(int) noexcept { return fetch_sub(1); }
  Value operator+=(Value value) noexcept { return fetch_add(value) + value; }
  Value operator-=(Value value) noexcept { return fetch_sub(value) - value; }
  Value exchange(Value value, order = seq_cst) noexcept { return std::exchange(here(), value); }
  Value fetch_add(Value value, order = seq_cst) noexcept {
    Value& now = here();  // before the sum: another thread may go on in it
    return std::exchange(now, now + value);
  }
  Value fetch_sub(Value value, order = seq_cst) noexcept {
    Value& now = here();  // before the sum: another thread may go on in it
    return std::exchange(now, now - value);
  }
  Value fetch_and(Value bits, order = seq_cst) noexcept {
    Value& now = here();
    return std::exchange(now, static_cast<Value>(now & bits));
  }
  Value fetch_or(Value bits, order = seq_cst) noexcept {
    Value& now = here();
    return std::exchange(now, static_cast<Value>(now | bits));
  }
  bool compare_exchange_strong(Value& expected, Value wanted, order = seq_cst, order = seq_cst) noexcept {
    if (here() != expected) {
      expected = value_;
      return false;
    }
    value_ = wanted;
    return true;
  }
  bool compare_exchange_weak(Value& expected, Value wanted, order success = seq_cst, order failure = seq_cst) noexcept {
    if (simulation::fails_weakly()) {
      expected = here();
      return false;
    }
    return compare_exchange_strong(expected, wanted, success, failure);
  }

 private:
  Value& here() const noexcept {
    simulation::point();
    return value_;
  }
  mutable Value value_{};
};

/// Each load is a point at which another thread may run first.
template <class Value>
class atomic_ref {
 public:
  explicit atomic_ref(Value& value) noexcept : value_(value) {}
  Value load(order = seq_cst) const noexcept {
    simulation::point();
    return value_;
  }
  void store(Value value, order = seq_cst) const noexcept { value_ = value; }

 private:
  Value& value_;
};

inline void atomic_thread_fence(order) noexcept { simulation::point(); }
inline void full_fence() noexcept { simulation::point(); }

template <class Value>
using plain = Value;

thread_state& this_thread() noexcept;
/// The world's own numbers, so that a seed decides them.
std::size_t this_thread_number() noexcept;
std::size_t this_thread_home() noexcept;
inline void spin_pause() noexcept { simulation::point(); }
inline void yield_thread() noexcept { simulation::point(); }
inline void light_barrier() noexcept { simulation::point(); }
inline void heavy_barrier() noexcept { simulation::point(); }
inline constexpr int spins_before_sleep = 1;
/// One number for all objects, so that no address decides a schedule.
inline constexpr std::size_t lock_table_size = 1;

class thread {
 public:
  thread() noexcept = default;
  template <class Body>
  thread(const char* name, Body body) : id_(simulation::spawn(name, std::move(body))) {}
  thread(thread&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  thread& operator=(thread&& other) noexcept {
    id_ = std::exchange(other.id_, 0);
    return *this;
  }
  [[nodiscard]] bool joinable() const noexcept { return id_ != 0; }
  void join() { simulation::join(std::exchange(id_, 0)); }
  void detach() { id_ = 0; }
  void forget() noexcept { id_ = 0; }

 private:
  std::size_t id_ = 0;  // 0 is the world's first thread, which no object owns
};

}  // namespace foliot::inline core::seam

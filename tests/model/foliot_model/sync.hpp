// The model's side of the synchronisation seam; included by <foliot/core/seam/sync.hpp> only.
//
// Every operation goes to the running exploration (model.hpp), with its source location. Outside of an exploration an
// atomic is a plain variable.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace foliot::inline core::seam {

enum class order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };
inline constexpr order relaxed = order::relaxed;
inline constexpr order acquire = order::acquire;
inline constexpr order release = order::release;
inline constexpr order acq_rel = order::acq_rel;
inline constexpr order seq_cst = order::seq_cst;

}  // namespace foliot::inline core::seam

namespace foliot::model {

using order = seam::order;
using site = std::source_location;
using bits = std::uint64_t;

/// One atomic object of any type: its value as bits, and its number in the running exploration.
class word {
 public:
  explicit word(bits initial) noexcept;
  ~word();
  word(const word&) = delete;
  word& operator=(const word&) = delete;

  bits load(order, site) const noexcept;
  void store(bits, order, site) noexcept;
  /// Replaces the value by the result of `change` with it and `operand`. Returns the old value.
  bits modify(bits (*change)(bits value, bits operand), bits operand, order, site) noexcept;
  bool compare_exchange(bits& expected, bits wanted, bool weak, order success, order failure, site) noexcept;

 private:
  friend class engine;
  bits value_;  // its first value, and its value outside of explorations
  mutable std::uint64_t run_ = 0;
  mutable std::uint32_t location_ = 0;
};

/// The same for data that are not atomic: only to find races.
class shared_place {
 public:
  shared_place() noexcept;
  ~shared_place();
  void read(site) const;
  void write(site);

 private:
  friend class engine;
  mutable std::uint64_t run_ = 0;
  mutable std::uint32_t location_ = 0;
};

void fence(order, site) noexcept;
void pause(site) noexcept;
std::size_t spawn(const char* name, std::function<void()> body);
void join(std::size_t thread, site);

/// Data that are not atomic. Two accesses by two threads, at least one of them a write, are a race unless one happens
/// before the other. A race is a failure of the exploration.
template <class Value>
class plain {
 public:
  plain() = default;
  plain(Value value) : value_(std::move(value)) {}
  plain(const plain& other) : value_(other.get(site{})) {}
  plain& operator=(const plain& other) {
    set(other.get(site{}), site{});
    return *this;
  }
  plain& operator=(Value value) {
    set(std::move(value), site{});
    return *this;
  }

  Value get(site where = site::current()) const {
    place_.read(where);
    return value_;
  }
  void set(Value value, site where = site::current()) {
    place_.write(where);
    value_ = std::move(value);
  }

  // These operators do not know their source location: a report names the thread's operation before.
  operator Value() const { return get(site{}); }
  Value operator->() const { return get(site{}); }
  plain& operator++() {
    return change([](Value& value) { ++value; });
  }
  plain& operator--() {
    return change([](Value& value) { --value; });
  }
  template <class Other>
  plain& operator+=(const Other& other) {
    return change([&](Value& value) { value += other; });
  }
  template <class Other>
  plain& operator-=(const Other& other) {
    return change([&](Value& value) { value -= other; });
  }

 private:
  template <class Change>
  plain& change(Change how) {
    place_.write(site{});
    how(value_);
    return *this;
  }

  shared_place place_;  // first, so that the name of the whole object is its name
  Value value_{};
};

template <class Value>
bits to_bits(Value value) noexcept {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= sizeof(bits));
  bits result = 0;
  std::memcpy(&result, &value, sizeof(Value));
  return result;
}

template <class Value>
Value from_bits(bits from) noexcept {
  Value result;
  std::memcpy(static_cast<void*>(&result), &from, sizeof(Value));
  return result;
}

}  // namespace foliot::model

namespace foliot::inline core::seam {

template <class Value>
using plain = model::plain<Value>;

template <class Value>
class atomic {
  using site = model::site;
  // The order of a failure if none is given: as in std::atomic.
  static constexpr order failing(order success) noexcept {
    return success == acq_rel ? acquire : success == release ? relaxed : success;
  }

 public:
  atomic() noexcept : atomic(Value{}) {}
  atomic(Value value) noexcept : word_(model::to_bits(value)) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  Value load(order o = seq_cst, site where = site::current()) const noexcept {
    return model::from_bits<Value>(word_.load(o, where));
  }
  void store(Value value, order o = seq_cst, site where = site::current()) noexcept {
    word_.store(model::to_bits(value), o, where);
  }
  Value exchange(Value value, order o = seq_cst, site where = site::current()) noexcept {
    return modify([](Value, Value wanted) { return wanted; }, value, o, where);
  }
  Value fetch_add(Value value, order o = seq_cst, site where = site::current()) noexcept {
    return modify([](Value old, Value operand) { return static_cast<Value>(old + operand); }, value, o, where);
  }
  Value fetch_sub(Value value, order o = seq_cst, site where = site::current()) noexcept {
    return modify([](Value old, Value operand) { return static_cast<Value>(old - operand); }, value, o, where);
  }
  Value fetch_or(Value value, order o = seq_cst, site where = site::current()) noexcept {
    return modify([](Value old, Value operand) { return static_cast<Value>(old | operand); }, value, o, where);
  }
  Value fetch_and(Value value, order o = seq_cst, site where = site::current()) noexcept {
    return modify([](Value old, Value operand) { return static_cast<Value>(old & operand); }, value, o, where);
  }
  Value fetch_xor(Value value, order o = seq_cst, site where = site::current()) noexcept {
    return modify([](Value old, Value operand) { return static_cast<Value>(old ^ operand); }, value, o, where);
  }
  bool compare_exchange_strong(Value& expected, Value wanted, order success, order failure,
                               site where = site::current()) noexcept {
    return compare(expected, wanted, false, success, failure, where);
  }
  bool compare_exchange_strong(Value& expected, Value wanted, order both = seq_cst,
                               site where = site::current()) noexcept {
    return compare(expected, wanted, false, both, failing(both), where);
  }
  bool compare_exchange_weak(Value& expected, Value wanted, order success, order failure,
                             site where = site::current()) noexcept {
    return compare(expected, wanted, true, success, failure, where);
  }
  bool compare_exchange_weak(Value& expected, Value wanted, order both = seq_cst,
                             site where = site::current()) noexcept {
    return compare(expected, wanted, true, both, failing(both), where);
  }

  /// For the model's side of the futex.
  [[nodiscard]] const model::word& known() const noexcept { return word_; }

 private:
  template <class Change>
  Value modify(Change, Value operand, order o, site where) noexcept {
    constexpr auto change = [](model::bits old, model::bits with) {
      return model::to_bits(Change{}(model::from_bits<Value>(old), model::from_bits<Value>(with)));
    };
    return model::from_bits<Value>(word_.modify(change, model::to_bits(operand), o, where));
  }
  bool compare(Value& expected, Value wanted, bool weak, order success, order failure, site where) noexcept {
    model::bits seen = model::to_bits(expected);
    if (word_.compare_exchange(seen, model::to_bits(wanted), weak, success, failure, where)) return true;
    expected = model::from_bits<Value>(seen);
    return false;
  }

  model::word word_;
};

/// A plain variable, without weak memory.
template <class Value>
class atomic_ref {
 public:
  explicit atomic_ref(Value& value) noexcept : value_(value) {}
  Value load(order = seq_cst) const noexcept { return value_; }
  void store(Value value, order = seq_cst) const noexcept { value_ = value; }

 private:
  Value& value_;
};

inline void atomic_thread_fence(order o, model::site where = model::site::current()) noexcept {
  model::fence(o, where);
}

// The effect of both together.
inline void light_barrier(model::site where = model::site::current()) noexcept { model::fence(seq_cst, where); }
inline void heavy_barrier(model::site where = model::site::current()) noexcept { model::fence(seq_cst, where); }
inline void full_fence(model::site where = model::site::current()) noexcept { model::fence(seq_cst, where); }

thread_state& this_thread() noexcept;
std::size_t this_thread_number() noexcept;
std::size_t this_thread_home() noexcept;
inline void spin_pause(model::site where = model::site::current()) noexcept { model::pause(where); }
inline void yield_thread(model::site where = model::site::current()) noexcept { model::pause(where); }
inline constexpr int spins_before_sleep = 1;
/// One for all, so that no choice depends on an address.
inline constexpr std::size_t lock_table_size = 1;

class thread {
 public:
  thread() noexcept = default;
  template <class Body>
  thread(const char* name, Body body) : id_(model::spawn(name, std::move(body))) {}
  thread(thread&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  thread& operator=(thread&& other) noexcept {
    id_ = std::exchange(other.id_, 0);
    return *this;
  }
  [[nodiscard]] bool joinable() const noexcept { return id_ != 0; }
  void join(model::site where = model::site::current()) { model::join(std::exchange(id_, 0), where); }
  void detach() { id_ = 0; }
  void forget() noexcept { id_ = 0; }

 private:
  std::size_t id_ = 0;  // 0 is the exploration's first thread, which no object owns
};

}  // namespace foliot::inline core::seam

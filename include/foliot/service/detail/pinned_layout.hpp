// Where the parts of a pinned timer lie in the user's object, and how its closure is used.
//
// The object's first 96 bytes are the shard's record and the closure, in one of two orders:
//
//   bytes 0 to 31        32 to 63         64 to 95
//   slot user | flags owner word node...| closure            the record first
//   closure             | slot user | flags owner word node  the record last
//
// A start, a reset and a stop touch the flags, the owner, the word and the queue's node: 48 bytes. The object is
// aligned to 16 bytes, as memory from an allocation or in a coroutine's frame is. For each address one of the two
// orders has those 48 bytes on one cache line of 64: record_first() returns which. A closure of more than 32 bytes lies
// behind the 96.
//
// The closure is moved to the stack of the thread that calls or destroys it. So the object may be destroyed inside the
// callback: nothing uses it afterwards.
//
// Thread safety: the user of the closure (closure_life.hpp) uses a pinned_use and its operations.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <foliot/core/firing.hpp>

namespace foliot::detail {

class pinned_use;

/// What a shard calls on a closure whose type it does not know. By its user, without the shard's lock.
struct pinned_operations {
  /// Moves the closure to the stack, calls it, and moves it back unless the object has been destroyed meanwhile.
  void (*run)(void* closure, const firing& now, pinned_use& use);
  /// Destroys the closure; null if that does nothing.
  void (*destroy)(void* closure, pinned_use& use) noexcept;
};

/// One use of a pinned timer's closure, on the stack of the user.
class pinned_use {
 public:
  explicit pinned_use(const pinned_operations* closure) noexcept : closure_(closure) {}
  pinned_use(const pinned_use&) = delete;
  pinned_use& operator=(const pinned_use&) = delete;

  /// Null: there is no closure any more.
  [[nodiscard]] const pinned_operations* closure() const noexcept { return closure_; }
  void forget_closure() noexcept { closure_ = nullptr; }

  /// Whether the user has destroyed the object: nothing may use it any more.
  [[nodiscard]] bool object_is_gone() const noexcept { return gone_; }
  void lose_object() noexcept { gone_ = true; }

  /// Whether the closure is on the stack, and not in the object.
  [[nodiscard]] bool is_out() const noexcept { return out_; }
  void move_out() noexcept { out_ = true; }
  void move_back() noexcept { out_ = false; }

 private:
  const pinned_operations* closure_;
  bool gone_ = false;
  bool out_ = false;
};

/// The operations on a closure of one type.
template <class Function>
class pinned_closure {
  /// The closure while it is on the stack.
  class on_stack {
   public:
    on_stack(void* place, pinned_use& use) noexcept
        : in_object_(*std::launder(static_cast<Function*>(place))), use_(use), function(std::move(in_object_)) {
      std::destroy_at(&in_object_);
      use.move_out();
    }
    on_stack(const on_stack&) = delete;
    on_stack& operator=(const on_stack&) = delete;
    ~on_stack() = default;

    void move_back() noexcept {
      std::construct_at(&in_object_, std::move(function));
      use_.move_back();
    }

   private:
    Function& in_object_;
    pinned_use& use_;

   public:
    Function function;
  };

  static void run(void* place, const firing& now, pinned_use& use) {
    on_stack own(place, use);
    struct end {
      on_stack& own;
      pinned_use& use;
      ~end() {
        if (!use.object_is_gone()) own.move_back();
      }
    };
    const end moves_back{own, use};
    if constexpr (std::invocable<Function&, const firing&>) {
      own.function(now);
    } else {
      own.function();
    }
  }
  static void destroy(void* place, pinned_use& use) noexcept { const on_stack own(place, use); }

 public:
  static constexpr pinned_operations operations{run, std::is_trivially_destructible_v<Function> ? nullptr : destroy};
};

/// The distance from a record to its closure.
class pinned_distance {
 public:
  constexpr pinned_distance() noexcept = default;
  explicit constexpr pinned_distance(std::ptrdiff_t bytes) noexcept : words_(static_cast<std::int8_t>(bytes / word)) {}
  [[nodiscard]] constexpr std::ptrdiff_t bytes() const noexcept { return words_ * word; }

 private:
  static constexpr std::ptrdiff_t word = 8;
  std::int8_t words_ = 0;
};

/// Where the parts of one pinned timer are, by the address of the object's first byte, which is aligned to 16.
class pinned_layout {
 public:
  static constexpr std::size_t alignment = 16;
  /// The room of the record, which begins with the slot.
#if defined(FOLIOT_SEAM_SYNC)
  static constexpr std::size_t record_room = 256;  // atomics of a simulated seam are larger
#else
  static constexpr std::size_t record_room = 64;
#endif
  static constexpr std::size_t slot = 8;
  /// A closure that fits lies in these 32 bytes, any other behind the record and them.
  static constexpr std::size_t closure_room = 32;
  /// The bytes of the record and of a small closure: 96.
  static constexpr std::size_t size = record_room + closure_room;

  constexpr pinned_layout(std::byte* object, bool closure_fits) noexcept
      : object_(object), closure_fits_(closure_fits) {}

  /// Whether the record comes first in an object at this address.
  // The 48 bytes begin at byte 16 of the record.
  static constexpr bool record_first(std::uintptr_t address) noexcept { return ((address + 16) & 32) == 0; }

  /// Where the shard makes the record, the slot included.
  [[nodiscard]] std::byte* record() const noexcept { return object_ + offset(); }
  /// Where the timer_record is in it.
  [[nodiscard]] std::byte* timer() const noexcept { return record() + slot; }
  [[nodiscard]] std::byte* closure() const noexcept {
    if (!closure_fits_) return object_ + size;
    return object_ + (offset() == 0 ? record_room : 0);
  }
  [[nodiscard]] pinned_distance to_closure() const noexcept { return pinned_distance(closure() - record()); }

 private:
  [[nodiscard]] std::size_t offset() const noexcept {
    // The same without a branch.
    return (reinterpret_cast<std::uintptr_t>(object_) + 16) & 32;
  }

  std::byte* object_;
  bool closure_fits_;
};

}  // namespace foliot::detail

// What connections, listeners and watched descriptors have in common: a reference to a descriptor, and its deadlines.
//
// Thread safety: any task may set deadlines, as long as no other thread moves or destroys the object.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/runtime_deadline.hpp>

namespace foliot::runtime::detail {

/// A move-only object with a descriptor that has deadlines.
class with_deadlines {
 public:
  /// Whether this has a descriptor that is not closed.
  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ && !descriptor_->closed(); }
  /// The system's descriptor, or -1 if it is closed: for options that foliot does not have. It must not be closed
  /// meanwhile.
  [[nodiscard]] int native_handle() const noexcept { return *this ? descriptor_->fd() : -1; }

  /// Sets the deadline for reading and accepting: operations fail with io_errc::deadline_exceeded from then on, waiting
  /// ones included. instant::never() removes it; see stream.hpp. Throws std::bad_alloc, and
  /// std::invalid_argument for a time point of another clock; the deadline is then unchanged.
  void set_read_deadline(runtime_deadline deadline) const { set(direction::in, deadline); }
  /// The same `from_now` from now.
  void set_read_deadline(duration from_now) const { set(direction::in, from_now); }
  /// The same for writing.
  void set_write_deadline(runtime_deadline deadline) const { set(direction::out, deadline); }
  /// The same `from_now` from now.
  void set_write_deadline(duration from_now) const { set(direction::out, from_now); }
  /// The same for both directions. If it throws std::bad_alloc, the deadline for reading may have been set.
  void set_deadline(runtime_deadline deadline) const {
    set(direction::in, deadline);
    set(direction::out, deadline);
  }
  /// The same `from_now` from now.
  void set_deadline(duration from_now) const {
    set(direction::in, from_now);
    set(direction::out, from_now);
  }

 protected:
  with_deadlines() noexcept = default;
  explicit with_deadlines(descriptor_ptr descriptor) noexcept : descriptor_(std::move(descriptor)) {}
  ~with_deadlines() = default;
  with_deadlines(with_deadlines&&) noexcept = default;
  with_deadlines& operator=(with_deadlines&&) noexcept = default;

  void end() const noexcept {
    if (descriptor_) descriptor_->close();
  }

  descriptor_ptr descriptor_;

 private:
  template <class When>
  void set(direction way, When when) const {
    if (descriptor_) descriptor_->set_deadline(way, when);
  }
};

}  // namespace foliot::runtime::detail

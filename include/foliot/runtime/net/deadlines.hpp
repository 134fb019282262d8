// What streams, listeners and watched descriptors have in common: a reference to a descriptor, and its deadlines.
//
// Thread safety: deadlines from any task, while nobody moves or closes the object itself.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/descriptor.hpp>

namespace foliot::runtime::detail {

class with_deadlines {
 public:
  /// Whether there is one, and nobody has closed it.
  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ && !descriptor_->closed(); }
  /// The system's descriptor, or -1: to ask and to set what foliot does not, while nobody closes it.
  [[nodiscard]] int native_handle() const noexcept { return *this ? descriptor_->fd() : -1; }

  /// For reading, and for accepting. A deadline that has come ends at once what waits, and instant::never() takes it
  /// back: see stream.hpp. A duration counts from now. Throws std::bad_alloc, with that direction's deadline unchanged.
  void set_read_deadline(instant deadline) const { set(direction::in, deadline); }
  void set_read_deadline(duration from_now) const { set(direction::in, from_now); }
  void set_write_deadline(instant deadline) const { set(direction::out, deadline); }
  void set_write_deadline(duration from_now) const { set(direction::out, from_now); }
  void set_deadline(instant deadline) const {
    set(direction::in, deadline);
    set(direction::out, deadline);
  }
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

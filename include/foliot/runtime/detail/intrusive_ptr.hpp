// A pointer that holds a reference to an object, which counts its references itself (reference_count.hpp) and has
// retain() and release().
//
// Thread safety: as a plain object's. Pointers to the same object may be used by several threads at once.
#pragma once

#include <foliot/core/language.hpp>

#include <utility>

namespace foliot::runtime::detail {

/// Holds a reference, or null.
template <class Counted>
class intrusive_ptr {
 public:
  intrusive_ptr() noexcept = default;
  /// Takes over a reference that the caller holds.
  explicit intrusive_ptr(Counted& object) noexcept : object_(&object) {}
  intrusive_ptr(const intrusive_ptr& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  intrusive_ptr(intrusive_ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  intrusive_ptr& operator=(intrusive_ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~intrusive_ptr() {
    if (object_ != nullptr) object_->release();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] Counted* get() const noexcept { return object_; }
  [[nodiscard]] Counted* operator->() const noexcept { return object_; }
  [[nodiscard]] Counted& operator*() const noexcept { return *object_; }
  friend bool operator==(const intrusive_ptr&, const intrusive_ptr&) noexcept = default;

 private:
  Counted* object_ = nullptr;
};

}  // namespace foliot::runtime::detail

// A share in something that counts its shares itself, by share() and let_go(), and ends with the last of them.
//
// Thread safety: as a plain object's; shares in the same thing are used from any threads, if its count is atomic.
#pragma once

#include <foliot/core/language.hpp>

#include <utility>

namespace foliot::runtime::detail {

/// A share, or none.
template <class Counted>
class share_in {
 public:
  share_in() noexcept = default;
  /// Takes over a share.
  explicit share_in(Counted& of) noexcept : of_(&of) {}
  share_in(const share_in& other) noexcept : of_(other.of_) {
    if (of_ != nullptr) of_->share();
  }
  share_in(share_in&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  share_in& operator=(share_in other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~share_in() {
    if (of_ != nullptr) of_->let_go();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }
  [[nodiscard]] Counted* get() const noexcept { return of_; }
  [[nodiscard]] Counted* operator->() const noexcept { return of_; }
  [[nodiscard]] Counted& operator*() const noexcept { return *of_; }
  friend bool operator==(const share_in&, const share_in&) noexcept = default;

 private:
  Counted* of_ = nullptr;
};

}  // namespace foliot::runtime::detail

// Decides which connections may come in. Today all may, up to a bound on their number. What a client proves, such as a
// token or a name in its certificate, is to be judged here as well, so that no protocol and no listener has a rule of
// its own.
//
//   access::place mine = door.enter();
//   if (!mine) …                                          // refused: door.why_refused() says why
//
// Listeners may share one access: the bound holds for all of them together.
//
// Thread safety: any task. O(1).
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <foliot/core/seam/sync.hpp>

namespace foliot::program {

class access {
 public:
  /// Lets in at most this many connections at once.
  explicit access(std::size_t most) noexcept : most_(most) {}
  access(const access&) = delete;
  access& operator=(const access&) = delete;

  /// A connection among those that are in, until it is destroyed; or none.
  class place {
   public:
    place() noexcept = default;
    place(place&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
    place& operator=(place&&) = delete;
    ~place() {
      if (in_ != nullptr) in_->count_.fetch_sub(1, seam::relaxed);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return in_ != nullptr; }

   private:
    friend class access;
    explicit place(access& in) noexcept : in_(&in) {}

    access* in_ = nullptr;
  };

  /// A place for one more connection; none if it must be refused.
  [[nodiscard]] place enter() noexcept;
  /// Why a connection was refused, for the log.
  [[nodiscard]] std::string why_refused() const;

 private:
  const std::size_t most_;
  seam::atomic<std::size_t> count_{0};  // of the places; orders nothing
};

}  // namespace foliot::program

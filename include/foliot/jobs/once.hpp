// What makes an operation happen once, however often it is sent: a client that has lost the answer sends the operation
// again, with the same once, and gets the answer of the first time.
//
//   const put what{.tube = "mail", .body = "hello", .once = once(key, request, std::chrono::hours(24))};
//   store.execute(what) …   // put_answer{inserted, 7}
//   store.execute(what) …   // put_answer{inserted, 7, .is_replayed = true}: there is one job
//
// The store keeps the answer with the key and the request, in the commit of the operation's effect, until the lifetime
// is over. Only an answer that says that the operation has happened is kept: one that was refused may be sent again,
// and may succeed then.
#pragma once

#include <foliot/core/language.hpp>

#include <array>
#include <cstddef>
#include <memory>

#include <foliot/jobs/job.hpp>

namespace foliot::jobs {

/// A digest by SHA-256.
using sha256 = std::array<std::byte, 32>;

/// Which operation is sent, and for how long the store remembers that it has happened. One that is empty has no such
/// memory, and needs that of a pointer; another one an allocation. Copying is an allocation. Thread safety: as a
/// std::string.
class once {
 public:
  /// Empty: the operation happens as often as it is sent.
  once() noexcept = default;
  /// `key` is a digest of all that tells the operation from others: whose it is, what it is done to, and the client's
  /// own name for it. `request` is one of all that the client asks for. `lifetime` is from 1 ms to longest_time, from
  /// the execution on.
  once(const sha256& key, const sha256& request, milliseconds lifetime)
      : contents_(std::make_unique<contents>(contents{key, request, lifetime})) {}
  once(const once& other) : contents_(other.copy()) {}
  once(once&&) noexcept = default;
  once& operator=(const once& other) {
    if (this != &other) contents_ = other.copy();
    return *this;
  }
  once& operator=(once&&) noexcept = default;
  ~once() = default;

  /// Whether the operation happens as often as it is sent.
  [[nodiscard]] bool empty() const noexcept { return contents_ == nullptr; }
  /// Which operation it is. Only if it is not empty, as the next two.
  [[nodiscard]] const sha256& key() const noexcept { return contents_->key; }
  /// What the client asks for.
  [[nodiscard]] const sha256& request() const noexcept { return contents_->request; }
  /// For how long it is remembered.
  [[nodiscard]] milliseconds lifetime() const noexcept { return contents_->lifetime; }

  friend bool operator==(const once& left, const once& right) noexcept {
    if (left.empty() || right.empty()) return left.empty() == right.empty();
    return *left.contents_ == *right.contents_;
  }

 private:
  struct contents {
    sha256 key;
    sha256 request;
    milliseconds lifetime;

    friend bool operator==(const contents&, const contents&) noexcept = default;
  };
  [[nodiscard]] std::unique_ptr<contents> copy() const {
    return contents_ == nullptr ? nullptr : std::make_unique<contents>(*contents_);
  }

  std::unique_ptr<contents> contents_;
};

}  // namespace foliot::jobs

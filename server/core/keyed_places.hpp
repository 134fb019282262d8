// At most so many places at once for each key, such as for the connections of each address.
//
//   keyed_places of_address(100);
//   const keyed_places::place mine = of_address.enter(source);
//   if (!mine) …                                          // this key has 100 places already
//
// Thread safety: any task. A place must not outlive its keyed_places. O(log of the keys that have places), and so much
// memory; without a limit keys are not counted.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program {

class keyed_places {
  using counts = std::map<std::string, std::size_t, std::less<>>;

 public:
  /// 0: there is no limit.
  explicit keyed_places(std::size_t most_each) noexcept : most_(most_each) {}
  keyed_places(const keyed_places&) = delete;
  keyed_places& operator=(const keyed_places&) = delete;

  /// One of the key's places, until it is destroyed; or none.
  class place {
   public:
    place() noexcept = default;
    place(place&& other) noexcept
        : is_one_(std::exchange(other.is_one_, false)),
          in_(std::exchange(other.in_, nullptr)),
          counted_(other.counted_) {}
    place& operator=(place&& other) noexcept {
      place taken(std::move(other));
      std::swap(is_one_, taken.is_one_);
      std::swap(in_, taken.in_);
      std::swap(counted_, taken.counted_);
      return *this;
    }
    ~place() {
      if (in_ != nullptr) in_->leave(counted_);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return is_one_; }

   private:
    friend class keyed_places;
    /// Where there is no limit: not counted.
    explicit place(bool is_one) noexcept : is_one_(is_one) {}
    place(keyed_places& in, counts::iterator counted) noexcept : is_one_(true), in_(&in), counted_(counted) {}

    bool is_one_ = false;
    keyed_places* in_ = nullptr;
    counts::iterator counted_;
  };

  /// A place for one more of this key; none if it has as many as it may. Throws std::bad_alloc.
  [[nodiscard]] place enter(std::string_view key);
  /// 0: there is no limit.
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  void leave(counts::iterator counted) noexcept;

  const std::size_t most_;
  mutex lock_{lock_rank::object};
  counts counts_ FOLIOT_GUARDED_BY(lock_);  // none is 0
};

}  // namespace foliot::program

// The requests that wait for a batch, in their order, within the broker's limits.
// Thread safety: the lock of the broker guards everything. O(1).
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

/// The size of the body that the operation brings.
[[nodiscard]] inline std::size_t body_size(const operation& it) {
  const put* const what = std::get_if<put>(&it);
  return what == nullptr ? 0 : what->body.size();
}

class request_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }  // of the bodies
  [[nodiscard]] broker_request* front() noexcept { return all_.front(); }

  /// Throws broker_full if the limits have no room. A body that is alone may exceed queued_bytes.
  void push(broker_request& one, const broker_limits& limits) {
    if (size_ >= limits.operations) {
      throw broker_full("the broker has " + std::to_string(size_) +
                        " operations in its queue, which is its limit: try again later");
    }
    const std::size_t bytes = body_size(one.operation_);
    if (bytes != 0 && bytes_ != 0 && bytes + bytes_ > limits.queued_bytes) {
      throw broker_full("the operations in the broker's queue have bodies of " + std::to_string(bytes_) +
                        " bytes, and their limit is " + std::to_string(limits.queued_bytes) + ": try again later");
    }
    all_.push_back(one);
    ++size_;
    bytes_ += bytes;
  }
  /// The request still has its operation.
  void erase(broker_request& one) noexcept {
    all_.erase(one);
    --size_;
    bytes_ -= body_size(one.operation_);
  }

 private:
  intrusive_list<broker_request, &broker_request::links_> all_;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace foliot::jobs::detail

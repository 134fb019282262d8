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

/// The bytes that the operation brings: of a body, fields, a history, and what makes it happen once.
[[nodiscard]] inline std::size_t brought_bytes(const operation& it) {
  const auto bytes_of = [](const once& what) { return what.empty() ? 0 : sizeof(sha256) * 2 + sizeof(milliseconds); };
  if (const put* const what = std::get_if<put>(&it)) return content_bytes(*what) + bytes_of(what->once);
  if (const put_all* const what = std::get_if<put_all>(&it)) {
    std::size_t bytes = bytes_of(what->once);
    for (const put& each : what->puts) bytes += content_bytes(each);
    return bytes;
  }
  if (const claim* const what = std::get_if<claim>(&it)) return bytes_of(what->once);
  const auto size_of = [](const auto& what) { return what.history ? what.history->bytes().size() : 0; };
  if (const release* const what = std::get_if<release>(&it)) return size_of(*what);
  if (const bury* const what = std::get_if<bury>(&it)) return size_of(*what);
  return 0;
}

class request_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }  // that they bring
  [[nodiscard]] broker_request* front() noexcept { return all_.front(); }

  /// Throws broker_full if the limits have no room. An operation that is alone may exceed queued_bytes.
  void push(broker_request& one, const broker_limits& limits) {
    if (size_ >= limits.operations) {
      throw broker_full("the broker has " + std::to_string(size_) +
                        " operations in its queue, which is its limit: try again later");
    }
    const std::size_t bytes = brought_bytes(one.operation_);
    if (bytes != 0 && bytes_ != 0 && bytes + bytes_ > limits.queued_bytes) {
      throw broker_full("the operations in the broker's queue bring " + std::to_string(bytes_) +
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
    bytes_ -= brought_bytes(one.operation_);
  }

 private:
  intrusive_list<broker_request, &broker_request::links_> all_;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace foliot::jobs::detail

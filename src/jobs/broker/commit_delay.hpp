// How long a request waits for others, so that they share a batch, and with it a sync of the disk.
//
// A request of a client that asks seldom may wait: at most a hundredth of the time since its client has asked before,
// so that no client loses more than a hundredth of its time, and at most broker_limits::commit_delay. It waits only if
// requests come so densely that others are expected meanwhile, else it would wait in vain. A client that asks as soon
// as it is answered, and one that asks for the first time, does not wait; nor do those that it finds in the queue.
//
// PostgreSQL has a delay of the same name, which is set by hand and holds for all clients.
//
// Thread safety: the lock of the broker guards everything. O(1).
#pragma once

#include <algorithm>
#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::jobs::detail {

class commit_delay {
 public:
  explicit commit_delay(duration most) noexcept : most_(most) {}

  /// A request comes, and is queued. `asked`: when its client has asked before, or never; null: it has no client.
  void note_request(instant now, instant* asked) noexcept {
    if (most_ == duration::zero()) return;
    gap_ += (std::clamp((now - latest_).count(), std::int64_t{0}, longest_gap) - gap_) / weight;
    latest_ = now;
    duration wait = duration::zero();
    if (asked != nullptr && !asked->is_never()) {
      const duration patience = std::min(most_, duration::nanoseconds((now - *asked).count() / share));
      if (patience.count() >= others * gap_) wait = patience;
    }
    if (asked != nullptr) *asked = now;
    until_ = std::min(until_, now + wait);
  }
  /// The queue is empty.
  void note_empty() noexcept { until_ = instant::never(); }

  /// Until when the requests of the queue may wait; never() if it is empty.
  [[nodiscard]] instant until() const noexcept { return until_; }
  [[nodiscard]] bool is_used() const noexcept { return most_ != duration::zero(); }

 private:
  static constexpr std::int64_t share = 100;
  static constexpr std::int64_t others = 4;   // that have to be expected
  static constexpr std::int64_t weight = 16;  // of the requests before, for the mean gap
  static constexpr std::int64_t longest_gap = 1'000'000'000;

  const duration most_;
  instant until_ = instant::never();
  instant latest_;                  // when the latest request has come
  std::int64_t gap_ = longest_gap;  // between two requests, in ns: a moving mean
};

}  // namespace foliot::jobs::detail

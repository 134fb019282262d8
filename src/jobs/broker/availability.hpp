// Whether a store that other nodes share executes what it is asked: what it has refused, and when to try again.
// Thread safety: the lock of the broker guards everything. O(1).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <foliot/core/clock.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/job_store.hpp>

namespace foliot::jobs::detail {

class availability {
 public:
  /// Whether the store has refused the latest batch.
  [[nodiscard]] bool is_unavailable() const noexcept { return is_unavailable_; }
  /// Whether the next batch has to wait.
  [[nodiscard]] bool holds_back(instant now) const noexcept { return is_unavailable_ && now < retry_at_; }
  [[nodiscard]] instant retry_at() const noexcept { return retry_at_; }
  /// Why the store has refused something most recently.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  [[nodiscard]] std::uint64_t refused_batches() const noexcept { return batches_; }
  [[nodiscard]] std::uint64_t refused_operations() const noexcept { return operations_; }

  void note_executed() noexcept { is_unavailable_ = false; }
  /// The store has refused a batch at this time.
  void note_refused(const char* text, instant when) noexcept {
    ++batches_;
    is_unavailable_ = true;
    retry_at_ = when + retry_after;
    note_why(text);
  }
  /// The store has refused an operation of a batch that it has executed.
  void note_refused(const store_unavailable& refused) noexcept {
    ++operations_;
    note_why(refused.what());
  }

 private:
  static constexpr duration retry_after{std::chrono::milliseconds(250)};

  void note_why(const char* text) noexcept {
    try {
      why_ = text;
    } catch (...) {  // no memory for the text: the refusal counts
    }
  }

  bool is_unavailable_ = false;
  std::string why_;
  instant retry_at_;
  std::uint64_t batches_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace foliot::jobs::detail

// Whether a store executes what it is asked: what a store that other nodes share has refused, when to try again, and
// whether there is room for more jobs.
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

  /// A batch was executed.
  void note_executed(bool has_room) noexcept {
    is_unavailable_ = false;
    lacks_room_ = !has_room;
  }
  /// There was no room for an operation of it.
  void note_no_space() noexcept { ++no_space_; }
  [[nodiscard]] std::uint64_t no_space() const noexcept { return no_space_; }
  [[nodiscard]] bool lacks_room() const noexcept { return lacks_room_; }
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
  bool lacks_room_ = false;
  std::uint64_t no_space_ = 0;
  std::string why_;
  instant retry_at_;
  std::uint64_t batches_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace foliot::jobs::detail

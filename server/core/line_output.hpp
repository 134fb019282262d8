// Lines for a reader that may not read, such as the reader of a log: a line that finds no room is lost, and the next
// one that finds some says how many were.
//
// The descriptor is shared with other processes, so it stays as it is, blocking or not.
//
// Thread safety: any thread; the lines of one object do not mix.
#pragma once

#include <cstdint>
#include <string_view>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program {

class line_output {
 public:
  /// Does not own the descriptor.
  explicit line_output(int descriptor) noexcept : descriptor_(descriptor) {}
  line_output(const line_output&) = delete;
  line_output& operator=(const line_output&) = delete;

  /// Writes the line, with its line feed. Waits for room 100 ms at most, and not at all while the line before it found
  /// none. Needs no memory. Errors of the descriptor are ignored.
  void write(std::string_view line) noexcept;

 private:
  enum class outcome : unsigned char { written, no_room, torn };

  void say_lost() noexcept FOLIOT_REQUIRES(lock_);
  /// `torn`: the first part of the line was written.
  [[nodiscard]] outcome put(std::string_view text) const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool has_room() const noexcept FOLIOT_REQUIRES(lock_);

  const int descriptor_;
  mutable mutex lock_{lock_rank::monitor};  // locks nothing else
  bool is_full_ FOLIOT_GUARDED_BY(lock_) = false;
  bool is_torn_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint64_t lost_ FOLIOT_GUARDED_BY(lock_) = 0;
};

}  // namespace foliot::program

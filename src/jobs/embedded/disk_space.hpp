// Whether the disk has room left. A full disk can leave RocksDB 7.8 unable to open the database again. So the store
// refuses operations that need space while there is still some.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/operations.hpp>

#include "disk.hpp"

namespace foliot::jobs::detail {

class disk_space {
 public:
  disk_space(const disk& of, std::uint64_t reserve) noexcept : disk_(of), reserve_(reserve) {}

  /// Asks the file system for the free space, unless it did within the last 5 ms. Returns a sentence for an operator if
  /// other operations are refused than the last sentence said, at most one in 10 s; otherwise an empty string.
  [[nodiscard]] std::string look(instant now) {
    if (asked_ && now < next_look_) return {};
    asked_ = true;
    next_look_ = now + milliseconds(5);
    const std::optional<std::uint64_t> free = disk_.free_space();
    refused_ = !free || *free >= reserve_ ? what::nothing
               : *free >= reserve_ / 2    ? what::puts
               : *free >= reserve_ / 4    ? what::changes
                                          : what::due_jobs;
    if (refused_ == told_ || now < next_sentence_) return {};
    told_ = refused_;
    next_sentence_ = now + milliseconds(10'000);
    return sentence(free.value_or(0));
  }

  /// Whether an operation with this need of room may be executed.
  [[nodiscard]] bool has(operation_room needs) const noexcept {
    switch (needs) {
      case operation_room::none: break;
      case operation_room::for_a_change: return room_for_changes();
      case operation_room::for_a_new_job: return room_for_jobs();
    }
    return true;
  }
  /// Whether puts may be stored.
  [[nodiscard]] bool room_for_jobs() const noexcept { return refused_ == what::nothing; }
  /// Whether changes of jobs may be stored. Their ends always may: they free space.
  [[nodiscard]] bool room_for_changes() const noexcept { return refused_ < what::changes; }
  /// Whether due jobs may become ready, each of which writes some bytes.
  [[nodiscard]] bool room_for_due_jobs() const noexcept { return refused_ < what::due_jobs; }

 private:
  /// The operations that are refused. Each step begins at half the free space of the one before, and refuses more.
  enum class what : std::uint8_t { nothing, puts, changes, due_jobs };

  [[nodiscard]] std::string sentence(std::uint64_t free) const {
    if (refused_ == what::nothing) return "the disk of " + disk_.folder() + " has room again: nothing is refused";
    constexpr std::array refusals{"", "new jobs", "new jobs and changes of jobs",
                                  "new jobs and changes of jobs, and hold due jobs back,"};
    const auto level = static_cast<std::size_t>(refused_);
    return "the disk of " + disk_.folder() + " is nearly full, with " + std::to_string(free) + " bytes free: refuse " +
           refusals[level] + " until " + std::to_string(reserve_ >> (level - 1)) + " bytes are free";
  }

  const disk& disk_;
  std::uint64_t reserve_;
  bool asked_ = false;
  instant next_look_;
  what refused_ = what::nothing;
  what told_ = what::nothing;
  instant next_sentence_ = instant::earliest();
};

}  // namespace foliot::jobs::detail

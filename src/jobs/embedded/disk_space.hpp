// Whether the disk has room left. A full disk can leave RocksDB 7.8 unable to open the database again, so the store
// refuses what needs space before that.
//
// Thread safety: none.
#pragma once

#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "disk.hpp"

namespace foliot::jobs::detail {

class disk_space {
 public:
  disk_space(const disk& of, std::uint64_t reserve) noexcept : disk_(of), reserve_(reserve) {}

  /// Asks the file system, unless it was asked within the last 5 ms.
  void look(instant now) {
    if (asked_ && now < next_look_) return;
    asked_ = true;
    next_look_ = now + milliseconds(5);
    const std::optional<std::uint64_t> free = disk_.free_space();
    room_for_jobs_ = !free || *free >= reserve_;
    room_for_changes_ = !free || *free >= reserve_ / 2;
  }

  /// Whether puts may be stored.
  [[nodiscard]] bool room_for_jobs() const noexcept { return room_for_jobs_; }
  /// Whether changes of jobs may be stored. Their ends always may: they free space.
  [[nodiscard]] bool room_for_changes() const noexcept { return room_for_changes_; }

 private:
  const disk& disk_;
  std::uint64_t reserve_;
  bool asked_ = false;
  instant next_look_;
  bool room_for_jobs_ = true;
  bool room_for_changes_ = true;
};

}  // namespace foliot::jobs::detail

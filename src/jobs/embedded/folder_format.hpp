// The version of a folder's format, which rises with the first thing of which an earlier program knows nothing, in the
// same write. So an earlier program opens the folder as long as there is no such thing, and refuses it from then on.
//
// Thread safety: none.
#pragma once

#include <cstdint>

#include "disk.hpp"
#include "keys.hpp"

namespace foliot::jobs::detail {

/// The versions that this program reads. A new folder has the first one.
inline constexpr std::uint64_t first_format = 2;
inline constexpr std::uint64_t format_with_fields = 3;  ///< records with fields or a history
inline constexpr std::uint64_t format_with_once = 4;    ///< operations that happen once
inline constexpr std::uint64_t last_format = format_with_once;

class folder_format {
 public:
  explicit folder_format(disk& of) : disk_(of) {}

  /// When the store has been opened.
  void set(std::uint64_t version) noexcept { version_ = version; }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  /// Gathers the write of a higher version, unless the folder has it.
  void require(std::uint64_t version) {
    if (version <= version_) return;
    version_ = version;
    disk_.put(family::meta, "version", view(number_key(version_)));
  }

 private:
  disk& disk_;
  std::uint64_t version_ = 0;
};

}  // namespace foliot::jobs::detail

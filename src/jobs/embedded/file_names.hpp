// The names that RocksDB gives to the files of a database, as far as they have a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace foliot::jobs::detail {

enum class file_kind : std::uint8_t { log, manifest, table, other };

struct numbered_name {
  file_kind kind = file_kind::other;
  std::uint64_t number = 0;
  /// RocksDB would take it for the file of another number: it has too many or too few digits, or so large a number that
  /// the next one would begin at 0 again.
  bool is_misread = false;
};

/// Nothing if RocksDB takes no file of this name for one of its numbered ones.
[[nodiscard]] std::optional<numbered_name> read_name(std::string_view name) noexcept;

}  // namespace foliot::jobs::detail

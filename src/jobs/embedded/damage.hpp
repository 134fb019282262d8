// What the opening of a database would lose: RocksDB ends the replay of its logs where one is damaged, cut off or
// missing, and reports nothing of it; and it takes a manifest that ends too soon for a whole one, and deletes the
// tables that it then does not know.
#pragma once

#include <optional>
#include <string>

#include <rocksdb/file_system.h>
#include <rocksdb/options.h>

namespace foliot::jobs::detail {

struct opening_loss {
  std::string what;              ///< a sentence without its end
  bool can_be_salvaged = false;  ///< RocksDB opens the database, without what lies behind the damage
};

/// Nothing if the opening loses nothing, or fails for another reason, which it tells itself. Changes nothing on disk.
/// Nobody may have opened the database. Throws store_failure if a file cannot be read.
[[nodiscard]] std::optional<opening_loss> loss_of(const std::string& folder, const rocksdb::DBOptions& options,
                                                  rocksdb::FileSystem& files);

/// Throws store_failure.
[[noreturn]] void refuse_damage(const std::string& folder, const opening_loss& it);

}  // namespace foliot::jobs::detail

// What the opening of a database would lose: RocksDB ends the replay of its logs where one is damaged, cut off or
// missing, and reports nothing of it; and it takes a manifest that ends too soon for a whole one, and deletes the
// tables that it then does not know.
#pragma once

#include <optional>
#include <string>

#include <rocksdb/file_system.h>
#include <rocksdb/options.h>

#include "overwritten_logs.hpp"

namespace foliot::jobs::detail {

struct opening_loss {
  std::string what;              ///< a sentence without its end
  bool can_be_salvaged = false;  ///< RocksDB opens the database, without what lies behind the damage
  bool is_copy = false;          ///< nothing is lost, but a log is there twice
};

/// What the manifest has lost, or a CURRENT that names an older one than the mark. Nothing if it has lost nothing, or
/// cannot be read, which the opening tells itself. Throws store_failure if a file cannot be read.
[[nodiscard]] std::optional<opening_loss> manifest_loss(const std::string& folder, rocksdb::FileSystem& files);

/// What the logs have lost. Nothing if the opening loses nothing, or fails for another reason, which it tells itself.
/// Changes nothing on disk. Has RocksDB read no log behind the place where a loss of power has ended it. `options` use
/// `logs`. Precondition: the database is not open. `is_being_salvaged`: an earlier opening has begun to drop what the
/// logs have lost, so all later logs are its own. Throws store_failure if a file cannot be read.
[[nodiscard]] std::optional<opening_loss> log_loss(const std::string& folder, const rocksdb::DBOptions& options,
                                                   overwritten_logs& logs, bool is_being_salvaged);

/// Throws store_failure.
[[noreturn]] void refuse_damage(const std::string& folder, const opening_loss& it);

}  // namespace foliot::jobs::detail

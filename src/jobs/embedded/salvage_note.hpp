// The note that a store is being salvaged: the file SALVAGING in its folder, with what was damaged. RocksDB drops the
// damage when it opens the database, so that the next opening after a crash would find none, and the store would give
// ids and reservations again. The note is durable before RocksDB opens the database, and goes when the store is known
// to be whole. Until then each opening goes on with the salvage, without being told to if it meets the damage of the
// note. A folder without one is not being salvaged.
//
// Thread safety: none.
#pragma once

#include <string>

#include <rocksdb/file_system.h>

namespace foliot::jobs::detail {

/// What the note of the folder says; empty if it has none.
[[nodiscard]] std::string read_salvage_note(const std::string& folder, rocksdb::FileSystem& files);

/// Writes it, durably, in place of the one that is there, which a crash leaves as it was. `what` must not be empty.
[[nodiscard]] rocksdb::IOStatus write_salvage_note(const std::string& folder, const std::string& what,
                                                   rocksdb::FileSystem& files);

/// Deletes it. If a crash brings it back, the next opening says again what it says, which is of no other consequence.
void remove_salvage_note(const std::string& folder, rocksdb::FileSystem& files);

}  // namespace foliot::jobs::detail

// The note that a store is being salvaged: the file SALVAGING in its folder, which names the damage. RocksDB drops the
// damage when it opens the database. After a crash the next opening would find none, and the store would give ids and
// reservations again. So the note is durable before RocksDB opens the database, and is deleted when the store is known
// to be whole. Until then each opening goes on with the salvage of this damage, also without the option `salvage`, and
// also if the folder has been moved meanwhile: the note has the name of the log without its folder. An earlier version
// wrote the folder, too.
//
// Thread safety: none.
#pragma once

#include <string>

#include <rocksdb/file_system.h>

namespace foliot::jobs::detail {

/// The damage that the note of the folder names, with the path of the log as it is now; empty if there is no note.
[[nodiscard]] std::string read_salvage_note(const std::string& folder, rocksdb::FileSystem& files);

/// Writes the note, durably. It replaces an earlier note as a whole, or, after a crash, not at all. Precondition:
/// `what`, the damage, is not empty.
[[nodiscard]] rocksdb::IOStatus write_salvage_note(const std::string& folder, const std::string& what,
                                                   rocksdb::FileSystem& files);

/// Deletes the note. If a crash brings it back, the next opening only reports the damage once more.
void remove_salvage_note(const std::string& folder, rocksdb::FileSystem& files);

}  // namespace foliot::jobs::detail

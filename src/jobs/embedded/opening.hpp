// The two checks when a store is opened: prepared_folder() looks at the folder before RocksDB opens the database in it,
// and open_format() at the format of the database afterwards.
//
// One thread at a time: the constructor of embedded_core calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "disk.hpp"
#include "folder_format.hpp"
#include "locked_folder.hpp"

namespace foliot::jobs::detail {

/// Makes the folder if it is new, and locks it before anything in it is looked at; its name has no `/` and `/.` at its
/// end. Throws store_failure if it is in use, or is neither empty nor that of a store; `for_check`: if it is not that
/// of a store.
[[nodiscard]] locked_folder prepared_folder(std::string folder, const std::shared_ptr<rocksdb::FileSystem>& files,
                                            bool for_check = false);

/// Makes the entry of `folder` in its parent durable. A crash of the machine may otherwise lose a new folder with
/// everything that was synced in it.
rocksdb::IOStatus sync_name(const std::string& folder, rocksdb::FileSystem& on);

struct opened_format {
  std::uint64_t version = first_format;
  std::uint64_t opening = 0;  ///< higher than that of every earlier opening
  job_id next_id = 1;         ///< higher than every id that was given
};

/// Reads the format of the database, or gathers the writes that make a new one. Gathers the number of this opening.
/// Throws store_failure if the database is not a store of these versions.
[[nodiscard]] opened_format open_format(disk& of);

}  // namespace foliot::jobs::detail

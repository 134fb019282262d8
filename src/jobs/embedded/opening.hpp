// The opening of a store's folder: what may be in it, and the version of the format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "disk.hpp"

namespace foliot::jobs::detail {

/// The folder's name, without `/` and `/.` at its end, after a look at what is in it: a new or empty folder, or a
/// store. `for_check`: a store. Throws store_failure.
[[nodiscard]] std::string prepared_folder(std::string folder, const std::shared_ptr<rocksdb::FileSystem>& files,
                                          bool for_check = false);

/// Makes the entry of `folder` in its parent durable: without it a crash of the machine may lose a new folder with all
/// that was synced in it.
rocksdb::IOStatus sync_name(const std::string& folder, rocksdb::FileSystem& on);

/// The versions of the format that this program reads. A new folder has the first one, and gets the second one with its
/// first record that has fields or a history: so an earlier program, which cannot read such a record, opens the folder
/// as long as there is none, and refuses it from then on.
inline constexpr std::uint64_t format_without_fields = 2;
inline constexpr std::uint64_t format_with_fields = 3;

struct opened_format {
  std::uint64_t version = format_without_fields;
  std::uint64_t opening = 0;  ///< higher than that of every earlier opening
  job_id next_id = 1;         ///< higher than every id that was given
};

/// Reads the format of the database, or gathers the writes that make a new one. Gathers the number of this opening.
/// Throws store_failure if the database is not a store of these versions.
[[nodiscard]] opened_format open_format(disk& of);

}  // namespace foliot::jobs::detail

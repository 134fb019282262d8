// The options of the RocksDB database, chosen for version 7.8: docs/decisions/0012-the-embedded-store.md has the
// reasons.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

namespace foliot::jobs::detail {

[[nodiscard]] rocksdb::DBOptions database_options();
/// In the order of `family`.
[[nodiscard]] std::vector<rocksdb::ColumnFamilyDescriptor> family_options();

}  // namespace foliot::jobs::detail

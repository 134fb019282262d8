// Asks for the compaction of files in which most entries are deletions: reads of an index walk over them one by one.
#pragma once

#include <memory>

#include <rocksdb/table_properties.h>

namespace foliot::jobs::detail {

/// RocksDB's own collector (CompactOnDeletionCollector) asks for files of any size.
[[nodiscard]] std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> compact_tombstones();

}  // namespace foliot::jobs::detail

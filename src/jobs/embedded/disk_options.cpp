#include "disk_options.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <memory>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include "keys.hpp"
#include "tombstones.hpp"

namespace foliot::jobs::detail {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// RocksDB's text log, discarded: a failed write to it ends the process in Debian's build, by an assertion. The errors
/// come as statuses, and to background_errors.
class no_log final : public rocksdb::Logger {
 public:
  no_log() : Logger(rocksdb::FATAL_LEVEL) {}
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*values*/) override {}
};

/// Takes the upper six bytes of the id that begins at this place in a key: 65,536 ids have them in common, a chunk.
class chunk_of_ids final : public rocksdb::SliceTransform {
 public:
  explicit chunk_of_ids(std::size_t place) noexcept : place_(place) {}

  [[nodiscard]] const char* Name() const override { return "foliot.chunk_of_ids"; }
  [[nodiscard]] rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data() + place_, size};
  }
  [[nodiscard]] bool InDomain(const rocksdb::Slice& key) const override { return key.size() >= place_ + size; }

 private:
  static constexpr std::size_t size = sizeof(job_id) - 2;

  const std::size_t place_;
};

rocksdb::CompressionType fast_compression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  const bool found = std::ranges::find(supported, rocksdb::kLZ4Compression) != supported.end();
  return found ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
}

}  // namespace

rocksdb::DBOptions database_options() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  // Memory and start-up: what is not flushed is replayed from the log, some 100 MB a second.
  options.db_write_buffer_size = 96 * mebibyte;
  options.max_total_wal_size = 32 * mebibyte;
  options.skip_stats_update_on_db_open = true;
  options.skip_checking_sst_file_sizes_on_db_open = true;
  options.max_background_jobs = 2;
  // More threads would open the files of a large store sooner by some milliseconds, and where the system refuses one of
  // them, RocksDB ends the process.
  options.max_file_opening_threads = 1;
  options.bytes_per_sync = mebibyte;
  // One thread writes, in batches.
  options.allow_concurrent_memtable_write = false;
  options.enable_write_thread_adaptive_yield = false;
  // Defects of 7.8: recycled logs replay stale records, compressed logs cannot be recovered, resuming after an error
  // duplicates entries of the log.
  options.recycle_log_file_num = 0;
  options.wal_compression = rocksdb::kNoCompression;
  options.max_bgerror_resume_count = 0;
  options.info_log = std::make_shared<no_log>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> family_options() {
  rocksdb::BlockBasedTableOptions table;
  // The cache bounds the memory of indexes and filters, too. In partitions of 4 KB they do not push each other out of
  // it: a whole one of a large table is as big as a shard of the cache.
  table.block_cache = rocksdb::NewLRUCache(64 * mebibyte, 2, false, 0.5);
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_top_level_index_and_filter = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4096;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.format_version = 5;

  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.table_properties_collector_factories = {compact_tombstones()};
  options.compression = fast_compression();
  options.level_compaction_dynamic_level_bytes = true;
  options.write_buffer_size = 16 * mebibyte;
  // Ids ascend, and jobs end near the job that ended last: an insertion begins its search at the last one. Where more
  // than 65,536 jobs stay, as with keys that are replaced again and again, those that end and those that come are in
  // different chunks of ids, and each chunk has a last one of its own.
  rocksdb::ColumnFamilyOptions large = options;
  large.write_buffer_size = 32 * mebibyte;
  large.memtable_insert_with_hint_prefix_extractor = std::make_shared<chunk_of_ids>(0);
  rocksdb::ColumnFamilyOptions due = options;
  due.memtable_insert_with_hint_prefix_extractor = std::make_shared<chunk_of_ids>(due_entry::key_size - sizeof(job_id));
  rocksdb::ColumnFamilyOptions ready = options;
  ready.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(sizeof(tube_number)));

  return {{rocksdb::kDefaultColumnFamilyName, options},
          {"jobs", large},
          {"bodies", large},
          {"due", due},
          {"ready", ready},
          {"buried", options},
          {"keys", options}};
}

}  // namespace foliot::jobs::detail

#include "tombstones.hpp"

#include <cstdint>

namespace foliot::jobs::detail {
namespace {

class tombstone_collector final : public rocksdb::TablePropertiesCollector {
 public:
  rocksdb::Status AddUserKey(const rocksdb::Slice& /*key*/, const rocksdb::Slice& /*value*/, rocksdb::EntryType type,
                             rocksdb::SequenceNumber /*sequence*/, std::uint64_t /*file_size*/) override {
    ++entries_;
    if (type == rocksdb::kEntryDelete) ++deletions_;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties* /*properties*/) override { return rocksdb::Status::OK(); }
  [[nodiscard]] rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  [[nodiscard]] const char* Name() const override { return "foliot.tombstones"; }
  /// A smaller file costs less to walk over than to compact.
  [[nodiscard]] bool NeedCompact() const override { return deletions_ >= 4096 && deletions_ * 2 >= entries_; }

 private:
  std::uint64_t entries_ = 0;
  std::uint64_t deletions_ = 0;
};

class tombstone_collectors final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context /*context*/) override {
    return new tombstone_collector;
  }
  [[nodiscard]] const char* Name() const override { return "foliot.tombstones"; }
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> compact_tombstones() {
  return std::make_shared<tombstone_collectors>();
}

}  // namespace foliot::jobs::detail

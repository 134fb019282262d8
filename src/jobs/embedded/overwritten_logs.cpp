#include "overwritten_logs.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "file_names.hpp"

namespace foliot::jobs::detail {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {

bool is_log(std::string_view path) noexcept {
  const std::optional<numbered_name> file = read_name(path.substr(path.rfind('/') + 1));
  return file && file->kind == file_kind::log;
}

}  // namespace

class overwritten_logs::overwritten_log final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  overwritten_log(std::unique_ptr<FSWritableFile> file, std::unique_ptr<rocksdb::FSRandomRWFile> zeros,
                  overwritten_logs& files, std::string name, shared_length length)
      : FSWritableFileOwnerWrapper(std::move(file)),
        files_(files),
        name_(std::move(name)),
        shared_length_(std::move(length)),
        zeros_(std::move(zeros)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* context) override {
    if (IOStatus status = write_zeros(data.size(), options, context); !status.ok()) return status;
    return appended(data.size(), FSWritableFileOwnerWrapper::Append(data, options, context));
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* context) override {
    if (IOStatus status = write_zeros(data.size(), options, context); !status.ok()) return status;
    return appended(data.size(), FSWritableFileOwnerWrapper::Append(data, options, info, context));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    count_sync();
    return FSWritableFileOwnerWrapper::Sync(options, context);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    count_sync();
    return FSWritableFileOwnerWrapper::Fsync(options, context);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* context) override {
    zeros_.reset();
    // A file system may have cut it off by itself. What fails here costs some space, and no data.
    if (may_have_zeros_) FSWritableFileOwnerWrapper::Truncate(length_, options, context).PermitUncheckedError();
    may_have_zeros_ = false;
    files_.forget(name_);
    return FSWritableFileOwnerWrapper::Close(options, context);
  }

 private:
  /// Writes zeros behind the end of the log if `size` more bytes would reach the end of those that are there.
  IOStatus write_zeros(std::size_t size, const IOOptions& options, IODebugContext* context) {
    static constexpr std::size_t step = 65'536;
    static constexpr char zeros[step] = {};
    const std::uint64_t needed = length_ + size;
    const bool is_worth_it = small_syncs_.load(seam::relaxed) >= syncs_before && size <= small_sync;
    if (needed <= zeroed_ || zeros_ == nullptr || !is_worth_it) return IOStatus::OK();
    may_have_zeros_ = true;
    std::uint64_t at = std::max(length_, zeroed_);
    for (const std::uint64_t end = needed + zeros_at_a_time; at < end;) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(step, end - at));
      IOStatus status = zeros_->Write(at, {zeros, part}, options, context);
      if (!status.ok())
        return stop_zeros();  // the batch itself may still have room; if it has not, its own write fails
      at += part;
    }
    IOStatus synced = zeros_->Sync(options, context);
    if (synced.IsNoSpace()) return stop_zeros();
    if (synced.ok()) zeroed_ = at;
    return synced;
  }
  IOStatus stop_zeros() {
    zeros_.reset();
    return IOStatus::OK();
  }
  IOStatus appended(std::size_t size, IOStatus status) {
    if (!status.ok()) return status;
    length_ += size;
    shared_length_->store(length_, seam::release);
    unsynced_.fetch_add(size, seam::relaxed);
    return status;
  }
  void count_sync() noexcept {
    const bool is_small = unsynced_.exchange(0, seam::relaxed) <= small_sync;
    const std::uint32_t before = small_syncs_.load(seam::relaxed);
    small_syncs_.store(is_small ? std::min(before + 1, syncs_before) : 0, seam::relaxed);
  }

  overwritten_logs& files_;
  const std::string name_;
  const shared_length shared_length_;
  std::unique_ptr<rocksdb::FSRandomRWFile> zeros_;  ///< the same file; null: no zeros any more
  std::uint64_t length_ = 0;                        ///< how much was appended
  std::uint64_t zeroed_ = 0;                        ///< the file has at least this length, durably
  bool may_have_zeros_ = false;                     ///< behind its end
  // relaxed: RocksDB may sync a log in the background after the last append to it; the counts only tell what is worth
  // it.
  seam::atomic<std::uint64_t> unsynced_{0};
  seam::atomic<std::uint32_t> small_syncs_{0};  ///< in a row
};

class overwritten_logs::ended_log final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  ended_log(std::unique_ptr<FSSequentialFile> file, std::uint64_t length)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_(length) {}

  IOStatus Read(std::size_t size, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* context) override {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    IOStatus status = FSSequentialFileOwnerWrapper::Read(part, options, result, scratch, context);
    if (status.ok()) left_ -= result->size();
    return status;
  }
  IOStatus Skip(std::uint64_t size) override {
    const std::uint64_t part = std::min(size, left_);
    left_ -= part;
    return FSSequentialFileOwnerWrapper::Skip(part);
  }
  IOStatus PositionedRead(std::uint64_t /*offset*/, std::size_t /*size*/, const IOOptions& /*options*/,
                          rocksdb::Slice* /*result*/, char* /*scratch*/, IODebugContext* /*context*/) override {
    return IOStatus::NotSupported("a log is read from its beginning");  // RocksDB asks only with direct I/O
  }

 private:
  std::uint64_t left_;
};

void overwritten_logs::end_at(const std::string& name, std::uint64_t length) {
  const lock hold(lock_);
  ends_[name] = length;
}

IOStatus overwritten_logs::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  IOStatus made = FileSystemWrapper::NewWritableFile(name, options, result, context);
  if (!made.ok() || !is_log(name)) return made;
  std::unique_ptr<rocksdb::FSRandomRWFile> zeros;
  // Opened now: later another folder could have this name. Without it the log is appended to.
  if (!NewRandomRWFile(name, options, &zeros, context).ok()) return made;
  auto length = std::make_shared<seam::atomic<std::uint64_t>>(0);
  *result = std::make_unique<overwritten_log>(std::move(*result), std::move(zeros), *this, name, length);
  const lock hold(lock_);
  written_[name] = std::move(length);
  return made;
}

void overwritten_logs::forget(const std::string& name) {
  const lock hold(lock_);
  written_.erase(name);
}

IOStatus overwritten_logs::GetFileSize(const std::string& name, const IOOptions& options, std::uint64_t* size,
                                       IODebugContext* context) {
  IOStatus status = FileSystemWrapper::GetFileSize(name, options, size, context);
  if (!status.ok()) return status;
  const lock hold(lock_);
  if (const auto length = written_.find(name); length != written_.end()) {
    *size = std::min(*size, length->second->load(seam::acquire));
  }
  return status;
}

IOStatus overwritten_logs::NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                             IODebugContext* context) {
  IOStatus opened = FileSystemWrapper::NewSequentialFile(name, options, result, context);
  if (!opened.ok()) return opened;
  const lock hold(lock_);
  if (const auto end = ends_.find(name); end != ends_.end()) {
    *result = std::make_unique<ended_log>(std::move(*result), end->second);
  }
  return opened;
}

}  // namespace foliot::jobs::detail

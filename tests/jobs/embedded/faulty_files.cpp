#include "faulty_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace foliot_test {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {
/// What a disk writes as a whole.
constexpr std::uint64_t sector = 512;

std::optional<std::string> contents(const std::string& name) {
  const std::ifstream in(name, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}
}  // namespace

class faulty_files::written_file final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  written_file(std::unique_ptr<FSWritableFile> file, faulty_files& files, std::string name)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files), name_(std::move(name)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* context) override {
    if (IOStatus failed = files_.change(); !failed.ok()) return failed;
    const std::lock_guard hold(files_.lock_);
    files_.files_[name_].size += data.size();
    return FSWritableFileOwnerWrapper::Append(data, options, context);
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& /*info*/,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* context) override {
    if (IOStatus failed = files_.change(); !failed.ok()) return failed;
    const std::lock_guard hold(files_.lock_);
    file_state& it = files_.files_[name_];
    it.size = size;
    it.synced = std::min(it.synced, size);
    // The zeros behind it may come back: their loss is not synced. Those who read logs see them in the other lives.
    it.zeros = it.synced_zeros = 0;
    return FSWritableFileOwnerWrapper::Truncate(size, options, context);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    if (IOStatus failed = files_.change(); !failed.ok()) return failed;
    if (IOStatus failed = Flush(options, context); !failed.ok()) return failed;
    const std::lock_guard hold(files_.lock_);
    files_.files_[name_].sync();
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override { return Sync(options, context); }

 private:
  faulty_files& files_;
  std::string name_;
};

class faulty_files::zeros_of_log final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  zeros_of_log(std::unique_ptr<FSRandomRWFile> file, faulty_files& files, std::string name)
      : FSRandomRWFileOwnerWrapper(std::move(file)), files_(files), name_(std::move(name)) {}

  IOStatus Write(std::uint64_t offset, const rocksdb::Slice& data, const IOOptions& options,
                 IODebugContext* context) override {
    if (IOStatus failed = files_.change(); !failed.ok()) return failed;
    const std::lock_guard hold(files_.lock_);
    file_state& it = files_.files_[name_];
    const bool is_zeros = std::ranges::all_of(data.ToStringView(), [](char byte) { return byte == '\0'; });
    if (offset < it.size || !is_zeros) return IOStatus::InvalidArgument("only zeros, and behind the end of a log");
    it.zeros = std::max(it.zeros, offset + data.size());
    return FSRandomRWFileOwnerWrapper::Write(offset, data, options, context);
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
    if (IOStatus failed = files_.change(); !failed.ok()) return failed;
    const std::lock_guard hold(files_.lock_);
    files_.files_[name_].sync();
    return IOStatus::OK();
  }

 private:
  faulty_files& files_;
  std::string name_;
};

class faulty_files::synced_directory final : public rocksdb::FSDirectoryWrapper {
 public:
  synced_directory(std::unique_ptr<FSDirectory> folder, faulty_files& files)
      : FSDirectoryWrapper(std::move(folder)), files_(files) {}

  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
    if (IOStatus failed = files_.change(); !failed.ok()) return failed;
    const std::lock_guard hold(files_.lock_);
    for (auto& [name, it] : files_.files_) it.name_synced = true;
    files_.replaced_.clear();
    return IOStatus::OK();
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context,
                               const rocksdb::DirFsyncOptions& /*how*/) override {
    return Fsync(options, context);
  }

 private:
  faulty_files& files_;
};

void faulty_files::stop_at(std::uint64_t call) {
  const std::lock_guard hold(lock_);
  calls_ = 0;
  failing_ = call;
  once_ = false;
}

void faulty_files::fail_once_at(std::uint64_t call) {
  stop_at(call);
  const std::lock_guard hold(lock_);
  once_ = true;
}

void faulty_files::restart() {
  const std::lock_guard hold(lock_);
  failing_.reset();
}

std::uint64_t faulty_files::calls() const {
  const std::lock_guard hold(lock_);
  return calls_;
}

void faulty_files::set_free_space(std::optional<std::uint64_t> bytes) {
  const std::lock_guard hold(lock_);
  free_space_ = bytes;
}

IOStatus faulty_files::change() {
  const std::lock_guard hold(lock_);
  ++calls_;
  if (!failing_ || (once_ ? calls_ != *failing_ : calls_ < *failing_)) return IOStatus::OK();
  return IOStatus::IOError("a simulated failure");
}

void faulty_files::crash(std::mt19937_64& random) {
  const std::lock_guard hold(lock_);
  for (const auto& [name, it] : files_) {
    if (!std::filesystem::exists(name)) continue;
    if (!it.name_synced) {
      std::filesystem::remove(name);
    } else {
      lose_unsynced(name, it, random);
    }
  }
  for (const auto& [name, before] : replaced_) {
    if (before) {
      std::ofstream(name, std::ios::binary) << *before;
    } else {
      std::filesystem::remove(name);
    }
  }
  files_.clear();
  replaced_.clear();
  failing_.reset();
}

void faulty_files::lose_unsynced(const std::string& name, const file_state& it, std::mt19937_64& random) {
  // Behind the durable zeros it is cut off somewhere.
  const std::uint64_t whole = std::max(it.synced, it.synced_zeros);
  const std::uint64_t length = std::max(it.size, it.zeros);
  if (length > whole) {
    const std::uint64_t kept = whole + random() % (length - whole + 1);
    if (std::filesystem::file_size(name) > kept) std::filesystem::resize_file(name, kept);
  }
  // Before that each sector has been written, or not.
  const std::uint64_t end = std::min(it.size, it.synced_zeros);
  if (end <= it.synced) return;
  std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
  bool lost = false;
  bool is_hole = false;
  for (std::uint64_t at = it.synced; at < end;) {
    const std::uint64_t next = std::min((at / sector + 1) * sector, end);
    const bool is_lost = random() % 2 == 0;
    if (is_lost) {
      file.seekp(static_cast<std::streamoff>(at));
      file << std::string(next - at, '\0');
    }
    is_hole = is_hole || (lost && !is_lost);
    lost = lost || is_lost;
    at = next;
  }
  if (is_hole) ++logs_with_holes_;
}

std::size_t faulty_files::logs_with_holes() const {
  const std::lock_guard hold(lock_);
  return logs_with_holes_;
}

void faulty_files::track(const std::string& name, std::unique_ptr<rocksdb::FSWritableFile>* file) {
  *file = std::make_unique<written_file>(std::move(*file), *this, name);
}

IOStatus faulty_files::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  if (IOStatus failed = change(); !failed.ok()) return failed;
  if (IOStatus made = FileSystemWrapper::NewWritableFile(name, options, result, context); !made.ok()) return made;
  const std::lock_guard hold(lock_);
  files_[name] = {};
  track(name, result);
  return IOStatus::OK();
}

IOStatus faulty_files::ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  if (IOStatus failed = change(); !failed.ok()) return failed;
  if (IOStatus made = FileSystemWrapper::ReopenWritableFile(name, options, result, context); !made.ok()) return made;
  const std::lock_guard hold(lock_);
  const std::uint64_t size = std::filesystem::file_size(name);
  if (!files_.contains(name)) files_[name] = {.size = size, .synced = size, .name_synced = true};
  track(name, result);
  return IOStatus::OK();
}

IOStatus faulty_files::NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSRandomRWFile>* result, IODebugContext* context) {
  if (IOStatus made = FileSystemWrapper::NewRandomRWFile(name, options, result, context); !made.ok()) return made;
  if (name.ends_with(".log")) *result = std::make_unique<zeros_of_log>(std::move(*result), *this, name);
  return IOStatus::OK();
}

IOStatus faulty_files::NewDirectory(const std::string& name, const IOOptions& options,
                                    std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* context) {
  if (IOStatus made = FileSystemWrapper::NewDirectory(name, options, result, context); !made.ok()) return made;
  *result = std::make_unique<synced_directory>(std::move(*result), *this);
  return IOStatus::OK();
}

IOStatus faulty_files::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                  IODebugContext* context) {
  if (IOStatus failed = change(); !failed.ok()) return failed;
  const std::lock_guard hold(lock_);
  replaced_.emplace(to, contents(to));
  if (const auto found = files_.find(from); found != files_.end()) {
    file_state moved = found->second;
    moved.name_synced = true;  // replaced_ has the name
    files_.erase(found);
    files_[to] = moved;
  }
  return FileSystemWrapper::RenameFile(from, to, options, context);
}

IOStatus faulty_files::DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* context) {
  if (IOStatus failed = change(); !failed.ok()) return failed;
  const std::lock_guard hold(lock_);
  files_.erase(name);
  return FileSystemWrapper::DeleteFile(name, options, context);
}

IOStatus faulty_files::GetFreeSpace(const std::string& path, const IOOptions& options, std::uint64_t* free,
                                    IODebugContext* context) {
  const std::lock_guard hold(lock_);
  if (!free_space_) return FileSystemWrapper::GetFreeSpace(path, options, free, context);
  *free = *free_space_;
  return IOStatus::OK();
}

}  // namespace foliot_test

#include "synced_files.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <foliot/core/seam/sync.hpp>

#include "file_names.hpp"

namespace foliot::jobs::detail {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {

constexpr std::string_view current_name = "CURRENT";

std::string without_slash(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder);
}

struct path_parts {
  std::string folder;
  std::string name;
};
path_parts parts_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {without_slash(path.substr(0, slash + 1)), std::string(path.substr(slash + 1))};
}

bool is_watched(std::string_view name) noexcept {
  const std::optional<numbered_name> file = read_name(name);
  return file && (file->kind == file_kind::log || file->kind == file_kind::manifest);
}

}  // namespace

class synced_files::watched_file final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  watched_file(std::unique_ptr<FSWritableFile> file, synced_files& files, path_parts where, std::uint64_t made)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files), where_(std::move(where)), made_(made) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* context) override {
    return appended(data.size(), FSWritableFileOwnerWrapper::Append(data, options, context));
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* context) override {
    return appended(data.size(), FSWritableFileOwnerWrapper::Append(data, options, info, context));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    const std::uint64_t before = length_.load(seam::relaxed);
    return synced(before, FSWritableFileOwnerWrapper::Sync(options, context));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    const std::uint64_t before = length_.load(seam::relaxed);
    return synced(before, FSWritableFileOwnerWrapper::Fsync(options, context));
  }

 private:
  IOStatus appended(std::size_t size, IOStatus status) {
    if (status.ok()) length_.fetch_add(size, seam::relaxed);
    return status;
  }
  IOStatus synced(std::uint64_t length, IOStatus status) FOLIOT_EXCLUDES(files_.lock_) {
    if (!status.ok()) return status;
    const lock hold(files_.lock_);
    const auto folder = files_.folders_.find(where_.folder);
    if (folder == files_.folders_.end()) return status;
    const auto it = folder->second.find(where_.name);
    if (it != folder->second.end() && it->second.made == made_) it->second.synced = std::max(it->second.synced, length);
    return status;
  }

  synced_files& files_;
  const path_parts where_;
  const std::uint64_t made_;
  // Written by the thread that appends, read by the one that syncs. Relaxed: a sync covers at least what was appended
  // before it was called, and a thread that has seen an append return sees its length.
  seam::atomic<std::uint64_t> length_{0};
};

class synced_files::watched_folder final : public rocksdb::FSDirectoryWrapper {
 public:
  watched_folder(std::unique_ptr<FSDirectory> folder, synced_files& files, std::string name)
      : FSDirectoryWrapper(std::move(folder)), files_(files), name_(std::move(name)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    const std::uint64_t before = last_made();
    return synced(before, FSDirectoryWrapper::Fsync(options, context));
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context,
                               const rocksdb::DirFsyncOptions& how) override {
    const std::uint64_t before = last_made();
    return synced(before, FSDirectoryWrapper::FsyncWithDirOptions(options, context, how));
  }

 private:
  std::uint64_t last_made() const FOLIOT_EXCLUDES(files_.lock_) {
    const lock hold(files_.lock_);
    return files_.last_made_;
  }
  IOStatus synced(std::uint64_t last, IOStatus status) FOLIOT_EXCLUDES(files_.lock_) {
    if (!status.ok()) return status;
    const lock hold(files_.lock_);
    if (const auto folder = files_.folders_.find(name_); folder != files_.folders_.end()) {
      for (auto& [name, it] : folder->second) it.is_named = it.is_named || (it.named != 0 && it.named <= last);
    }
    return status;
  }

  synced_files& files_;
  const std::string name_;
};

std::vector<synced_length> synced_files::in(const std::string& folder) const {
  std::vector<synced_length> found;
  const lock hold(lock_);
  const auto files = folders_.find(without_slash(folder));
  if (files == folders_.end()) return found;
  std::uint64_t last_manifest = 0;
  for (const auto& [name, it] : files->second) {
    if (!it.is_named || it.synced == 0) continue;
    const numbered_name file = *read_name(name);
    if (file.kind == file_kind::manifest) {
      if (file.number <= last_manifest) continue;
      last_manifest = file.number;
      std::erase_if(found, [](const synced_length& each) { return each.file.starts_with("MANIFEST"); });
    }
    found.push_back({name, it.synced});
  }
  return found;
}

void synced_files::forget(const std::string& folder) {
  const lock hold(lock_);
  folders_.erase(without_slash(folder));
}

void synced_files::name_manifest(const std::string& folder) {
  const lock hold(lock_);
  const auto files = folders_.find(folder);
  if (files == folders_.end()) return;
  made_file* last = nullptr;
  for (auto& [name, it] : files->second) {
    const bool is_manifest = read_name(name)->kind == file_kind::manifest;
    if (is_manifest && (last == nullptr || last->made < it.made)) last = &it;
  }
  if (last != nullptr && last->named == 0) last->named = ++last_made_;
}

IOStatus synced_files::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  IOStatus made = FileSystemWrapper::NewWritableFile(name, options, result, context);
  path_parts where = parts_of(name);
  if (made.ok() && where.name == current_name) name_manifest(where.folder);
  if (!made.ok() || !is_watched(where.name)) return made;
  std::uint64_t number = 0;
  {
    const lock hold(lock_);
    number = ++last_made_;
    const bool is_log = read_name(where.name)->kind == file_kind::log;
    folders_[where.folder][where.name] = {number, is_log ? number : 0};
  }
  *result = std::make_unique<watched_file>(std::move(*result), *this, std::move(where), number);
  return made;
}

IOStatus synced_files::NewDirectory(const std::string& name, const IOOptions& options,
                                    std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* context) {
  IOStatus opened = FileSystemWrapper::NewDirectory(name, options, result, context);
  if (opened.ok()) *result = std::make_unique<watched_folder>(std::move(*result), *this, without_slash(name));
  return opened;
}

IOStatus synced_files::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                  IODebugContext* context) {
  IOStatus renamed = FileSystemWrapper::RenameFile(from, to, options, context);
  if (!renamed.ok()) return renamed;
  if (const path_parts where = parts_of(to); where.name == current_name) name_manifest(where.folder);
  const lock hold(lock_);
  // A backup gets its name when it is complete. No log and no manifest ever changes its own.
  if (auto folder = folders_.extract(without_slash(from)); !folder.empty()) {
    folder.key() = without_slash(to);
    folders_.insert(std::move(folder));
  }
  return renamed;
}

IOStatus synced_files::DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* context) {
  {
    const lock hold(lock_);
    const path_parts where = parts_of(name);
    if (const auto folder = folders_.find(where.folder); folder != folders_.end()) {
      folder->second.erase(where.name);
      if (folder->second.empty()) folders_.erase(folder);  // such as that of a backup that failed
    }
  }
  return FileSystemWrapper::DeleteFile(name, options, context);
}

}  // namespace foliot::jobs::detail

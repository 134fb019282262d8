#include "private_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace foliot::jobs::detail {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {

constexpr mode_t file_mode = S_IRUSR | S_IWUSR;
constexpr mode_t folder_mode = S_IRWXU;
constexpr mode_t permissions = S_IRWXU | S_IRWXG | S_IRWXO;

IOStatus failure(const std::string& name, int error) {
  const std::string what = "While making " + name;
  if (error == ENOSPC) return IOStatus::NoSpace(what, std::strerror(error));
  if (error == ENOENT) return IOStatus::PathNotFound(what, std::strerror(error));
  return IOStatus::IOError(what, std::strerror(error));
}

/// Makes an empty file, unless there is one. `is_new`: it has made it.
IOStatus make_file(const std::string& name, bool& is_new) {
  is_new = false;
  const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
  if (made < 0) return errno == EEXIST ? IOStatus::OK() : failure(name, errno);
  is_new = true;
  // A umask may have taken bits from the owner, too. A file system that refuses to set them has its own permissions.
  struct stat about{};
  if (::fstat(made, &about) == 0 && (about.st_mode & permissions) != file_mode) {
    [[maybe_unused]] const int refused = ::fchmod(made, file_mode);
  }
  ::close(made);
  return IOStatus::OK();
}

/// Makes a file before `open` opens it, and removes it again if that fails.
template <class Open>
IOStatus opened(const std::string& name, Open open) {
  bool is_new = false;
  if (IOStatus made = make_file(name, is_new); !made.ok()) return made;
  IOStatus status = open();
  if (!status.ok() && is_new) ::unlink(name.c_str());
  return status;
}

/// Makes a folder. False: it has not, and errno says why.
bool make_folder(const std::string& name) noexcept {
  if (::mkdir(name.c_str(), folder_mode) != 0) return false;
  struct stat about{};
  if (::stat(name.c_str(), &about) == 0 && (about.st_mode & permissions) != folder_mode) {
    [[maybe_unused]] const int refused = ::chmod(name.c_str(), folder_mode);
  }
  return true;
}

}  // namespace

IOStatus private_files::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  return opened(name, [&] { return FileSystemWrapper::NewWritableFile(name, options, result, context); });
}

IOStatus private_files::ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  return opened(name, [&] { return FileSystemWrapper::ReopenWritableFile(name, options, result, context); });
}

IOStatus private_files::CreateDir(const std::string& name, const IOOptions& options, IODebugContext* context) {
  if (make_folder(name)) return FileSystemWrapper::CreateDirIfMissing(name, options, context);
  return FileSystemWrapper::CreateDir(name, options, context);
}

IOStatus private_files::CreateDirIfMissing(const std::string& name, const IOOptions& options, IODebugContext* context) {
  make_folder(name);
  return FileSystemWrapper::CreateDirIfMissing(name, options, context);
}

IOStatus private_files::LockFile(const std::string& name, const IOOptions& options, rocksdb::FileLock** lock,
                                 IODebugContext* context) {
  // It stays also if it cannot be locked: another process may have locked it meanwhile.
  bool is_new = false;
  if (IOStatus made = make_file(name, is_new); !made.ok()) return made;
  return FileSystemWrapper::LockFile(name, options, lock, context);
}

open_to_others openness(const std::string& folder) noexcept {
  struct stat about{};
  if (::stat(folder.c_str(), &about) != 0) return open_to_others::no;
  if ((about.st_mode & (S_IXGRP | S_IXOTH)) != 0) return open_to_others::enterable;
  return (about.st_mode & (S_IRGRP | S_IROTH)) != 0 ? open_to_others::readable : open_to_others::no;
}

}  // namespace foliot::jobs::detail

#include "locked_folder_files.hpp"

namespace foliot::jobs::detail {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

IOStatus locked_folder_files::NewSequentialFile(const std::string& name, const FileOptions& options,
                                                std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                                IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::NewSequentialFile(name, options, result, context); });
}

IOStatus locked_folder_files::NewRandomAccessFile(const std::string& name, const FileOptions& options,
                                                  std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                                  IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::NewRandomAccessFile(name, options, result, context); });
}

IOStatus locked_folder_files::NewWritableFile(const std::string& name, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::NewWritableFile(name, options, result, context); });
}

IOStatus locked_folder_files::ReopenWritableFile(const std::string& name, const FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                 IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::ReopenWritableFile(name, options, result, context); });
}

IOStatus locked_folder_files::ReuseWritableFile(const std::string& name, const std::string& old_name,
                                                const FileOptions& options,
                                                std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::ReuseWritableFile(name, old_name, options, result, context); });
}

IOStatus locked_folder_files::NewRandomRWFile(const std::string& name, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                              IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::NewRandomRWFile(name, options, result, context); });
}

IOStatus locked_folder_files::CreateDir(const std::string& name, const IOOptions& options, IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::CreateDir(name, options, context); });
}

IOStatus locked_folder_files::CreateDirIfMissing(const std::string& name, const IOOptions& options,
                                                 IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::CreateDirIfMissing(name, options, context); });
}

IOStatus locked_folder_files::DeleteDir(const std::string& name, const IOOptions& options, IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::DeleteDir(name, options, context); });
}

IOStatus locked_folder_files::DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::DeleteFile(name, options, context); });
}

IOStatus locked_folder_files::LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                                       IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::LinkFile(from, to, options, context); });
}

IOStatus locked_folder_files::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                         IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::RenameFile(from, to, options, context); });
}

IOStatus locked_folder_files::Truncate(const std::string& name, std::size_t size, const IOOptions& options,
                                       IODebugContext* context) {
  return in_place([&] { return FileSystemWrapper::Truncate(name, size, options, context); });
}

}  // namespace foliot::jobs::detail

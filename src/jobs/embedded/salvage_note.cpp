#include "salvage_note.hpp"

#include <memory>

namespace foliot::jobs::detail {
namespace {

std::string name_in(const std::string& folder) { return folder + "/SALVAGING"; }

rocksdb::IOStatus sync(const std::string& folder, rocksdb::FileSystem& files) {
  std::unique_ptr<rocksdb::FSDirectory> opened;
  const rocksdb::IOStatus status = files.NewDirectory(folder, {}, &opened, nullptr);
  return status.ok() ? opened->Fsync({}, nullptr) : status;
}

}  // namespace

std::string read_salvage_note(const std::string& folder, rocksdb::FileSystem& files) {
  if (!files.FileExists(name_in(folder), {}, nullptr).ok()) return {};
  std::string what;
  const bool is_read = rocksdb::ReadFileToString(&files, name_in(folder), &what).ok();
  // An earlier version wrote it in place: a crash may have cut it off, before RocksDB had opened the database.
  return is_read && !what.empty() ? what : "its log was damaged";
}

rocksdb::IOStatus write_salvage_note(const std::string& folder, const std::string& what, rocksdb::FileSystem& files) {
  const std::string made = name_in(folder) + ".new";
  rocksdb::IOStatus status = rocksdb::WriteStringToFile(&files, what, made, true);
  if (status.ok()) status = files.RenameFile(made, name_in(folder), {}, nullptr);
  return status.ok() ? sync(folder, files) : status;
}

void remove_salvage_note(const std::string& folder, rocksdb::FileSystem& files) {
  if (files.DeleteFile(name_in(folder), {}, nullptr).ok()) sync(folder, files).PermitUncheckedError();
}

}  // namespace foliot::jobs::detail

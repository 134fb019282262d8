#include "salvage_note.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "file_names.hpp"

namespace foliot::jobs::detail {
namespace {

std::string name_in(const std::string& folder) { return folder + "/SALVAGING"; }

rocksdb::IOStatus sync(const std::string& folder, rocksdb::FileSystem& files) {
  std::unique_ptr<rocksdb::FSDirectory> opened;
  const rocksdb::IOStatus status = files.NewDirectory(folder, {}, &opened, nullptr);
  return status.ok() ? opened->Fsync({}, nullptr) : status;
}

/// The damage with `folder` instead of the folder that it has before the name of its log.
std::string in_folder(std::string what, std::string_view folder) {
  constexpr std::string_view before = "its log ", ending = ".log";
  const std::size_t begin = what.find(before), end = what.rfind(ending);
  if (begin == std::string::npos || end == std::string::npos || end < begin + before.size()) return what;
  const std::size_t path = begin + before.size();
  const std::size_t slash = what.rfind('/', end);
  const std::size_t name = slash == std::string::npos || slash < path ? path : slash + 1;
  const auto file = read_name(std::string_view(what).substr(name, end + ending.size() - name));
  if (file && file->kind == file_kind::log) what.replace(path, name - path, folder);
  return what;
}

}  // namespace

std::string read_salvage_note(const std::string& folder, rocksdb::FileSystem& files) {
  if (!files.FileExists(name_in(folder), {}, nullptr).ok()) return {};
  std::string what;
  const bool is_read = rocksdb::ReadFileToString(&files, name_in(folder), &what).ok();
  // An earlier version wrote it in place: a crash may have cut it off, before RocksDB had opened the database.
  return is_read && !what.empty() ? in_folder(std::move(what), folder + "/") : "its log was damaged";
}

rocksdb::IOStatus write_salvage_note(const std::string& folder, const std::string& what, rocksdb::FileSystem& files) {
  const std::string made = name_in(folder) + ".new";
  rocksdb::IOStatus status = rocksdb::WriteStringToFile(&files, in_folder(what, ""), made, true);
  if (status.ok()) status = files.RenameFile(made, name_in(folder), {}, nullptr);
  return status.ok() ? sync(folder, files) : status;
}

void remove_salvage_note(const std::string& folder, rocksdb::FileSystem& files) {
  if (files.DeleteFile(name_in(folder), {}, nullptr).ok()) sync(folder, files).PermitUncheckedError();
}

}  // namespace foliot::jobs::detail

#include "opening.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <rocksdb/env.h>

#include "file_names.hpp"
#include "private_files.hpp"

namespace foliot::jobs::detail {
namespace {

constexpr std::uint64_t format_version = 2;
/// More ids and openings than the lost part of a log can have given: none of them may be given again.
constexpr std::uint64_t skipped_by_salvage = 10'000'000;

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
  throw store_failure("foliot: cannot open the job store " + folder + ": " + why);
}

/// Whether it is a file of a database that was opened. RocksDB makes CURRENT, durably, before any of them.
bool has_changes(const numbered_name& file) {
  return file.kind == file_kind::log || file.kind == file_kind::table ||
         (file.kind == file_kind::manifest && file.number > 1);
}

std::optional<std::uint64_t> read_number(disk& of, std::string_view key) {
  const std::optional<std::string_view> value = of.read(family::meta, key);
  if (!value) return std::nullopt;
  if (value->size() != sizeof(std::uint64_t)) {
    refuse(of.folder(), "its entry '" + std::string(key) + "' is damaged: restore a backup");
  }
  return read_big<std::uint64_t>(value->data());
}

}  // namespace

rocksdb::IOStatus sync_name(const std::string& folder, rocksdb::FileSystem& on) {
  std::filesystem::path name = folder;
  if (!name.has_filename()) name = name.parent_path();  // it ended in a slash
  const std::string parent = name.has_parent_path() ? name.parent_path().string() : ".";
  std::unique_ptr<rocksdb::FSDirectory> opened;
  const rocksdb::IOStatus status = on.NewDirectory(parent, rocksdb::IOOptions{}, &opened, nullptr);
  return status.ok() ? opened->Fsync(rocksdb::IOOptions{}, nullptr) : status;
}

std::string prepared_folder(const std::string& folder, const std::shared_ptr<rocksdb::FileSystem>& files) {
  if (folder.empty()) refuse("''", "it needs the name of a folder");
  private_files on(files != nullptr ? files : rocksdb::FileSystem::Default());
  const rocksdb::IOOptions io;
  bool is_folder = false;
  const bool is_new = !on.FileExists(folder, io, nullptr).ok();
  if (!is_new) {
    if (on.IsDirectory(folder, io, &is_folder, nullptr).ok() && !is_folder) refuse(folder, "it is not a folder");
  }
  const rocksdb::IOStatus made = on.CreateDirIfMissing(folder, io, nullptr);
  if (!made.ok())
    refuse(folder, "the folder cannot be made (" + made.ToString() + "): name one in a folder that exists");
  std::vector<std::string> names;
  const rocksdb::IOStatus listed = on.GetChildren(folder, io, &names, nullptr);
  if (!listed.ok()) refuse(folder, "the folder cannot be read: " + listed.ToString());
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  const auto has = [&names](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  for (const std::string& name : names) {
    const auto file = read_name(name);
    if (file && file->is_misread) {
      refuse(folder, "RocksDB would misread the number in the name of its file '" + name + "': move that file away");
    }
    // RocksDB would make a new database, and delete the files of the old one.
    if (file && !has("CURRENT") && has_changes(*file)) {
      refuse(folder, "its file CURRENT is missing, and '" + name + "' is there: restore a backup");
    }
  }
  // A first opening that was interrupted leaves RocksDB's LOCK, but no CURRENT.
  if (!names.empty() && !has("CURRENT") && !has("LOCK")) {
    refuse(folder, "it holds other files, '" + names.front() + "' among them: name an empty folder or a new one");
  }
  if (!has("CURRENT")) {
    const rocksdb::IOStatus kept = sync_name(folder, on);
    // A folder that was there may lie in one that this user must not read.
    if (is_new && !kept.ok()) refuse(folder, "its name cannot be synced to the disk: " + kept.ToString());
  }
  return folder;
}

opened_format open_format(disk& of) {
  const std::optional<std::uint64_t> version = read_number(of, "version");
  if (!version) {
    if (disk::scan any(of, family::meta, "", ""); any.valid()) {
      refuse(of.folder(), "it is the database of another program: name another folder");
    }
    of.put(family::meta, "version", view(number_key(format_version)));
  } else if (*version != format_version) {
    refuse(of.folder(), "its format has version " + std::to_string(*version) + ", and this program reads version " +
                            std::to_string(format_version) + ": use the program that wrote it");
  }
  opened_format found;
  const std::uint64_t skipped = of.damage().empty() ? 0 : skipped_by_salvage;
  found.opening = read_number(of, "opening").value_or(0) + skipped + 1;
  found.next_id = std::max<job_id>(read_number(of, "ids").value_or(1), 1) + skipped;
  of.put(family::meta, "opening", view(number_key(found.opening)));
  if (skipped != 0) of.put(family::meta, "ids", view(number_key(found.next_id)));
  return found;
}

}  // namespace foliot::jobs::detail

#include "opening.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>

#include "file_names.hpp"
#include "private_files.hpp"

namespace foliot::jobs::detail {
namespace {

/// More ids and openings than the lost part of a log can have given: none of them may be given again.
constexpr std::uint64_t skipped_by_salvage = 10'000'000;

using remedies = store_failure::remedies;

[[noreturn]] void refuse(const std::string& folder, const std::string& why, remedies remedy = remedies::open_again) {
  throw store_failure("cannot open the job store " + folder + ": " + why, remedy);
}

/// Whether the file shows that its database was opened before, and so may have jobs. RocksDB makes CURRENT, durably,
/// before it makes such a file.
bool shows_opening(const numbered_name& file) {
  return file.kind == file_kind::log || file.kind == file_kind::table ||
         (file.kind == file_kind::manifest && file.number > 1);
}

/// Whether the name of a file shows that the folder has a database. That of a log does not: any program may have a file
/// 123456.log.
bool is_of_database(std::string_view name) {
  constexpr std::array<std::string_view, 5> fixed{"CURRENT", "LOCK", "IDENTITY", "SYNCED", "SALVAGING"};
  const std::optional<numbered_name> file = read_name(name);
  return std::ranges::find(fixed, name) != fixed.end() || (file && file->kind != file_kind::log);
}

/// The folder by the name that its parent has for it: without `/` and `/.` at its end.
std::string without_slashes(std::string folder) {
  for (;;) {
    const std::size_t end = folder.ends_with("/.") ? 2 : folder.ends_with('/') ? 1 : 0;
    if (end == 0 || folder.size() <= end) return folder;
    folder.resize(folder.size() - end);
  }
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> names_in(const std::string& folder, rocksdb::FileSystem& on) {
  std::vector<std::string> names;
  const rocksdb::IOStatus listed = on.GetChildren(folder, rocksdb::IOOptions{}, &names, nullptr);
  if (!listed.ok()) refuse(folder, "the folder cannot be read: " + listed.ToString());
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  return names;
}

/// Refuses a folder with these files, unless it is empty or they are those of a database that RocksDB opens as it is.
void refuse_other_files(const std::string& folder, const std::vector<std::string>& names) {
  const bool is_store = std::ranges::any_of(names, is_of_database);
  for (const std::string& name : names) {
    const auto file = read_name(name);
    if (file && is_store && file->is_misread) {
      refuse(folder, "RocksDB would misread the number in the name of its file '" + name + "': move that file away");
    }
    // Without CURRENT, RocksDB would make a new database, and delete the files of the old one.
    if (file && is_store && !has(names, "CURRENT") && shows_opening(*file)) {
      refuse(folder, "its file CURRENT is missing, and '" + name + "' is there: restore a backup",
             remedies::restore_backup);
    }
  }
  // A first opening that was interrupted leaves RocksDB's LOCK, but no CURRENT.
  if (!names.empty() && !has(names, "CURRENT") && !has(names, "LOCK")) {
    refuse(folder, "it holds other files, '" + names.front() + "' among them: name an empty folder or a new one");
  }
}

std::optional<std::uint64_t> read_number(disk& of, std::string_view key) {
  const std::optional<std::string_view> value = of.read(family::meta, key);
  if (!value) return std::nullopt;
  if (value->size() != sizeof(std::uint64_t)) {
    refuse(of.folder(), "its entry '" + std::string(key) + "' is damaged: restore a backup", remedies::restore_backup);
  }
  return read_big<std::uint64_t>(value->data());
}

}  // namespace

rocksdb::IOStatus sync_name(const std::string& folder, rocksdb::FileSystem& on) {
  const std::filesystem::path name = without_slashes(folder);
  const std::string parent = name.has_parent_path() ? name.parent_path().string() : ".";
  std::unique_ptr<rocksdb::FSDirectory> opened;
  const rocksdb::IOStatus status = on.NewDirectory(parent, rocksdb::IOOptions{}, &opened, nullptr);
  return status.ok() ? opened->Fsync(rocksdb::IOOptions{}, nullptr) : status;
}

locked_folder prepared_folder(std::string folder, const std::shared_ptr<rocksdb::FileSystem>& files, bool for_check) {
  if (folder.empty()) refuse("''", "it needs the name of a folder");
  folder = without_slashes(std::move(folder));
  private_files on(files != nullptr ? files : rocksdb::FileSystem::Default());
  const rocksdb::IOOptions io;
  bool is_folder = false;
  const bool is_new = !on.FileExists(folder, io, nullptr).ok();
  if (!is_new) {
    if (on.IsDirectory(folder, io, &is_folder, nullptr).ok() && !is_folder) refuse(folder, "it is not a folder");
  }
  if (is_new && for_check) refuse(folder, "there is none");
  const rocksdb::IOStatus made = on.CreateDirIfMissing(folder, io, nullptr);
  if (!made.ok())
    refuse(folder, "the folder cannot be made (" + made.ToString() + "): name one in a folder that exists");
  locked_folder locked(folder);
  const std::vector<std::string> names = names_in(folder, on);
  refuse_other_files(folder, names);
  if (has(names, "CURRENT")) return locked;
  if (for_check) refuse(folder, "there is none");
  const rocksdb::IOStatus synced = sync_name(folder, on);
  // The parent of an existing folder may be closed to this user: then its name stays as durable as it was.
  if (is_new && !synced.ok()) refuse(folder, "its name cannot be synced to the disk: " + synced.ToString());
  return locked;
}

opened_format open_format(disk& of) {
  const std::optional<std::uint64_t> version = read_number(of, "version");
  if (!version) {
    if (disk::scan any(of, family::meta, "", ""); any.valid()) {
      refuse(of.folder(), "it is the database of another program: name another folder");
    }
    of.put(family::meta, "version", view(number_key(first_format)));
  } else if (*version < first_format || *version > last_format) {
    refuse(of.folder(), "its format has version " + std::to_string(*version) +
                            ", and this program reads the versions " + std::to_string(first_format) + " to " +
                            std::to_string(last_format) + ": use the program that wrote it");
  }
  opened_format found;
  found.version = version.value_or(first_format);
  const std::uint64_t skipped = of.damage().empty() ? 0 : skipped_by_salvage;
  found.opening = read_number(of, "opening").value_or(0) + skipped + 1;
  found.next_id = std::max<job_id>(read_number(of, "ids").value_or(1), 1) + skipped;
  of.put(family::meta, "opening", view(number_key(found.opening)));
  if (skipped != 0) of.put(family::meta, "ids", view(number_key(found.next_id)));
  return found;
}

}  // namespace foliot::jobs::detail

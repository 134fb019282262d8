#include "damage.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <vector>

#include <rocksdb/db.h>

#include "disk.hpp"
#include "disk_options.hpp"
#include "file_names.hpp"
#include "log_scan.hpp"
#include "synced_mark.hpp"

namespace foliot::jobs::detail {
namespace {

/// What an opening would find.
struct replay {
  std::uint64_t last_sequence = 0;  ///< the number of the last change
  std::uint64_t first_log = 0;      ///< logs with lower numbers are needed no more
};

/// Replays the logs, and changes nothing on disk. Or why the database cannot be opened.
std::expected<replay, rocksdb::Status> replay_of(const std::string& folder, const rocksdb::DBOptions& options) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder, family_options(), &handles, &opened);
  if (!status.ok()) return std::unexpected(status);
  const std::unique_ptr<rocksdb::DB> database(opened);
  for (rocksdb::ColumnFamilyHandle* each : handles) database->DestroyColumnFamilyHandle(each).PermitUncheckedError();
  replay found{database->GetLatestSequenceNumber()};
  database->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &found.first_log);
  return found;
}

std::string in_words(const log_contents::damage& it) {
  return "its log " + it.file + " is damaged at byte " + std::to_string(it.offset) + ", and " +
         (it.batches_behind == 1 ? "a batch of changes lies"
                                 : std::to_string(it.batches_behind) + " batches of changes lie") +
         " behind the damage";
}

std::string cut_off(const std::string& file, std::uint64_t whole, std::uint64_t synced) {
  return file + " is whole up to byte " + std::to_string(whole) + " only, and had been synced up to byte " +
         std::to_string(synced);
}

/// The first log that has less than the mark says. `from`: logs with lower numbers are needed no more.
std::optional<opening_loss> log_shortfall(const std::string& folder, const std::vector<synced_length>& mark,
                                          const log_contents& found, std::uint64_t from) {
  std::optional<opening_loss> first;
  std::uint64_t number = 0;
  for (const synced_length& each : mark) {
    const auto name = read_name(each.file);
    if (!name || name->kind != file_kind::log || name->number < from || (first && name->number > number)) continue;
    const auto log = std::ranges::find(found.logs, name->number, &log_contents::log::number);
    if (log != found.logs.end() && log->whole >= each.length) continue;
    const std::string path = folder + "/" + each.file;
    number = name->number;
    first = opening_loss{"its log " + (log != found.logs.end() ? cut_off(path, log->whole, each.length)
                                                               : path + " is missing, and had been synced up to byte " +
                                                                     std::to_string(each.length))};
  }
  if (!first) return std::nullopt;
  // RocksDB would replay the logs behind it, with a gap.
  first->can_be_salvaged = std::ranges::none_of(
      found.logs, [&](const log_contents::log& each) { return each.number > number && each.whole != 0; });
  return first;
}

/// Whether the manifest has less than the mark says.
std::optional<opening_loss> manifest_shortfall(const std::string& folder, const std::vector<synced_length>& mark,
                                               rocksdb::FileSystem& files) {
  std::string current;
  if (!rocksdb::ReadFileToString(&files, folder + "/CURRENT", &current).ok()) return std::nullopt;
  if (current.ends_with('\n')) current.pop_back();
  const auto it = std::ranges::find(mark, current, &synced_length::file);
  const std::string path = folder + "/" + current;
  if (it == mark.end() || !files.FileExists(path, {}, nullptr).ok()) return std::nullopt;
  const std::uint64_t whole = whole_records(folder, path, files);
  if (whole >= it->length) return std::nullopt;
  return opening_loss{"its list of tables " + cut_off(path, whole, it->length)};
}

}  // namespace

std::optional<opening_loss> loss_of(const std::string& folder, const rocksdb::DBOptions& options,
                                    rocksdb::FileSystem& files) {
  const std::vector<synced_length> mark = read_mark(folder, files);
  if (auto lost = manifest_shortfall(folder, mark, files)) return lost;
  const log_contents all = scan_logs(folder, files);
  if (!all.damaged && !log_shortfall(folder, mark, all, 0)) return std::nullopt;
  // RocksDB deletes the logs that it needs no more in any order, and appends to none after a crash: so there may be
  // gaps among old logs, and a torn end may be followed by the next log.
  const std::expected<replay, rocksdb::Status> found = replay_of(folder, options);
  if (!found && !found.error().IsCorruption()) return std::nullopt;  // the opening says what is wrong
  const std::uint64_t first = found ? found->first_log : 0;
  const log_contents needed = scan_logs(folder, files, first);
  if (needed.damaged) {
    if (!found || needed.damaged->missing) return opening_loss{in_words(*needed.damaged)};
    if (found->last_sequence < needed.last_sequence) return opening_loss{in_words(*needed.damaged), true};
  }
  std::optional<opening_loss> lost = log_shortfall(folder, mark, needed, first);
  if (lost && !found) lost->can_be_salvaged = false;
  return lost;
}

void refuse_damage(const std::string& folder, const opening_loss& it) {
  throw store_failure("foliot: cannot open the job store " + folder + ": " + it.what + ": restore a backup" +
                      (!it.can_be_salvaged
                           ? ""
                           : "; or copy the folder, and salvage the store (foliot serve --salvage), which keeps "
                             "what was stored before the damage and loses what lies behind it"));
}

}  // namespace foliot::jobs::detail

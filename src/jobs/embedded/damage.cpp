#include "damage.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/wal_filter.h>

#include "disk.hpp"
#include "disk_options.hpp"
#include "file_names.hpp"
#include "log_scan.hpp"
#include "synced_mark.hpp"

namespace foliot::jobs::detail {
namespace {

/// How many tables RocksDB keeps open while only the manifest is read: without this limit it opens all of them.
constexpr int few_files = 20;

/// The state of a database as an opening would find it.
struct database_state {
  std::uint64_t last_sequence = 0;  ///< the number of the last change
  std::uint64_t first_log = 0;      ///< logs with lower numbers are needed no more
};

/// Has RocksDB skip the logs, and learns which is the first log that the families need. The least number in the
/// manifest itself may be lower: it stays as it is when an opening finds nothing in the logs.
class no_replay final : public rocksdb::WalFilter {
 public:
  void ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& first_logs,
                                const std::map<std::string, std::uint32_t>& /*families*/) override {
    const auto least = std::ranges::min_element(first_logs, {}, [](const auto& each) { return each.second; });
    if (least != first_logs.end()) first_log = least->second;
  }
  WalProcessingOption LogRecord(const rocksdb::WriteBatch&, rocksdb::WriteBatch*, bool*) const override {
    return WalProcessingOption::kStopReplay;
  }
  const char* Name() const override { return "no_replay"; }

  std::uint64_t first_log = 0;
};

enum class with_logs : bool { no, yes };

/// The state by the tables alone, or by the tables and the logs as far as RocksDB replays them; or why the database
/// cannot be opened. Changes nothing on disk.
std::expected<database_state, rocksdb::Status> state_of(const std::string& folder, rocksdb::DBOptions options,
                                                        with_logs with) {
  no_replay filter;
  if (with == with_logs::no) {
    options.wal_filter = &filter;
    options.max_open_files = few_files;
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder, family_options(), &handles, &opened);
  if (!status.ok()) return std::unexpected(status);
  const std::unique_ptr<rocksdb::DB> database(opened);
  for (rocksdb::ColumnFamilyHandle* each : handles) database->DestroyColumnFamilyHandle(each).PermitUncheckedError();
  database_state found{database->GetLatestSequenceNumber()};
  database->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &found.first_log);
  found.first_log = std::max(found.first_log, filter.first_log);
  return found;
}

/// The manifest that CURRENT names; empty if it names none, or cannot be read.
std::string current_manifest(const std::string& folder, rocksdb::FileSystem& files) {
  std::string current;
  if (!rocksdb::ReadFileToString(&files, folder + "/CURRENT", &current).ok()) return {};
  if (current.ends_with('\n')) current.pop_back();
  const std::optional<numbered_name> name = read_name(current);
  return name && name->kind == file_kind::manifest ? current : std::string();
}

std::string in_words(const log_contents::damage& it) {
  if (it.is_first) {
    return "changes are missing between its tables and its log " + it.file +
           ", as if files of another time had been copied into the folder";
  }
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
                                          const log_contents& found, std::uint64_t from, bool is_being_salvaged) {
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
  // RocksDB would replay the changes behind it, with a gap.
  first->can_be_salvaged = is_being_salvaged || std::ranges::none_of(found.logs, [&](const log_contents::log& each) {
                             return each.number > number && each.has_changes;
                           });
  return first;
}

/// The log that a loss of power has ended before the damage that was found, which lies in a later log then.
const log_contents::log* cut_before_damage(const log_contents& found) {
  if (!found.damaged) return nullptr;
  const auto is_it = [&](const log_contents::log& each) {
    return each.is_cut && each.name == found.damaged->file && found.damaged->offset >= each.whole;
  };
  const auto cut = std::ranges::find_if(found.logs, is_it);
  return cut == found.logs.end() ? nullptr : &*cut;
}

/// Whether the mark knows of a sync of a log with a higher number.
bool is_marked_behind(const std::vector<synced_length>& mark, std::uint64_t number) {
  return std::ranges::any_of(mark, [number](const synced_length& each) {
    const auto name = read_name(each.file);
    return name && name->kind == file_kind::log && name->number > number;
  });
}

}  // namespace

std::optional<opening_loss> manifest_loss(const std::string& folder, rocksdb::FileSystem& files) {
  const std::string current = current_manifest(folder, files);
  const std::optional<numbered_name> name = read_name(current);
  if (!name) return std::nullopt;
  const std::string path = folder + "/" + current;
  for (const synced_length& each : read_mark(folder, files)) {
    const std::optional<numbered_name> marked = read_name(each.file);
    if (!marked || marked->kind != file_kind::manifest) continue;
    if (marked->number > name->number) {
      return opening_loss{"its file CURRENT names the list of tables " + current + ", and the later one " + each.file +
                          " had been synced, as if files of another time had been copied into the folder"};
    }
    if (marked->number < name->number || !files.FileExists(path, {}, nullptr).ok()) continue;
    const std::uint64_t whole = whole_records(folder, path, files);
    if (whole < each.length) return opening_loss{"its list of tables " + cut_off(path, whole, each.length)};
  }
  return std::nullopt;
}

std::optional<opening_loss> log_loss(const std::string& folder, const rocksdb::DBOptions& options,
                                     overwritten_logs& logs, bool is_being_salvaged) {
  // RocksDB deletes the logs that it needs no more in any order, and appends to none after a crash: so there may be
  // gaps and repetitions among old logs, and a torn end may be followed by the next log.
  const std::expected<database_state, rocksdb::Status> tables = state_of(folder, options, with_logs::no);
  if (!tables && !tables.error().IsCorruption()) return std::nullopt;  // the opening says what is wrong
  const std::uint64_t first = tables ? tables->first_log : 0;
  const std::optional<numbered_name> manifest = read_name(current_manifest(folder, logs));
  const std::vector<synced_length> mark = read_mark(folder, logs);
  const log_contents needed =
      tables ? scan_logs(folder, logs, first, tables->last_sequence, manifest ? manifest->number : 0, mark)
             : scan_logs(folder, logs, 0, std::numeric_limits<std::uint64_t>::max(), 0, mark);
  for (const log_contents::log& each : needed.logs) {
    if (each.is_cut) logs.end_at(each.name, each.whole);
  }
  if (needed.repeated) {
    return opening_loss{
        .what = "its logs " + needed.repeated->earlier + " and " + needed.repeated->file + " have the same changes",
        .is_copy = true};
  }
  std::optional<opening_loss> lost = log_shortfall(folder, mark, needed, first, is_being_salvaged);
  if (const log_contents::log* cut = cut_before_damage(needed)) {
    // The sync of a later log syncs this one before: so nothing in the later ones was acknowledged, unless the mark
    // knows better.
    if (is_marked_behind(mark, cut->number)) return opening_loss{in_words(*needed.damaged)};
    for (const log_contents::log& each : needed.logs) {
      if (each.number > cut->number) logs.end_at(each.name, 0);
    }
    return lost;
  }
  if (needed.damaged) {
    if (needed.damaged->is_first && lost) return opening_loss{lost->what};  // the log that is missing before it
    if (needed.damaged->missing) return opening_loss{in_words(*needed.damaged)};
    const std::expected<database_state, rocksdb::Status> found = state_of(folder, options, with_logs::yes);
    if (!found && !found.error().IsCorruption()) return std::nullopt;
    if (!found) return opening_loss{in_words(*needed.damaged)};
    if (found->last_sequence < needed.last_sequence) return opening_loss{in_words(*needed.damaged), true};
    // RocksDB skips zeros up to the next block, and would replay what lies behind them.
    const bool is_in_tables = tables && tables->last_sequence >= needed.last_sequence;
    if (needed.damaged->is_gap && !is_in_tables) return opening_loss{in_words(*needed.damaged)};
  }
  if (lost && lost->can_be_salvaged) lost->can_be_salvaged = state_of(folder, options, with_logs::yes).has_value();
  return lost;
}

void refuse_damage(const std::string& folder, const opening_loss& it) {
  throw store_failure(
      "cannot open the job store " + folder + ": " + it.what +
          (it.is_copy ? ": move the one away that is a copy" : ": restore a backup") +
          (!it.can_be_salvaged ? ""
                               : "; or copy the folder, and salvage the store (foliot serve --salvage), which keeps "
                                 "what was stored before the damage and loses what lies behind it"),
      it.is_copy ? store_failure::remedies::open_again : store_failure::remedies::restore_backup);
}

}  // namespace foliot::jobs::detail

#include <foliot/jobs/stopped_folder.hpp>

#include <algorithm>
#include <map>

#include <foliot/jobs/job_store.hpp>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "damage.hpp"
#include "disk.hpp"
#include "disk_options.hpp"
#include "folder_format.hpp"
#include "job_records.hpp"
#include "keys.hpp"
#include "opening.hpp"
#include "overwritten_logs.hpp"
#include "record.hpp"
#include "salvage_note.hpp"
#include "tube.hpp"

namespace foliot::jobs {

using namespace detail;

namespace {

rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view bytes_of(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

struct known_tube {
  std::string name;
  stored_counts counts;
};

}  // namespace

class stopped_folder::database {
 public:
  explicit database(const std::string& folder);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  [[nodiscard]] std::optional<std::string> read(family where, std::string_view key) const;
  /// Calls `take` with the entries of a family that begin with `prefix`, from `from` on, until it returns false.
  template <class Take>
  void scan(family where, std::string_view from, std::string_view prefix, const Take& take) const;

  [[nodiscard]] const std::map<tube_number, known_tube>& tubes() const noexcept { return tubes_; }
  [[nodiscard]] job job_of(job_id id, std::string_view value, utc_time now, bool with_body) const;

 private:
  void check_format() const;
  void read_tubes();
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(family where) const noexcept {
    return handles_[static_cast<std::size_t>(where)];
  }

  const locked_folder locked_;
  const std::string& folder_ = locked_.name();
  const std::shared_ptr<overwritten_logs> logs_ = std::make_shared<overwritten_logs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(logs_);
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::map<tube_number, known_tube> tubes_;
};

stopped_folder::database::database(const std::string& folder) : locked_(prepared_folder(folder, nullptr, true)) {
  if (!locked_.lock_failure().empty()) {  // a look does not take the lock of the file, which would be written
    throw store_failure("cannot tell whether a server has the job store " + folder_ +
                        " open: its file system cannot lock a folder (" + locked_.lock_failure() +
                        "): look into a copy of it");
  }
  rocksdb::DBOptions options = database_options();
  options.env = env_.get();
  if (const std::string damage = read_salvage_note(folder_, *logs_); !damage.empty()) {
    throw store_failure("the salvage of the job store " + folder_ + " has not ended (" + damage +
                        "): start a server on it, which ends it");
  }
  if (const auto lost = manifest_loss(folder_, *logs_)) refuse_damage(folder_, *lost);
  std::vector<std::string> names;
  const bool is_ours =
      rocksdb::DB::ListColumnFamilies(options, folder_, &names).ok() && std::ranges::find(names, "jobs") != names.end();
  if (!is_ours) {
    throw store_failure("cannot open the job store " + folder_ +
                        ": it is the database of another program: name another folder");
  }
  if (const auto lost = log_loss(folder_, options, *logs_, false)) refuse_damage(folder_, *lost);
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder_, family_options(), &handles_, &opened);
  if (!status.ok()) throw_opening_failure(folder_, status);
  db_.reset(opened);
  try {
    check_format();
    read_tubes();
  } catch (...) {
    for (rocksdb::ColumnFamilyHandle* each : handles_) db_->DestroyColumnFamilyHandle(each).PermitUncheckedError();
    throw;
  }
}

stopped_folder::database::~database() {
  for (rocksdb::ColumnFamilyHandle* each : handles_) db_->DestroyColumnFamilyHandle(each).PermitUncheckedError();
}

std::optional<std::string> stopped_folder::database::read(family where, std::string_view key) const {
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions{}, handle(where), slice_of(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) throw_failure("read", folder_, status);
  return value;
}

template <class Take>
void stopped_folder::database::scan(family where, std::string_view from, std::string_view prefix,
                                    const Take& take) const {
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(rocksdb::ReadOptions{}, handle(where)));
  for (at->Seek(slice_of(from)); at->Valid() && bytes_of(at->key()).starts_with(prefix); at->Next()) {
    if (!take(bytes_of(at->key()), bytes_of(at->value()))) return;
  }
  if (!at->status().ok()) throw_failure("read", folder_, at->status());
}

void stopped_folder::database::check_format() const {
  const std::optional<std::string> value = read(family::meta, "version");
  if (value && value->size() != sizeof(std::uint64_t)) throw_damaged(folder_, "its version cannot be read");
  const std::uint64_t version = value ? read_big<std::uint64_t>(value->data()) : first_format;
  if (version >= first_format && version <= last_format) return;
  throw store_failure("cannot open the job store " + folder_ + ": its format has version " + std::to_string(version) +
                      ", and this program reads the versions " + std::to_string(first_format) + " to " +
                      std::to_string(last_format) + ": use the program that wrote it");
}

void stopped_folder::database::read_tubes() {
  scan(family::meta, "t", "t", [this](std::string_view key, std::string_view row) {
    const std::string_view name = row_name(row);
    if (key.size() != row_key(0).size() || name.empty()) throw_damaged(folder_, "the row of a tube cannot be read");
    store_totals totals;
    const auto number = read_big<tube_number>(key.data() + 1);
    tube read(number, std::string(name), totals);
    decode_row(row, read);
    tubes_.emplace(number, known_tube{std::string(name), read.stored});
    return true;
  });
}

job stopped_folder::database::job_of(job_id id, std::string_view value, utc_time now, bool with_body) const {
  record it;
  if (!decode(id, value, it, with_body))
    throw_damaged(folder_, "the record of job " + std::to_string(id) + " cannot be read");
  const auto home = tubes_.find(it.tube);
  if (home == tubes_.end()) throw_damaged(folder_, "job " + std::to_string(id) + " is in a tube that there is not");
  job made;
  made.id = id;
  made.tube = home->second.name;
  made.key = std::move(it.key);
  made.priority = it.priority;
  made.due = utc_time(milliseconds(it.due));
  made.made = utc_time(milliseconds(it.made));
  made.delay = milliseconds(it.delay);
  made.ttr = milliseconds(it.ttr);
  made.counters = it.counters;
  const bool is_ready = it.place == index_of::ready || made.due <= now;
  made.state = it.place == index_of::buried ? job_state::buried : is_ready ? job_state::ready : job_state::delayed;
  if (!with_body) return made;
  made.fields = std::move(it.fields);
  made.history = std::move(it.history);
  made.body = std::move(it.body);
  if (it.body_apart) {
    auto body = read(family::bodies, view(number_key(id)));
    if (!body) throw_damaged(folder_, "job " + std::to_string(id) + " has no body");
    made.body = *std::move(body);
  }
  return made;
}

stopped_folder::stopped_folder(const std::string& folder) : database_(std::make_unique<database>(folder)) {}

stopped_folder::~stopped_folder() = default;

std::optional<job> stopped_folder::find(job_id id, utc_time now) const {
  const auto value = database_->read(family::jobs, view(number_key(id)));
  return value ? std::optional(database_->job_of(id, *value, now, true)) : std::nullopt;
}

std::optional<job> stopped_folder::find(std::string_view tube, std::string_view key, utc_time now) const {
  for (const auto& [number, home] : database_->tubes()) {
    if (home.name != tube) continue;
    const auto id = database_->read(family::keys, name_key(number, key));
    return id && id->size() == sizeof(job_id) ? find(read_big<job_id>(id->data()), now) : std::nullopt;
  }
  return std::nullopt;
}

void stopped_folder::walk(utc_time now, const std::function<bool(const job&)>& take) const {
  database_->scan(family::jobs, "", "", [&](std::string_view key, std::string_view value) {
    return key.size() != sizeof(job_id) || take(database_->job_of(read_big<job_id>(key.data()), value, now, false));
  });
}

std::vector<stopped_folder::due_job> stopped_folder::due_next(const std::function<bool(std::string_view tube)>& wants,
                                                              std::size_t count) const {
  std::vector<due_job> found;
  for (const auto& [number, home] : database_->tubes()) {
    if (home.counts.delayed == 0 || !wants(home.name)) continue;
    std::size_t taken = 0;
    const auto begin = number_key(number);
    database_->scan(family::due, view(begin), view(begin), [&](std::string_view key, std::string_view value) {
      if (taken == count || key.size() != due_entry::key_size) return false;
      ++taken;
      const due_entry entry = due_entry::read(key, value);
      found.push_back({entry.id, home.name, utc_time(milliseconds(entry.due))});
      return true;
    });
    // The soonest ones of all tubes so far.
    const auto order = [](const due_job& a, const due_job& b) {
      return std::pair(a.due, a.id) < std::pair(b.due, b.id);
    };
    std::ranges::sort(found, order);
    if (found.size() > count) found.resize(count);
  }
  return found;
}

std::vector<std::pair<std::string, job_counts>> stopped_folder::tubes() const {
  std::vector<std::pair<std::string, job_counts>> all;
  for (const auto& [number, home] : database_->tubes()) {
    if (home.counts.all() > 0) all.emplace_back(home.name, visible_counts(home.counts, 0, 0));
  }
  std::ranges::sort(all, {}, &std::pair<std::string, job_counts>::first);
  return all;
}

}  // namespace foliot::jobs

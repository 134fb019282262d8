// The records, bodies and keys of an embedded store's jobs: their part of the gathered writes, and reads that see them.
//
// A read of the disk does not see what has been gathered (disk.hpp). So the records, keys and bodies that the batch has
// written, or erased, lie in memory until end_batch(). The head of record_cache.hpp says which records stay longer.
//
// Invariants:
//   1. A read sees the last save, addition or erasure, even before it is written to the disk.
//   2. If a record has fields or a history, the folder has the version of the format that goes with them.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <foliot/jobs/job.hpp>

#include "disk.hpp"
#include "folder_format.hpp"
#include "record.hpp"
#include "record_cache.hpp"

namespace foliot::jobs::detail {

/// Throws a store_failure that names the folder and the damage, and advises to restore a backup.
[[noreturn]] void throw_damaged(const std::string& folder, const std::string& what);

class job_records {
 public:
  job_records(disk& of, folder_format& format) : disk_(of), format_(format) {}

  /// Fills in a record. `with_body`: the inline body, too. False: there is no such job.
  bool load(job_id id, record& it, bool with_body);
  /// As load(); that the job exists is known.
  void load_known(job_id id, record& it, bool with_body);
  /// The body of a record that was loaded with it.
  [[nodiscard]] std::string body_of(record& it);
  /// The job of this key, or 0.
  [[nodiscard]] job_id find_key(tube_number tube, std::string_view key);

  /// Writes the key of a new job, and its body if that is kept apart; else the body comes into the record, which the
  /// caller saves.
  void add_key_and_body(record& it, std::string body);
  void save(const record& it);
  /// Erases the record of a job, its body and its key.
  void erase(const record& it);
  /// The same, but for the key, which the job that replaces this one has from the same batch on.
  void erase_replaced(const record& it);

  /// The record will hardly be read again.
  void forget(job_id id) { records_.forget(id); }
  /// Whether the batch has written or erased the record.
  [[nodiscard]] bool is_of_batch(job_id id) const { return records_.is_of_batch(id); }
  /// The disk shows what the batch has written.
  void end_batch();

 private:
  disk& disk_;
  folder_format& format_;
  std::string value_;  ///< room for a record
  record_cache records_;
  std::unordered_map<std::string, job_id> fresh_keys_;  ///< what the batch has made of keys: 0 if erased
  std::unordered_map<job_id, std::string> fresh_bodies_;
};

}  // namespace foliot::jobs::detail

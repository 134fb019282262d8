// The check of an embedded store: it compares the jobs with the indexes, the counts of the tubes, and the windows.
//
// It reads each family once, in order: to look up every job in every index would take a hundred times as long. Each
// record tells which entries the indexes should have. For each tube and index, the check adds up the hashes of these
// entries and those of the entries that are there, and compares the two sums. Only if they differ it walks over the
// jobs again, and looks up the entries of each one, to name the job.
//
// Thread safety: none. It belongs to one batch: nothing may change while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>

#include "disk.hpp"
#include "job_indexes.hpp"
#include "job_records.hpp"
#include "once_records.hpp"
#include "record.hpp"
#include "reservations.hpp"
#include "tubes.hpp"

namespace foliot::jobs::detail {

/// The sum of a set of entries. Sets with the same entries have the same sum, whatever their order.
struct entry_sum {
  std::uint64_t count = 0;
  std::uint64_t hashes = 0;

  void add(std::string_view key, std::string_view value) noexcept;
  friend bool operator==(const entry_sum&, const entry_sum&) = default;
};

class store_check {
 public:
  /// `next_id`: no id from there on was given.
  store_check(disk& on, const tube_table& tubes, const reservation_table& held, job_records& records,
              job_indexes& indexes, once_records& once, const folder_format& format, job_id next_id) noexcept
      : disk_(on),
        tubes_(tubes),
        held_(held),
        records_(records),
        indexes_(indexes),
        once_(once),
        format_(format),
        next_id_(next_id) {}

  /// Throws store_failure if the disk cannot be read, or a record is damaged.
  [[nodiscard]] check_result run();

 private:
  /// What a tube's counts and its entries in each family should be, by the records of its jobs.
  struct found_jobs {
    stored_counts counts;
    std::array<entry_sum, families> entries;

    void expect(family where, std::string_view key, std::string_view value) noexcept {
      entries[static_cast<std::size_t>(where)].add(key, value);
    }
  };
  using jobs_by_tube = std::map<tube_number, found_jobs>;

  /// Walks over the jobs and their bodies, and adds up the entries that they should have in the indexes. `one_by_one`:
  /// also looks up each of these entries.
  check_result check_jobs(jobs_by_tube& found, bool one_by_one);
  /// Adds a job to the sums of its tube, and compares it with the floor and the window of its index.
  check_result check_index(const record& it, tube& home, found_jobs& sum, bool one_by_one);
  /// Compares the sums of an index with those that its jobs should have.
  check_result check_entries(const jobs_by_tube& found, family where);
  /// The timer and the window of a tube's delayed jobs.
  static check_result check_tube(const tube& it);

  disk& disk_;
  const tube_table& tubes_;
  const reservation_table& held_;
  job_records& records_;
  job_indexes& indexes_;
  once_records& once_;
  const folder_format& format_;
  const job_id next_id_;
};

}  // namespace foliot::jobs::detail

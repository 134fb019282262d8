// The operations that happen once, of an embedded store: what it answers when one of them is sent again (once.hpp).
//
// Those of puts are on disk, written with their jobs. Those of claims are in memory, as the reservations are, within a
// bound. On disk a record has an entry in the order of the ends besides, by which ended ones are removed in turns
// (removal_turns). In memory are only the records that the present batch has written, and two keys.
//
// Invariants, which check() proves:
//   1. Each record on disk has one entry with its end, and each entry a record.
//   2. If there is a record on disk, the folder has the version of the format that goes with it.
//   3. No entry lies below `floor_`, and none has an end before `first_end_`.
//
// Thread safety: none. It belongs to a batch, as disk.hpp says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/contract.hpp>
#include <foliot/jobs/once.hpp>

#include "disk.hpp"
#include "folder_format.hpp"
#include "jobs/once_table.hpp"

namespace foliot::jobs::detail {

class once_records {
 public:
  /// `most_bytes`: of the records in memory.
  once_records(disk& on, folder_format& format, std::uint64_t most_bytes)
      : disk_(on), format_(format), most_bytes_(most_bytes) {}

  /// The database has been opened.
  void open();

  /// The record of this key, if it has not ended; else null. Valid until the next call.
  [[nodiscard]] const once_record* find(const sha256& key, utc_time now);
  /// Whether there is room for the record of another claim.
  [[nodiscard]] bool has_room_for_claim() const noexcept { return claims_.bytes() < most_bytes_; }
  /// Adds the record of the key for which find() has just found none.
  void add(const sha256& key, once_record what);

  /// One turn: in front of the operations, as a scan costs less while little is gathered.
  void remove_ended(utc_time now);
  /// When the next turn is due; the greatest utc_time: no record is left.
  [[nodiscard]] utc_time next_removal() const noexcept;
  /// The disk shows what the batch has written.
  void end_batch() { fresh_.clear(); }

  [[nodiscard]] check_result check();

 private:
  [[nodiscard]] once_record read(std::string_view value) const;

  disk& disk_;
  folder_format& format_;
  const std::uint64_t most_bytes_;
  once_table claims_;
  std::map<sha256, once_record> fresh_;  ///< what the batch has added on disk
  once_record found_;                    ///< what find() has read from the disk
  std::optional<utc_time> ended_;  ///< the end of the record that the latest find() has found on disk, if it has ended
  std::string floor_;              ///< the first key that an entry may have
  utc_time first_end_ = utc_time::max();
  removal_turns turns_;
};

}  // namespace foliot::jobs::detail

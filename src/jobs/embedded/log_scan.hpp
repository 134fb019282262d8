// Reads the write-ahead logs of a RocksDB database that is not open, to tell damage from the torn end that a crash
// leaves: behind a torn end there is nothing, behind damage there are whole batches. RocksDB ends the replay at both,
// and reports neither.
//
// Each batch has the sequence number of its first change and the number of its changes, so that the batches of all logs
// follow each other without a gap, and the first of them follows what the tables have. There is one exception. If
// RocksDB meets a torn end or damage when it opens a database, its new log begins with a batch without changes, whose
// number is that of the change to come. If the changes before that number are lost, because they were not synced and
// the opening had not ended, the next opening still counts on from it: no change has the numbers between, and nothing
// is missing before the first changes of that opening's log. RocksDB makes the log of an opening before its manifest,
// so its number is lower; a log that was made later has a higher one, as has one of another time that was copied into
// the folder.
//
// A log is written in blocks of 32 KiB, a batch as one or more fragments, each with a checksum. Behind bytes that are
// no fragment the scan looks for the next one byte by byte, but not in the torn end of a log.
//
// A log may have been written over zeros (overwritten_logs.hpp). Of what was not synced, a loss of power leaves some
// sectors and not others, which are zeros then, also before whole batches. So where a fragment should be and a sector
// of it is zeros, the log has ended, if the mark knows of no sync behind that place: nothing there was acknowledged.
// Without a mark whole batches behind zeros are damage.
//
// Thread safety: none. Complexity: O(bytes); memory for one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/file_system.h>

#include "synced_mark.hpp"

namespace foliot::jobs::detail {

/// The size of a block of the write-ahead log, and of the head of a fragment: checksum, length, type.
inline constexpr std::size_t log_block = 32768;
inline constexpr std::size_t fragment_head = 7;

/// What the logs of a database have.
struct log_contents {
  /// The first place of damage, with whole batches behind it.
  struct damage {
    std::string file;
    std::uint64_t offset = 0;
    bool is_gap = false;               ///< a batch behind it follows others than those before it
    bool missing = false;              ///< no byte is unreadable, but batches are missing before this place
    bool is_first = false;             ///< no batch lies before it: what is missing lies behind the tables
    std::uint64_t batches_behind = 0;  ///< whole batches with changes behind it
  };
  /// A log that begins with changes which an earlier log has, too: one of them is a copy. RocksDB would end the process
  /// at the first key that it replays twice.
  struct repetition {
    std::string file;
    std::string earlier;
  };
  struct log {
    std::uint64_t number = 0;
    std::string name;          ///< with its folder
    std::uint64_t whole = 0;   ///< where its last whole batch ends
    bool has_changes = false;  ///< one of its whole batches has some
    bool is_cut = false;       ///< a loss of power has left sectors of what was not synced behind `whole`
  };
  std::optional<damage> damaged;
  std::optional<repetition> repeated;
  std::vector<log> logs;            ///< in the order of their numbers
  std::uint64_t last_sequence = 0;  ///< of the last change in a whole batch
};

/// Scans the logs of the folder from the number `from` on, in the order in which they were written. RocksDB may need
/// some of them no more, so that the damage may be of no consequence. `in_tables`: the number of the last change of
/// which the manifest knows. `manifest`: the number of the manifest. `mark`: what was synced; empty if there is no
/// mark. Throws store_failure if a log cannot be read.
[[nodiscard]] log_contents scan_logs(const std::string& folder, rocksdb::FileSystem& files, std::uint64_t from = 0,
                                     std::uint64_t in_tables = std::numeric_limits<std::uint64_t>::max(),
                                     std::uint64_t manifest = 0, const std::vector<synced_length>& mark = {});

/// Up to where a file of the logs' format, such as a manifest, has whole records. Throws store_failure if it cannot be
/// read.
[[nodiscard]] std::uint64_t whole_records(const std::string& folder, const std::string& name,
                                          rocksdb::FileSystem& files);

/// The checksum of RocksDB's log: CRC-32C, rotated. Of the fragment's type and its payload.
[[nodiscard]] std::uint32_t log_checksum(std::string_view bytes) noexcept;

}  // namespace foliot::jobs::detail

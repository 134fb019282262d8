#include "log_scan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "disk.hpp"
#include "file_names.hpp"

namespace foliot::jobs::detail {
namespace {

// ---- the checksum: eight bytes a step, by eight tables

using crc_tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr crc_tables make_tables() {
  crc_tables all{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    all[0][byte] = crc;
  }
  for (std::size_t table = 1; table < 8; ++table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = all[table - 1][byte];
      all[table][byte] = (before >> 8) ^ all[0][before & 0xff];
    }
  }
  return all;
}
constexpr crc_tables tables = make_tables();

/// The logs' numbers are little-endian.
template <class Number>
Number read_little(const char* from) noexcept {
  Number number = 0;
  for (std::size_t byte = sizeof(Number); byte-- > 0;) {
    number = static_cast<Number>(number << 8 | static_cast<unsigned char>(from[byte]));
  }
  return number;
}

std::uint32_t crc_step(std::uint32_t crc, char byte) noexcept {
  return (crc >> 8) ^ tables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
}

/// The checksum as the log has it.
std::uint32_t masked(std::uint32_t crc) noexcept { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = 0xffffffffU;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t next = read_little<std::uint64_t>(at) ^ crc;
    crc = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) crc ^= tables[7 - byte][(next >> (8 * byte)) & 0xff];
  }
  for (; left > 0; --left, ++at) crc = crc_step(crc, *at);
  return ~crc;
}

// ---- the scan

/// What a disk writes as a whole.
constexpr std::size_t log_sector = 512;

enum class fragment_type : unsigned char { full = 1, first = 2, middle = 3, last = 4 };

/// Puts the fragments of all logs together to batches, and finds what is missing between them.
class batch_reader {
 public:
  batch_reader(std::uint64_t in_tables, std::uint64_t manifest) : in_tables_(in_tables), manifest_(manifest) {}
  void begin_file(const std::string& name, std::uint64_t number) {
    cut_off();  // the log before ended in the middle of a batch
    file_ = name;
    is_clean_ = true;
    found_.logs.push_back({number, name});
  }
  void fragment(fragment_type type, std::uint64_t offset, std::string_view payload) {
    const bool begins = type == fragment_type::full || type == fragment_type::first;
    if (begins == open_) unreadable(open_ ? begin_ : offset);  // without its end, or without its beginning
    if (begins) {
      begin_ = offset;
      head_.clear();
    } else if (!open_) {
      return;
    }
    head_.append(payload.substr(0, batch_head - head_.size()));
    open_ = type == fragment_type::first || type == fragment_type::middle;
    if (!open_) end_batch(offset + fragment_head + payload.size());
  }
  /// The sequence number of the next batch, if it is known.
  [[nodiscard]] std::optional<std::uint64_t> next() const noexcept { return next_; }
  /// Here are bytes that belong to no fragment.
  void unreadable(std::uint64_t offset) {
    if (!bad_) bad_ = log_contents::damage{file_, offset};
    is_clean_ = false;
    open_ = false;
  }
  /// Nothing that follows in this log was acknowledged.
  void cut(std::uint64_t offset) {
    unreadable(offset);
    found_.logs.back().is_cut = true;
  }
  [[nodiscard]] log_contents finish() && { return std::move(found_); }

 private:
  static constexpr std::size_t batch_head = 12;  // the first sequence number, the count of changes

  void cut_off() {
    if (open_) unreadable(begin_);
  }
  void end_batch(std::uint64_t end) {
    if (head_.size() < batch_head) return unreadable(begin_);
    log_contents::log& log = found_.logs.back();
    log.whole = end;
    const auto sequence = read_little<std::uint64_t>(head_.data());
    const auto count = read_little<std::uint32_t>(head_.data() + 8);
    if (count == 0) {
      // Behind a gap it proves nothing: it is synced, and changes that were not synced may have been lost before it.
      if (!next_ && !bad_ && !is_behind_tables(sequence)) expect(sequence);
      return;
    }
    const bool begins_log = !std::exchange(log.has_changes, true);
    if (begins_log && is_clean_ && !found_.damaged && !found_.repeated && has_changes_ && sequence < *next_) {
      found_.repeated = log_contents::repetition{file_, newest_};
    }
    if (found_.damaged) ++found_.damaged->batches_behind;
    if (is_missing_before(sequence) && !found_.damaged) {
      found_.damaged =
          bad_ ? *bad_
               : log_contents::damage{.file = file_, .offset = begin_, .missing = true, .is_first = !has_changes_};
      found_.damaged->is_gap = next_ && sequence > *next_;
      found_.damaged->batches_behind = 1;
    }
    has_changes_ = true;
    bad_.reset();
    if (!next_ || *next_ < sequence + count) expect(sequence + count);
    found_.last_sequence = std::max(found_.last_sequence, sequence + count - 1);
  }
  void expect(std::uint64_t sequence) {
    next_ = sequence;
    newest_ = file_;
  }
  /// Whether changes are missing between those before and a batch that begins with this one.
  [[nodiscard]] bool is_missing_before(std::uint64_t sequence) const noexcept {
    // Before the first batch that can be read, any damage counts: what it has destroyed is unknown.
    if (bad_ || has_changes_) return !next_ || sequence > *next_;
    return is_behind_tables(sequence);
  }
  /// Whether changes are missing between those in the tables and this one, the first one of a log.
  [[nodiscard]] bool is_behind_tables(std::uint64_t sequence) const noexcept {
    const bool is_of_opening = found_.logs.back().number < manifest_;
    return !is_of_opening && sequence != 0 && sequence - 1 > in_tables_;
  }

  const std::uint64_t in_tables_;
  const std::uint64_t manifest_;
  log_contents found_;
  std::string file_;
  bool is_clean_ = true;     // all bytes of the log were readable so far
  bool open_ = false;        // a batch has begun, and its end is to come
  std::uint64_t begin_ = 0;  // its offset
  std::string head_;
  std::optional<log_contents::damage> bad_;  // the first unreadable bytes since the last whole batch
  bool has_changes_ = false;                 // a whole batch with changes was there
  std::optional<std::uint64_t> next_;        // the sequence number of the next batch; known once there were changes
  std::string newest_;                       // the log with the change before it
};

/// Whether the first bytes of the payload have the checksum, so that the length of the fragment is damaged.
bool is_shorter(std::string_view fragment) noexcept {
  const auto checksum = read_little<std::uint32_t>(fragment.data());
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : fragment.substr(6)) {
    crc = crc_step(crc, byte);
    if (masked(~crc) == checksum) return true;
  }
  return false;
}

/// Whether a log ends with whole fragments from here on, which hold batches one after the other. The first one comes
/// behind `next`, if that is known, and is not further from it than `gap` changes.
bool is_end_of_log(std::string_view bytes, std::optional<std::uint64_t> next, std::uint64_t gap) noexcept {
  bool is_first = true;
  while (bytes.size() >= fragment_head + 12) {
    const std::size_t length = read_little<std::uint16_t>(bytes.data() + 4);
    const bool is_full = static_cast<fragment_type>(bytes[6]) == fragment_type::full;
    if (!is_full || length < 12 || fragment_head + length > bytes.size()) return false;
    const auto sequence = read_little<std::uint64_t>(bytes.data() + fragment_head);
    const auto count = read_little<std::uint32_t>(bytes.data() + fragment_head + 8);
    const bool follows = !next || (is_first ? sequence > *next && sequence - *next <= gap : sequence == *next);
    if (!follows) return false;
    if (log_checksum(bytes.substr(6, 1 + length)) != read_little<std::uint32_t>(bytes.data())) return false;
    next = sequence + count;
    is_first = false;
    bytes.remove_prefix(fragment_head + length);
  }
  return !is_first && bytes.empty();
}

/// Whether this is not the torn end of a log: whole batches follow up to its end.
bool is_followed(std::string_view fragment, std::optional<std::uint64_t> next) noexcept {
  for (std::size_t at = 1; at < fragment.size(); ++at) {
    if (is_end_of_log(fragment.substr(at), next, at)) return true;
  }
  return false;
}

/// The length of the whole fragment at the beginning of these bytes, or 0.
std::size_t whole_fragment(std::string_view bytes) noexcept {
  if (bytes.size() < fragment_head) return 0;
  const std::size_t size = fragment_head + read_little<std::uint16_t>(bytes.data() + 4);
  const auto type = static_cast<unsigned char>(bytes[6]);
  if (type < 1 || type > 4 || size > bytes.size()) return 0;
  return log_checksum(bytes.substr(6, size - 6)) == read_little<std::uint32_t>(bytes.data()) ? size : 0;
}

/// Whether a sector of the fragment that should begin at `at` in the block was never written: all of the fragment that
/// lies in it is zeros, as it was before.
bool has_unwritten_sector(std::string_view block, std::size_t at) noexcept {
  const auto is_zeros = [block](std::size_t from, std::size_t to) {
    return std::ranges::all_of(block.substr(from, to - from), [](char byte) { return byte == '\0'; });
  };
  const std::size_t left = block.size() - at;
  const std::size_t head_end = std::min(block.size(), (at / log_sector + 1) * log_sector);
  if (is_zeros(at, head_end)) return true;
  const std::size_t length =
      left < fragment_head ? left : fragment_head + read_little<std::uint16_t>(block.data() + at + 4);
  const std::size_t end = at + std::min(left, length);
  for (std::size_t sector = head_end; sector < end; sector += log_sector) {
    if (is_zeros(sector, std::min(end, sector + log_sector))) return true;
  }
  return false;
}

/// Where nothing is known to be durable from here on, a sector that was never written ends the log: false is returned
/// then.
bool scan_block(std::string_view block, std::uint64_t offset, std::optional<std::uint64_t> durable, batch_reader& to) {
  bool is_expected = true;  // a fragment begins here, unless the bytes are damaged
  std::size_t at = 0;
  while (block.size() - at >= fragment_head) {
    const char* head = block.data() + at;
    const std::size_t length = read_little<std::uint16_t>(head + 4);
    const auto type = static_cast<unsigned char>(head[6]);
    const bool is_type = type >= 1 && type <= 4;
    const bool fits = fragment_head + length <= block.size() - at;
    if (const std::size_t size = whole_fragment(block.substr(at)); size != 0) {
      to.fragment(static_cast<fragment_type>(type), offset + at, {head + fragment_head, length});
      at += size;
      is_expected = true;
    } else {
      if (is_expected && durable && offset + at >= *durable && has_unwritten_sector(block, at)) {
        to.cut(offset + at);
        return false;
      }
      to.unreadable(offset + at);
      // A torn fragment goes to the end of the log. Its payload has bodies of jobs, which may look like fragments.
      const bool may_be_torn = is_expected && is_type && !fits && block.size() < log_block;
      if (may_be_torn && !is_shorter(block.substr(at)) && !is_followed(block.substr(at), to.next())) return true;
      is_expected = false;
      ++at;
    }
  }
  return true;
}

/// Calls `scan` with each block of a file and its offset, until it returns false. Throws store_failure if the file
/// cannot be read.
template <class Scan>
void read_blocks(const std::string& folder, const std::string& name, rocksdb::FileSystem& files, Scan scan) {
  const auto check = [&folder](const rocksdb::IOStatus& status) {
    if (!status.ok()) throw_opening_failure(folder, status);
  };
  std::unique_ptr<rocksdb::FSSequentialFile> log;
  check(files.NewSequentialFile(name, rocksdb::FileOptions{}, &log, nullptr));
  std::string scratch(log_block, '\0');
  for (std::uint64_t offset = 0;; offset += log_block) {
    std::size_t size = 0;
    while (size < log_block) {
      rocksdb::Slice part;
      check(log->Read(log_block - size, rocksdb::IOOptions{}, &part, scratch.data() + size, nullptr));
      if (part.empty()) break;
      if (part.data() != scratch.data() + size) std::memcpy(scratch.data() + size, part.data(), part.size());
      size += part.size();
    }
    const bool goes_on = scan(std::string_view(scratch.data(), size), offset);
    if (size < log_block || !goes_on) return;
  }
}

/// How many bytes of a log were synced, as far as the mark knows; nothing if there is no mark.
std::optional<std::uint64_t> durable_of(const std::vector<synced_length>& mark, std::uint64_t number) {
  if (mark.empty()) return std::nullopt;
  for (const synced_length& each : mark) {
    const auto file = read_name(each.file);
    if (file && file->kind == file_kind::log && file->number == number) return each.length;
  }
  return 0;
}

}  // namespace

std::uint32_t log_checksum(std::string_view bytes) noexcept { return masked(crc32c(bytes)); }

log_contents scan_logs(const std::string& folder, rocksdb::FileSystem& files, std::uint64_t from,
                       std::uint64_t in_tables, std::uint64_t manifest, const std::vector<synced_length>& mark) {
  std::vector<std::string> names;
  const rocksdb::IOStatus listed = files.GetChildren(folder, rocksdb::IOOptions{}, &names, nullptr);
  if (!listed.ok()) throw_opening_failure(folder, listed);
  std::vector<std::pair<std::uint64_t, std::string>> logs;
  for (const std::string& name : names) {
    const auto file = read_name(name);
    if (file && file->kind == file_kind::log && file->number >= from)
      logs.emplace_back(file->number, folder + "/" + name);
  }
  std::ranges::sort(logs);
  batch_reader found(in_tables, manifest);
  for (const auto& [number, name] : logs) {
    found.begin_file(name, number);
    const std::optional<std::uint64_t> durable = durable_of(mark, number);
    read_blocks(folder, name, files, [&](std::string_view block, std::uint64_t offset) {
      return scan_block(block, offset, durable, found);
    });
  }
  return std::move(found).finish();
}

std::uint64_t whole_records(const std::string& folder, const std::string& name, rocksdb::FileSystem& files) {
  bool is_whole = true;
  std::uint64_t end = 0;
  read_blocks(folder, name, files, [&](std::string_view block, std::uint64_t offset) {
    for (std::size_t at = 0; is_whole && block.size() - at >= fragment_head;) {
      const std::size_t size = whole_fragment(block.substr(at));
      is_whole = size != 0;
      at += size;
      const auto type = is_whole ? static_cast<fragment_type>(block[at - size + 6]) : fragment_type::first;
      if (type == fragment_type::full || type == fragment_type::last) end = offset + at;
    }
    return is_whole;
  });
  return end;
}

}  // namespace foliot::jobs::detail

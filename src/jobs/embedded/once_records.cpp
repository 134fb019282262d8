#include "once_records.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "job_records.hpp"

namespace foliot::jobs::detail {
namespace {

constexpr std::string_view first_entry = "e";
constexpr std::string_view behind_entries = "f";
constexpr std::string_view first_record = "k";
constexpr std::string_view behind_records = "l";

constexpr std::size_t answer_size = 1 + sizeof(job_id);

std::string_view view_of(const sha256& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

sha256 read_digest(std::string_view bytes) noexcept {
  sha256 digest;
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return digest;
}

std::string record_key(const sha256& key) { return std::string(first_record).append(view_of(key)); }

std::string entry_key(utc_time end, const sha256& key) {
  const auto number = number_key(ordered(end.time_since_epoch().count()));
  return std::string(first_entry).append(view(number)).append(view_of(key));
}

constexpr std::size_t entry_size = 1 + sizeof(std::uint64_t) + sizeof(sha256);

utc_time end_in(std::string_view entry) noexcept {
  return utc_time(milliseconds(from_ordered(read_big<std::uint64_t>(entry.data() + 1))));
}

sha256 key_in(std::string_view entry) noexcept { return read_digest(entry.substr(1 + sizeof(std::uint64_t))); }

void append(std::string& to, const put_answer& it) {
  to += static_cast<char>(it.what);
  to += view(number_key(it.id));
}

/// The bytes of a record: see keys.hpp.
std::string encode_record(const once_record& what) {
  std::string value(view_of(what.request));
  value += view(number_key(ordered(what.end.time_since_epoch().count())));
  if (const auto* const one = std::get_if<put_answer>(&what.result)) {
    value += 'p';
    append(value, *one);
  } else if (const auto* const all = std::get_if<std::vector<put_answer>>(&what.result)) {
    value += 'a';
    for (const put_answer& each : *all) append(value, each);
  }
  return value;
}

/// The inverse; none if these are not the bytes of a record.
std::optional<once_record> decode_record(std::string_view value) {
  constexpr std::size_t head = sizeof(sha256) + sizeof(std::uint64_t) + 1;
  if (value.size() < head || (value.size() - head) % answer_size != 0) return std::nullopt;
  once_record read;
  read.request = read_digest(value);
  read.end = utc_time(milliseconds(from_ordered(read_big<std::uint64_t>(value.data() + sizeof(sha256)))));
  std::vector<put_answer> answers;
  for (std::size_t at = head; at < value.size(); at += answer_size) {
    const auto what = static_cast<std::uint8_t>(value[at]);
    if (what > static_cast<std::uint8_t>(put_answer::kind::replaced)) return std::nullopt;
    answers.push_back({static_cast<put_answer::kind>(what), read_big<job_id>(value.data() + at + 1)});
  }
  const char kind = value[head - 1];
  if (kind == 'p' && answers.size() == 1) {
    read.result = answers.front();
  } else if (kind == 'a' && !answers.empty()) {
    read.result = std::move(answers);
  } else {
    return std::nullopt;
  }
  return read;
}

}  // namespace

void once_records::open() {
  floor_ = first_entry;
  disk::scan entries(disk_, family::meta, first_entry, behind_entries);
  if (entries.valid() && entries.key().size() == entry_size) first_end_ = end_in(entries.key());
}

once_record once_records::read(std::string_view value) const {
  std::optional<once_record> found = decode_record(value);
  if (!found) throw_damaged(disk_.folder(), "the record of an operation that happens once cannot be read");
  return *std::move(found);
}

const once_record* once_records::find(const sha256& key, utc_time now) {
  ended_.reset();
  if (const once_record* const claim = claims_.find(key, now)) return claim;
  const once_record* known = nullptr;
  if (const auto fresh = fresh_.find(key); fresh != fresh_.end()) {
    known = &fresh->second;
  } else if (const std::optional<std::string_view> value = disk_.read(family::meta, record_key(key))) {
    found_ = read(*value);
    known = &found_;
  }
  if (known == nullptr || known->end > now) return known;
  ended_ = known->end;
  return nullptr;
}

void once_records::add(const sha256& key, once_record what) {
  if (std::holds_alternative<std::vector<reservation>>(what.result)) return claims_.add(key, std::move(what));
  format_.require(format_with_once);
  if (ended_) disk_.erase(family::meta, entry_key(*ended_, key));
  std::string entry = entry_key(what.end, key);
  disk_.put(family::meta, record_key(key), encode_record(what));
  disk_.put(family::meta, entry, "");
  first_end_ = std::min(first_end_, what.end);
  floor_ = std::min(floor_, std::move(entry));
  fresh_.insert_or_assign(key, std::move(what));
}

void once_records::remove_ended(utc_time now) {
  claims_.remove_ended(now);
  if (!turns_.is_due(first_end_, now)) return;
  std::vector<std::string> ended;
  std::string next(behind_entries);
  first_end_ = utc_time::max();
  for (disk::scan entries(disk_, family::meta, floor_, behind_entries); entries.valid(); entries.next()) {
    if (entries.key().size() != entry_size) {
      throw_damaged(disk_.folder(), "the end of an operation that happens once cannot be read");
    }
    if (ended.size() == removal_turns::most_removed || end_in(entries.key()) > now) {
      next = entries.key();
      first_end_ = end_in(entries.key());
      break;
    }
    ended.emplace_back(entries.key());
  }
  for (const std::string& each : ended) {
    disk_.erase(family::meta, each);
    disk_.erase(family::meta, record_key(key_in(each)));
  }
  floor_ = std::move(next);
  turns_.note(ended.size(), now);
}

utc_time once_records::next_removal() const noexcept {
  const utc_time on_disk = first_end_ == utc_time::max() ? utc_time::max() : turns_.next(first_end_);
  return std::min(on_disk, claims_.next_removal());
}

check_result once_records::check() {
  const auto wrong = [](const char* what) { return std::unexpected(std::string(what)); };
  std::uint64_t records = 0;
  std::uint64_t hashes = 0;  // of the entries that there should be, less those that there are
  for (disk::scan all(disk_, family::meta, first_record, behind_records); all.valid(); all.next()) {
    ++records;
    const std::optional<once_record> it = decode_record(all.value());
    if (all.key().size() != 1 + sizeof(sha256) || !it) {
      return wrong("the record of an operation that happens once cannot be read");
    }
    const std::string entry = entry_key(it->end, read_digest(all.key().substr(1)));
    hashes += std::hash<std::string_view>{}(entry);
    if (entry < floor_ || it->end < first_end_) return wrong("an operation that happens once would not be removed");
  }
  std::uint64_t entries = 0;
  for (disk::scan all(disk_, family::meta, first_entry, behind_entries); all.valid(); all.next()) {
    ++entries;
    hashes -= std::hash<std::string_view>{}(all.key());
  }
  if (records != entries || hashes != 0) return wrong("the ends of operations that happen once are not those in order");
  if (records != 0 && format_.version() < format_with_once) {
    return wrong("the folder's format has no operations that happen once, and there is one");
  }
  return claims_.check();
}

}  // namespace foliot::jobs::detail

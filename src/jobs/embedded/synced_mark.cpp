#include "synced_mark.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "file_names.hpp"
#include "log_scan.hpp"

namespace foliot::jobs::detail {
namespace {

constexpr std::string_view mark_name = "/SYNCED";
constexpr std::string_view heading = "foliot synced 1\n";
constexpr std::string_view ending = "checksum ";
/// Within a sector, which a disk writes as a whole, unless there are unusually many logs.
constexpr std::size_t sector = 512;

/// Takes the first line off, without its end.
std::optional<std::string_view> take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

template <class Number>
bool read_number(std::string_view digits, Number& number) noexcept {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size();
}

}  // namespace

std::vector<synced_length> read_mark(const std::string& folder, rocksdb::FileSystem& files) {
  std::string bytes;
  if (!rocksdb::ReadFileToString(&files, folder + std::string(mark_name), &bytes).ok()) return {};
  if (!bytes.starts_with(heading)) return {};
  std::string_view left = std::string_view(bytes).substr(heading.size());
  std::vector<synced_length> found;
  for (;;) {
    const std::size_t before = bytes.size() - left.size();
    const std::optional<std::string_view> line = take_line(left);
    if (!line) return {};
    if (line->starts_with(ending)) {
      std::uint32_t checksum = 0;
      if (!read_number(line->substr(ending.size()), checksum)) return {};
      if (checksum != log_checksum(std::string_view(bytes).substr(0, before))) return {};
      return found;
    }
    const std::size_t space = line->find(' ');
    synced_length one;
    if (space == std::string_view::npos || !read_number(line->substr(space + 1), one.length)) return {};
    one.file = line->substr(0, space);
    found.push_back(std::move(one));
  }
}

synced_mark::synced_mark(const std::string& folder, rocksdb::FileSystem& files)
    : folder_(folder), name_(folder + std::string(mark_name)), files_(files) {}

rocksdb::IOStatus synced_mark::write(const std::vector<synced_length>& lengths) {
  if (file_ == nullptr) {
    is_first_ = read_mark(folder_, files_).empty();
    if (!files_.FileExists(name_, {}, nullptr).ok()) {
      std::unique_ptr<rocksdb::FSWritableFile> made;
      rocksdb::IOStatus status = files_.NewWritableFile(name_, {}, &made, nullptr);
      if (status.ok()) status = made->Close({}, nullptr);
      if (!status.ok()) return status;
    }
    if (rocksdb::IOStatus status = files_.NewRandomRWFile(name_, {}, &file_, nullptr); !status.ok()) return status;
  }
  std::string text(heading);
  for (const synced_length& each : lengths) text += each.file + ' ' + std::to_string(each.length) + '\n';
  const std::uint32_t checksum = log_checksum(text);
  text += std::string(ending) + std::to_string(checksum) + '\n';
  // What a longer mark has left behind the checksum is not read.
  if (text.size() < sector) text.resize(sector, '\n');
  rocksdb::IOStatus status = file_->Write(0, text, {}, nullptr);
  return status.ok() && is_first_ && !lengths.empty() ? sync_first() : status;
}

rocksdb::IOStatus synced_mark::sync_first() {
  rocksdb::IOStatus status = file_->Sync({}, nullptr);
  std::unique_ptr<rocksdb::FSDirectory> folder;
  if (status.ok()) status = files_.NewDirectory(folder_, {}, &folder, nullptr);
  if (status.ok()) status = folder->Fsync({}, nullptr);
  if (status.ok()) is_first_ = false;
  return status;
}

rocksdb::IOStatus synced_mark::sync() { return file_ == nullptr ? rocksdb::IOStatus::OK() : file_->Sync({}, nullptr); }

}  // namespace foliot::jobs::detail

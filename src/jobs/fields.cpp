#include <foliot/jobs/fields.hpp>

#include <utility>

namespace foliot::jobs {
namespace {

constexpr std::size_t head_size = 4;  // the tag, and the length of the value

std::uint16_t read_number(const char* from) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(from[0]) << 8 | static_cast<unsigned char>(from[1]));
}

void append_number(std::string& to, std::size_t number) {
  to += static_cast<char>(number >> 8);
  to += static_cast<char>(number & 0xff);
}

std::size_t size_of(const job_fields::entry& it) noexcept { return head_size + it.value.size(); }

/// Where the entry with this tag is in the encoding, or would be.
struct entry_place {
  std::size_t begin = 0;
  std::size_t size = 0;  ///< 0: it is not there
};

entry_place place_of(const job_fields& in, field_tag tag) noexcept {
  entry_place found;
  for (const job_fields::entry each : in) {
    if (each.tag == tag) found.size = size_of(each);
    if (each.tag >= tag) break;
    found.begin += size_of(each);
  }
  return found;
}

}  // namespace

job_fields::entry job_fields::iterator::operator*() const noexcept {
  return {read_number(at_), std::string_view(at_ + head_size, read_number(at_ + 2))};
}

job_fields::iterator& job_fields::iterator::operator++() noexcept {
  at_ += size_of(**this);
  return *this;
}

std::optional<job_fields> job_fields::parse(std::string_view encoding) {
  if (encoding.size() > most_field_bytes) return std::nullopt;
  field_tag last = 0;
  for (std::string_view left = encoding; !left.empty();) {
    if (left.size() < head_size || read_number(left.data()) <= last) return std::nullopt;
    const std::size_t size = head_size + read_number(left.data() + 2);
    if (left.size() < size) return std::nullopt;
    last = read_number(left.data());
    left.remove_prefix(size);
  }
  job_fields parsed;
  if (!encoding.empty()) parsed.bytes_ = std::make_unique<std::string>(encoding);
  return parsed;
}

std::optional<std::string_view> job_fields::find(field_tag tag) const noexcept {
  const entry_place place = place_of(*this, tag);
  if (place.size == 0) return std::nullopt;
  return bytes().substr(place.begin + head_size, place.size - head_size);
}

bool job_fields::set(field_tag tag, std::string_view value) {
  if (tag == 0) return false;
  const entry_place old = place_of(*this, tag);
  const std::string_view before = bytes();
  if (value.size() > most_field_bytes || before.size() - old.size + head_size + value.size() > most_field_bytes) {
    return false;
  }
  std::string after;
  after.reserve(before.size() - old.size + head_size + value.size());
  after += before.substr(0, old.begin);
  append_number(after, tag);
  append_number(after, value.size());
  after += value;
  after += before.substr(old.begin + old.size);
  bytes_ = std::make_unique<std::string>(std::move(after));
  return true;
}

bool job_fields::erase(field_tag tag) noexcept {
  const entry_place place = place_of(*this, tag);
  if (place.size == 0) return false;
  bytes_->erase(place.begin, place.size);
  if (bytes_->empty()) bytes_.reset();
  return true;
}

}  // namespace foliot::jobs

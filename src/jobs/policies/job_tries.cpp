#include <foliot/jobs/job_tries.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace foliot::jobs {
namespace {

// The value of the field: a byte that says which version of this format it is; the three numbers; in the second version
// the two times of a job that waits for its group; how many tries follow, in a byte; and of each the time in
// milliseconds since 1970, its kind, and two texts behind their lengths. All numbers are big-endian. The second version
// is written only where it is needed, so that the first one's readers know the most.
constexpr std::uint64_t tries_format = 1;
constexpr std::uint64_t tries_format_of_parked = 2;

void append_tries_number(std::string& to, std::uint64_t number, unsigned bytes) {
  for (unsigned left = bytes; left-- > 0;) to += static_cast<char>(number >> (8 * left));
}

void append_tries_time(std::string& to, utc_time when) {
  append_tries_number(to, static_cast<std::uint64_t>(when.time_since_epoch().count()), 8);
}

/// Reads from the front; once something is missing, everything is.
class tries_reader {
 public:
  explicit tries_reader(std::string_view from) noexcept : left_(from) {}

  std::uint64_t number(unsigned bytes) noexcept {
    std::uint64_t read = 0;
    for (const char each : text(bytes)) read = read << 8U | static_cast<unsigned char>(each);
    return read;
  }
  std::string_view text(std::size_t size) noexcept {
    if (size > left_.size()) is_broken_ = true;
    if (is_broken_) return {};
    const std::string_view read = left_.substr(0, size);
    left_.remove_prefix(size);
    return read;
  }
  utc_time time() noexcept { return utc_time(milliseconds(static_cast<std::int64_t>(number(8)))); }
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }
  [[nodiscard]] bool has_read_all() const noexcept { return !is_broken_ && left_.empty(); }

 private:
  std::string_view left_;
  bool is_broken_ = false;
};

/// Cuts the text in front of a character of UTF-8. A byte that continues none counts as one.
void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  const auto continues = [&text](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U; };
  std::size_t end = most;
  while (end > 0 && most - end < 3 && continues(end)) --end;
  text.resize(continues(end) ? most : end);
}

std::string encoded(const job_tries& it, std::size_t first) {
  std::string made;
  const bool is_parked = it.waits_since != utc_time{} || it.parked_until != utc_time{};
  append_tries_number(made, is_parked ? tries_format_of_parked : tries_format, 1);
  append_tries_number(made, it.failed, 4);
  append_tries_number(made, it.seen_timeouts, 4);
  append_tries_number(made, it.seen_kicks, 4);
  if (is_parked) {
    append_tries_time(made, it.waits_since);
    append_tries_time(made, it.parked_until);
  }
  append_tries_number(made, it.last.size() - first, 1);
  for (std::size_t i = first; i < it.last.size(); ++i) {
    const failed_try& each = it.last[i];
    append_tries_time(made, each.when);
    append_tries_number(made, static_cast<std::uint64_t>(each.how), 1);
    append_tries_number(made, each.why.size(), 2);
    made += each.why;
    append_tries_number(made, each.worker.size(), 2);
    made += each.worker;
  }
  return made;
}

}  // namespace

void job_tries::note(failed_try one) {
  cut(one.why, most_reason_bytes);
  cut(one.worker, most_worker_bytes);
  if (last.size() >= most_kept_tries) last.erase(last.begin(), last.end() - (most_kept_tries - 1));
  last.push_back(std::move(one));
}

std::optional<job_tries> job_tries::in(const job_fields& history) {
  const std::optional<std::string_view> value = history.find(tag_of_tries);
  if (!value) return job_tries{};
  tries_reader from(*value);
  const std::uint64_t format = from.number(1);
  if (format != tries_format && format != tries_format_of_parked) return std::nullopt;
  job_tries read;
  read.failed = static_cast<std::uint32_t>(from.number(4));
  read.seen_timeouts = static_cast<std::uint32_t>(from.number(4));
  read.seen_kicks = static_cast<std::uint32_t>(from.number(4));
  if (format == tries_format_of_parked) {
    read.waits_since = from.time();
    read.parked_until = from.time();
  }
  const std::uint64_t count = from.number(1);
  if (count > most_kept_tries) return std::nullopt;
  for (std::uint64_t i = 0; i < count && !from.is_broken(); ++i) {
    failed_try& one = read.last.emplace_back();
    one.when = from.time();
    const std::uint64_t how = from.number(1);
    if (how > static_cast<std::uint64_t>(failed_try::kind::moved)) return std::nullopt;
    one.how = static_cast<failed_try::kind>(how);
    one.why = from.text(from.number(2));
    one.worker = from.text(from.number(2));
  }
  if (!from.has_read_all()) return std::nullopt;
  return read;
}

bool job_tries::write(job_fields& history) const {
  std::size_t first = last.size() - std::min(last.size(), most_kept_tries);
  while (!history.set(tag_of_tries, encoded(*this, first))) {
    if (first == last.size()) return false;
    ++first;
  }
  return true;
}

}  // namespace foliot::jobs

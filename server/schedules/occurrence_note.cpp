#include "occurrence_note.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace foliot::program {

namespace {

constexpr std::string_view format_of_note = "1";
constexpr std::array<std::string_view, 3> names_of_passes{"only", "first", "second"};

/// The lines of an encoding, one after the other.
class lines_of_note {
 public:
  explicit lines_of_note(std::string_view text) : left_(text) {}

  std::string_view next() {
    const std::size_t end = left_.find('\n');
    if (end == std::string_view::npos) is_good_ = false;
    const std::string_view line = left_.substr(0, end);
    left_.remove_prefix(is_good_ ? end + 1 : left_.size());
    return line;
  }
  template <class Number>
  Number number(int base = 10) {
    const std::string_view line = next();
    Number read{};
    const auto got = std::from_chars(line.data(), line.data() + line.size(), read, base);
    if (got.ec != std::errc() || got.ptr != line.data() + line.size()) is_good_ = false;
    return read;
  }
  /// The place of the line among these names.
  template <class Kind, std::size_t count>
  Kind name(const std::array<std::string_view, count>& among) {
    const auto found = std::ranges::find(among, next());
    if (found == among.end()) is_good_ = false;
    return is_good_ ? static_cast<Kind>(found - among.begin()) : Kind{};
  }
  /// A time as text_of() writes it, with this behind it.
  std::chrono::seconds time(std::string_view behind) {
    const std::string_view line = next();
    const auto part = [&](std::size_t from, std::size_t count) {
      int read = 0;
      const auto got = std::from_chars(line.data() + from, line.data() + from + count, read);
      if (got.ec != std::errc() || got.ptr != line.data() + from + count) is_good_ = false;
      return read;
    };
    constexpr std::size_t length = 19;  // 2026-11-30T09:00:00
    if (line.size() != length + behind.size() || line.substr(length) != behind) is_good_ = false;
    if (!is_good_) return {};
    const std::chrono::year_month_day day(std::chrono::year(part(0, 4)),
                                          std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                          std::chrono::day(static_cast<unsigned>(part(8, 2))));
    if (!day.ok()) is_good_ = false;
    if (!is_good_) return {};
    const std::chrono::seconds of_day =
        std::chrono::hours(part(11, 2)) + std::chrono::minutes(part(14, 2)) + std::chrono::seconds(part(17, 2));
    return std::chrono::sys_days(day).time_since_epoch() + of_day;
  }
  [[nodiscard]] bool is_good() const noexcept { return is_good_; }

 private:
  std::string_view left_;
  bool is_good_ = true;
};

}  // namespace

occurrence_note occurrence_note::of(std::string_view schedule, const schedule_plan& plan, const schedule_state& state,
                                    const planned_occurrence& made) {
  occurrence_note note;
  note.schedule = schedule;
  note.incarnation = state.incarnation;
  note.version = state.version;
  note.reason = made.reason;
  note.ordinal = made.name.ordinal;
  note.at = made.name.at;
  note.nominal = made.when.nominal;
  note.offset = made.when.offset;
  note.abbreviation = made.when.abbreviation;
  note.zone = plan.zone;
  note.zone_data = state.zone_data;
  note.is_shifted = made.when.is_shifted;
  note.pass = made.when.pass;
  return note;
}

std::string occurrence_note::encoding() const {
  return fmt::format("{}\n{}\n{:016x}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", format_of_note, schedule,
                     incarnation, version, names_of_reasons[static_cast<std::size_t>(reason)], ordinal,
                     schedule::text_of(at), schedule::text_of(nominal), offset.count(), abbreviation, zone, zone_data,
                     is_shifted ? "shifted" : "", names_of_passes[static_cast<std::size_t>(pass)]);
}

std::optional<occurrence_note> occurrence_note::parse(std::string_view encoding) {
  lines_of_note lines(encoding);
  if (lines.next() != format_of_note) return std::nullopt;
  occurrence_note read;
  read.schedule = lines.next();
  read.incarnation = lines.number<std::uint64_t>(16);
  read.version = lines.number<std::uint32_t>();
  read.reason = lines.name<occurrence_reason>(names_of_reasons);
  read.ordinal = lines.number<std::uint32_t>();
  read.at = std::chrono::sys_seconds(lines.time("Z"));
  read.nominal = std::chrono::local_seconds(lines.time(""));
  read.offset = std::chrono::seconds(lines.number<std::int64_t>());
  read.abbreviation = lines.next();
  read.zone = lines.next();
  read.zone_data = lines.next();
  read.is_shifted = lines.next() == "shifted";
  read.pass = lines.name<schedule::overlap_pass>(names_of_passes);
  if (!lines.is_good()) return std::nullopt;
  return read;
}

std::optional<occurrence_note> occurrence_note::in(const jobs::job_fields& fields) {
  const std::optional<std::string_view> value = fields.find(tag_of_occurrence);
  return value ? parse(*value) : std::nullopt;
}

}  // namespace foliot::program

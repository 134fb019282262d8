#include <foliot/schedule/zone.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/civil.hpp"
#include "schedule/zone_data.hpp"

namespace foliot::schedule {

namespace {

using detail::zone_data;

/// FNV-1a, to see whether two files are equal.
std::uint64_t checksum_of(std::string_view bytes) noexcept {
  std::uint64_t sum = 14695981039346656037U;
  for (const char each : bytes) sum = (sum ^ static_cast<unsigned char>(each)) * 1099511628211U;
  return sum;
}

/// Reads a file of RFC 8536 from its front. Each function returns nothing where the file ends too soon.
class tzif_reader {
 public:
  explicit tzif_reader(std::string_view bytes) noexcept : left_(bytes) {}

  /// Returns "", or what is wrong.
  [[nodiscard]] std::string read_into(zone_data& data);

 private:
  struct header {
    char version = 0;
    std::uint64_t ut_marks = 0, standard_marks = 0, leap_seconds = 0, transitions = 0, types = 0, letters = 0;
  };

  [[nodiscard]] std::optional<std::string_view> take(std::uint64_t size) noexcept {
    if (left_.size() < size) return std::nullopt;
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] static std::int64_t big_endian(std::string_view bytes) noexcept {
    std::uint64_t value = 0;
    for (const char each : bytes) value = value << 8 | static_cast<unsigned char>(each);
    if (bytes.size() == 4) return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::optional<header> take_header() noexcept;
  [[nodiscard]] std::string read_block(zone_data& data, const header& sizes);
  [[nodiscard]] static std::string add_types(zone_data& data, std::string_view types, std::string_view letters);

  std::string_view left_;
};

constexpr std::uint64_t most_types = 256;  // a transition names its type by a byte

constexpr const char* too_short = "the file ends too soon";

std::optional<tzif_reader::header> tzif_reader::take_header() noexcept {
  const auto bytes = take(44);
  if (!bytes || !bytes->starts_with("TZif")) return std::nullopt;
  header read{.version = (*bytes)[4]};
  std::size_t at = 20;
  for (std::uint64_t* const each :
       {&read.ut_marks, &read.standard_marks, &read.leap_seconds, &read.transitions, &read.types, &read.letters}) {
    *each = static_cast<std::uint32_t>(big_endian(bytes->substr(at, 4)));
    at += 4;
  }
  return read;
}

std::string tzif_reader::add_types(zone_data& data, std::string_view types, std::string_view letters) {
  for (; !types.empty(); types.remove_prefix(6)) {
    const seconds offset(big_endian(types.substr(0, 4)));
    const auto index = static_cast<unsigned char>(types[5]);
    if (index >= letters.size() || offset < least_offset || offset > largest_offset)
      return "a type of its local time is outside of what there can be";
    const std::string_view from = letters.substr(index);
    const std::size_t size = from.find('\0');
    if (size == std::string_view::npos || size > longest_abbreviation)
      return "an abbreviation has no end, or more than 32 characters";
    data.types.push_back({offset, std::string(from.substr(0, size))});
  }
  return {};
}

std::string tzif_reader::read_block(zone_data& data, const header& sizes) {
  const auto times = take(8 * sizes.transitions);
  const auto types_of_times = take(sizes.transitions);
  const auto types = take(6 * sizes.types);
  const auto letters = take(sizes.letters);
  if (!take(12 * sizes.leap_seconds) || !take(sizes.standard_marks) || !take(sizes.ut_marks) || !times ||
      !types_of_times || !types || !letters)
    return too_short;
  if (sizes.leap_seconds > 0) return "it counts leap seconds, which clocks of POSIX do not";
  if (types->empty()) return "it has no local time";
  if (sizes.types > most_types) return "it has more than 256 types of local time, which a byte cannot number";
  if (std::string wrong = add_types(data, *types, *letters); !wrong.empty()) return wrong;
  for (std::uint64_t i = 0; i < sizes.transitions; ++i) {
    const std::int64_t at = big_endian(times->substr(8 * i, 8));
    const std::size_t type = static_cast<unsigned char>((*types_of_times)[i]);
    if (type >= data.types.size()) return "a transition has no local time";
    if (!data.transitions.empty() && at <= data.transitions.back().at.time_since_epoch().count())
      return "its transitions are not in order";
    if (at < first_instant.time_since_epoch().count()) {  // such as the beginning of the universe, in some files
      data.first_type = type;
      continue;
    }
    if (at >= last_instant.time_since_epoch().count()) break;
    data.transitions.push_back({sys_seconds(seconds(at)), type});
  }
  return {};
}

std::string tzif_reader::read_into(zone_data& data) {
  const auto old = take_header();
  if (!old) return "it is no TZif file";
  if (old->version < '2') return "it has the version 1 of the format, which ends in 2038";
  const std::uint64_t old_block = 5 * old->transitions + 6 * old->types + old->letters + 8 * old->leap_seconds +
                                  old->standard_marks + old->ut_marks;
  if (!take(old_block)) return too_short;
  const auto sizes = take_header();
  if (!sizes) return too_short;
  if (std::string wrong = read_block(data, *sizes); !wrong.empty()) return wrong;
  if (!left_.starts_with('\n') || !left_.ends_with('\n') || left_.size() < 2) return too_short;
  const std::string_view rule = left_.substr(1, left_.size() - 2);
  if (rule.empty()) return {};
  data.rule = posix_zone::read(rule);
  return data.rule ? "" : "its last line is no rule of POSIX: '" + std::string(rule) + "'";
}

const std::shared_ptr<const zone_data>& utc_data() {
  static const auto data = [] {
    auto made = std::make_shared<zone_data>();
    made->name = "UTC";
    made->types.push_back({seconds(0), "UTC"});
    return std::shared_ptr<const zone_data>(std::move(made));
  }();
  return data;
}

}  // namespace

zone::zone() : data_(utc_data()) {}

zone::zone(std::shared_ptr<const zone_data> data) noexcept : data_(std::move(data)) {}

std::expected<zone, std::string> zone::read(std::string_view name, std::string_view version, std::string_view bytes) {
  auto data = std::make_shared<zone_data>();
  data->name = name;
  data->version = version;
  data->checksum = checksum_of(bytes);
  if (const std::string wrong = tzif_reader(bytes).read_into(*data); !wrong.empty())
    return std::unexpected("the data of the time zone '" + std::string(name) + "' are not of use: " + wrong);
  return zone(std::move(data));
}

const std::string& zone::name() const noexcept { return data_->name; }
const std::string& zone::version() const noexcept { return data_->version; }

zone_period zone::period_at(sys_seconds time) const {
  time = std::clamp(time, first_instant, last_instant - seconds(1));
  const auto& all = data_->transitions;
  const auto next = std::ranges::upper_bound(all, time, {}, &zone_data::transition::at);
  const std::size_t type = next == all.begin() ? data_->first_type : std::prev(next)->type;
  zone_period found{.begin = next == all.begin() ? first_instant : std::prev(next)->at,
                    .end = next == all.end() ? last_instant : next->at,
                    .offset = data_->types[type].offset,
                    .abbreviation = data_->types[type].abbreviation};
  if (next != all.end() || !data_->rule) return found;
  zone_period by_rule = data_->rule->period_at(time);
  by_rule.begin = std::max(by_rule.begin, found.begin);
  by_rule.end = std::min(by_rule.end, found.end);
  return by_rule;
}

bool zone::operator==(const zone& other) const noexcept {
  return data_ == other.data_ || (name() == other.name() && data_->checksum == other.data_->checksum);
}

}  // namespace foliot::schedule

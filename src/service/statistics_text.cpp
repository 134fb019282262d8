#include <foliot/service/statistics_text.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <system_error>

namespace foliot::inline service {

namespace {

constexpr std::string_view first_line = "foliot-statistics 1";

struct counter_line {
  std::string_view name;
  std::uint64_t service_counters::* field;
};
static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));  // so that all counters have one type here

constexpr std::array counter_lines{
    counter_line{"started", &service_counters::started},
    counter_line{"reset", &service_counters::superseded},
    counter_line{"stopped", &service_counters::stopped},
    counter_line{"fired", &service_counters::fired},
    counter_line{"skipped", &service_counters::skipped},
    counter_line{"dropped", &service_counters::dropped},
    counter_line{"early_wake_ups", &service_counters::wake_ups},
    counter_line{"wake_ups_with_work", &service_counters::wakes_with_work},
    counter_line{"wake_ups_without_work", &service_counters::wakes_without_work},
    counter_line{"pending", &service_counters::pending},
    counter_line{"peak_pending", &service_counters::peak_pending},
};

void append(std::string& to, std::string_view name, const histogram& values) {
  to.append(name).append(" ").append(std::to_string(values.sum_nanoseconds()));
  to.append(" ").append(std::to_string(values.max().count()));
  for (std::size_t i = 0; i < histogram::buckets; ++i) {
    if (values.count_in(i) == 0) continue;
    to.append(" ").append(std::to_string(i)).append(":").append(std::to_string(values.count_in(i)));
  }
  to += '\n';
}

/// Reads the text from its beginning. Text that does not match stays unread.
class reader {
 public:
  explicit reader(std::string_view text) noexcept : left_(text) {}

  [[nodiscard]] bool skip(std::string_view expected) noexcept {
    if (!left_.starts_with(expected)) return false;
    left_.remove_prefix(expected.size());
    return true;
  }
  template <class Number>
  [[nodiscard]] bool read(Number& number) noexcept {
    const auto [stop, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    if (error != std::errc()) return false;
    left_.remove_prefix(static_cast<std::size_t>(stop - left_.data()));
    return true;
  }
  /// `name number`, on a line of its own.
  template <class Number>
  [[nodiscard]] bool line(std::string_view name, Number& number) noexcept {
    return skip(name) && skip(" ") && read(number) && skip("\n");
  }
  [[nodiscard]] bool line(std::string_view name, histogram& values) noexcept {
    std::uint64_t sum = 0;
    std::int64_t max = 0;
    if (!(skip(name) && skip(" ") && read(sum) && skip(" ") && read(max)) || max < 0) return false;
    values.restore_sum(sum, duration::nanoseconds(max));
    while (skip(" ")) {
      std::size_t bucket = 0;
      std::uint64_t count = 0;
      if (!(read(bucket) && skip(":") && read(count)) || bucket >= histogram::buckets) return false;
      values.restore(bucket, count);
    }
    return skip("\n");
  }

  [[nodiscard]] std::string_view left() const noexcept { return left_; }

 private:
  std::string_view left_;
};

bool read(reader& from, service_statistics& now) noexcept {
  for (const auto& [name, field] : counter_lines) {
    if (!from.line(name, now.counters.*field)) return false;
  }
  if (!from.line("shards", now.shards)) return false;
  now.measured = from.left().starts_with("lateness");
  return !now.measured || (from.line("lateness", now.lateness) && from.line("callback_time", now.callback_time));
}

/// The beginning of an untrusted line, in quotes, with its control characters escaped for a terminal.
std::string excerpt(std::string_view line) {
  constexpr std::size_t longest = 60;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "'";
  for (const char c : line.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return text + (line.size() > longest ? "'..." : "'");
}

}  // namespace

std::string statistics_text(const service_statistics& now) {
  std::string text(first_line);
  text += '\n';
  const auto line = [&text](std::string_view name, std::uint64_t number) {
    text.append(name).append(" ").append(std::to_string(number)).append("\n");
  };
  for (const auto& [name, field] : counter_lines) line(name, now.counters.*field);
  line("shards", now.shards);
  if (now.measured) {
    append(text, "lateness", now.lateness);
    append(text, "callback_time", now.callback_time);
  }
  text += "end\n";
  return text;
}

std::expected<service_statistics, std::string> parse_statistics(std::string_view text) {
  reader from(text);
  if (!from.skip(first_line) || !from.skip("\n")) {
    const bool other = text.starts_with("foliot-statistics ");
    return std::unexpected(other ? "these statistics are of another version of foliot"
                                 : "the text does not begin with 'foliot-statistics'");
  }
  service_statistics now;
  if (!read(from, now) || from.left() != "end\n") {
    const bool short_of = !text.ends_with("\nend\n");
    return std::unexpected(short_of ? "the statistics are cut short"
                                    : "the statistics have a malformed line: " +
                                          excerpt(from.left().substr(0, from.left().find('\n'))));
  }
  return now;
}

}  // namespace foliot::inline service

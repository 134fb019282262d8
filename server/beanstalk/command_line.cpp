#include "command_line.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <foliot/jobs/limits.hpp>

namespace foliot::program::beanstalk {
namespace {

constexpr std::uint64_t max_u32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t max_u64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t max_timeout = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t max_milliseconds = std::uint64_t{jobs::longest_time.count()};
constexpr std::uint64_t max_utc = std::numeric_limits<std::int64_t>::max() / 1'000'000;  // where the wall clock ends

constexpr bool is_digit(char c) noexcept { return '0' <= c && c <= '9'; }

constexpr bool is_name_character(char c) noexcept {
  return is_digit(c) || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
         std::string_view("-+/;.$_()").find(c) != std::string_view::npos;
}

/// The arguments of a line, from left to right. Each call takes one off the front; without the right one it takes
/// nothing, or spaces.
class arguments {
 public:
  explicit arguments(std::string_view rest) noexcept : rest_(rest) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  /// Digits after any number of spaces; nothing if there are none, or if they are more than `limit`.
  std::optional<std::uint64_t> number(std::uint64_t limit) noexcept {
    skip_spaces();
    return digits(limit);
  }

  std::optional<std::uint32_t> number() noexcept {
    const auto value = number(max_u32);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }

  std::optional<jobs::milliseconds> seconds() noexcept {
    const auto value = number();
    return value ? std::optional<jobs::milliseconds>(std::chrono::seconds(*value)) : std::nullopt;
  }

  /// The characters of a tube's name after any number of spaces; empty if there are none.
  std::string_view name_characters() noexcept {
    skip_spaces();
    return take(static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_name_character) - rest_.begin()));
  }

  /// The characters up to the next space, after any number of spaces.
  std::string_view word() noexcept {
    skip_spaces();
    return take(std::min(rest_.find(' '), rest_.size()));
  }

  /// As strtoul with base 10: white space, perhaps a sign, digits. Nothing without digits, or if they are too many for
  /// 64 bits. The result is reduced to 32 bits, as by beanstalkd: -1 is the greatest.
  std::optional<std::uint32_t> as_strtoul() noexcept {
    take(std::min(rest_.find_first_not_of(" \t\n\v\f\r"), rest_.size()));
    const bool negative = rest_.starts_with('-');
    if (negative || rest_.starts_with('+')) take(1);
    const auto value = digits(max_u64);
    if (!value) return std::nullopt;
    return static_cast<std::uint32_t>(negative ? 0 - *value : *value);
  }

 private:
  std::string_view take(std::size_t count) noexcept {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  void skip_spaces() noexcept { take(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::optional<std::uint64_t> digits(std::uint64_t limit) noexcept {
    if (rest_.empty() || !is_digit(rest_.front())) return std::nullopt;
    std::uint64_t value = 0;
    while (!rest_.empty() && is_digit(rest_.front())) {
      const auto digit = static_cast<std::uint64_t>(rest_.front() - '0');
      if (value > (limit - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
      take(1);
    }
    return value;
  }

  std::string_view rest_;
};

/// The arguments of parse_line() that belong to puts.
struct put_context {
  std::uint32_t max_body;
  jobs::put& announced;
};

// Each of these parses one command, from the text that follows its prefix.

template <class Command>
event alone(std::string_view rest, put_context&) {
  if (!rest.empty()) return bad_format();
  return Command();
}

template <class Command>
event with_id(std::string_view rest, put_context&) {
  arguments left(rest);
  const auto id = left.number(max_u64);
  if (!id || !left.at_end()) return bad_format();
  return Command{*id};
}

template <class Command>
event with_tube(std::string_view rest, put_context&) {
  if (!is_tube_name(rest)) return bad_format();
  return Command{rest};
}

event parse_quit(std::string_view, put_context&) { return quit(); }

/// Reads the sizes of the fields and of the history, with which the line may go on behind the size of the body. False:
/// it goes on with something else.
bool read_field_sizes(arguments& left, put_line& line) {
  if (left.at_end()) return true;
  const auto fields = left.number();
  const auto history = fields ? left.number() : std::nullopt;
  if (!history || *fields > jobs::most_field_bytes || *history > jobs::most_field_bytes || !left.at_end()) return false;
  line.fields = *fields;
  line.history = *history;
  line.size += line.fields + line.history;
  return true;
}

/// The end of every put line: the size, and the checks in beanstalkd's order. A body that is too big is reported before
/// text that follows the size, and both count as a put.
event end_of_put(arguments& left, jobs::put& job, put_context& context, bool extended) {
  const auto size = left.number();
  if (!size) return bad_format();
  put_line line{*size, *size > context.max_body, extended};
  const bool is_right = extended ? read_field_sizes(left, line) : left.at_end();
  if (line.too_big) return line;
  if (!is_right) return bad_format{extended ? verb::extension : verb::put};
  context.announced = std::move(job);
  return line;
}

event parse_put(std::string_view rest, put_context& context) {
  arguments left(rest);
  const auto priority = left.number();
  if (!priority) return bad_format();
  const auto delay = left.seconds();
  if (!delay) return bad_format();
  const auto ttr = left.seconds();
  if (!ttr) return bad_format();
  jobs::put job;
  job.priority = *priority;
  job.due = *delay;
  job.ttr = std::max<jobs::milliseconds>(*ttr, std::chrono::seconds(1));
  return end_of_put(left, job, context, false);
}

event parse_reserve_with_timeout(std::string_view rest, put_context&) {
  const auto seconds = arguments(rest).number(max_timeout);
  if (!seconds) return bad_format();
  return reserve_with_timeout{static_cast<std::uint32_t>(*seconds)};
}

event parse_release(std::string_view rest, put_context&) {
  arguments left(rest);
  const auto id = left.number(max_u64);
  if (!id) return bad_format();
  const auto priority = left.number();
  if (!priority) return bad_format();
  const auto delay = left.seconds();
  if (!delay || !left.at_end()) return bad_format();
  return release{*id, *priority, *delay};
}

event parse_bury(std::string_view rest, put_context&) {
  arguments left(rest);
  const auto id = left.number(max_u64);
  if (!id) return bad_format();
  const auto priority = left.number();
  if (!priority || !left.at_end()) return bad_format();
  return bury{*id, *priority};
}

event parse_kick(std::string_view rest, put_context&) {
  const auto count = arguments(rest).as_strtoul();
  if (!count) return bad_format();
  return kick{*count};
}

event parse_pause_tube(std::string_view rest, put_context&) {
  arguments left(rest);
  const std::string_view tube = left.name_characters();
  if (tube.empty()) return bad_format();
  const auto length = left.seconds();
  if (!length || !left.at_end()) return bad_format();
  if (!is_tube_name(tube)) return bad_format{verb::pause_tube};
  return pause_tube{tube, *length};
}

// The extensions.

std::optional<jobs::due_at> read_due(arguments& left) {
  const std::string_view word = left.word();
  const bool absolute = word.starts_with('@');
  arguments digits(word.substr(absolute ? 1 : 0));
  const auto value = digits.number(absolute ? max_utc : max_milliseconds);
  if (!value || !digits.at_end()) return std::nullopt;
  const jobs::milliseconds length(*value);
  return absolute ? jobs::due_at(jobs::utc_time(length)) : jobs::due_at(length);
}

std::optional<job_reference> read_job(arguments& left) {
  const std::string_view word = left.word();
  if (word.starts_with('=')) {
    const std::string_view key = word.substr(1);
    return is_key(key) ? std::optional<job_reference>(key) : std::nullopt;
  }
  arguments digits(word);
  const auto id = digits.number(max_u64);
  return id && digits.at_end() ? std::optional<job_reference>(*id) : std::nullopt;
}

std::optional<jobs::on_existing> read_policy(arguments& left) {
  const std::string_view word = left.word();
  if (word == "keep") return jobs::on_existing::keep;
  if (word == "replace") return jobs::on_existing::replace;
  if (word == "refuse") return jobs::on_existing::refuse;
  return std::nullopt;
}

event parse_extended_put(std::string_view rest, put_context& context) {
  arguments left(rest);
  const auto policy = read_policy(left);
  if (!policy) return bad_format();
  const std::string_view key = left.word();
  if (key != "-" && !is_key(key)) return bad_format();
  const auto priority = left.number();
  if (!priority) return bad_format();
  const auto due = read_due(left);
  if (!due) return bad_format();
  const auto ttr = left.number(max_milliseconds);
  if (!ttr || *ttr == 0) return bad_format();
  jobs::put job;
  if (key != "-") job.key = key;
  job.priority = *priority;
  job.due = *due;
  job.ttr = jobs::milliseconds(*ttr);
  job.existing = *policy;
  return end_of_put(left, job, context, true);
}

template <class Command>
event with_job(std::string_view rest, put_context&) {
  arguments left(rest);
  const auto job = read_job(left);
  if (!job || !left.at_end()) return bad_format();
  return Command{*job};
}

event parse_reschedule(std::string_view rest, put_context&) {
  arguments left(rest);
  const auto job = read_job(left);
  if (!job) return bad_format();
  const auto due = read_due(left);
  if (!due || !left.at_end()) return bad_format();
  return reschedule{*job, *due};
}

event parse_due(std::string_view rest, put_context&) {
  arguments left(rest);
  const auto count = left.number(jobs::most_listed_due);
  if (!count || *count == 0) return bad_format();
  const auto from = read_due(left);
  if (!from || !std::holds_alternative<jobs::utc_time>(*from)) return bad_format();
  const auto after = left.number(max_u64);
  if (!after) return bad_format();
  std::string_view prefix = left.word();
  if (prefix == "-") {
    prefix = {};
  } else if (!is_tube_name(prefix)) {
    return bad_format();
  }
  if (!left.at_end()) return bad_format();
  return list_due{static_cast<std::uint32_t>(*count), std::get<jobs::utc_time>(*from), *after, prefix};
}

struct command_form {
  std::string_view prefix;
  event (*parse)(std::string_view rest, put_context& context);
};

/// All commands. Of two prefixes that a line begins with, the longer one stands first.
constexpr std::array forms{
    command_form{"put ", parse_put},
    command_form{"reserve-with-timeout ", parse_reserve_with_timeout},
    command_form{"reserve-job ", with_id<reserve_job>},
    command_form{"reserve", alone<reserve>},
    command_form{"delete ", with_id<delete_job>},
    command_form{"release ", parse_release},
    command_form{"bury ", parse_bury},
    command_form{"touch ", with_id<touch>},
    command_form{"use ", with_tube<use>},
    command_form{"watch ", with_tube<watch>},
    command_form{"ignore ", with_tube<ignore>},
    command_form{"peek ", with_id<peek>},
    command_form{"peek-ready", alone<peek_ready>},
    command_form{"peek-delayed", alone<peek_delayed>},
    command_form{"peek-buried", alone<peek_buried>},
    command_form{"kick ", parse_kick},
    command_form{"kick-job ", with_id<kick_job>},
    command_form{"stats-job ", with_id<stats_job>},
    command_form{"stats-tube ", with_tube<stats_tube>},
    command_form{"stats", alone<stats>},
    command_form{"list-tubes-watched", alone<list_tubes_watched>},
    command_form{"list-tube-used", alone<list_tube_used>},
    command_form{"list-tubes", alone<list_tubes>},
    command_form{"quit", parse_quit},
    command_form{"pause-tube", parse_pause_tube},
    command_form{"x-put ", parse_extended_put},
    command_form{"x-cancel ", with_job<cancel>},
    command_form{"x-reschedule ", parse_reschedule},
    command_form{"x-fire ", with_job<fire_now>},
    command_form{"x-stats-job ", with_job<extended_stats_job>},
    command_form{"x-due ", parse_due},
};

}  // namespace

bool is_key(std::string_view text) noexcept {
  const auto visible = [](char c) { return '!' <= c && c <= '~'; };
  return !text.empty() && text.size() <= longest_key && text != "-" && std::ranges::all_of(text, visible);
}

bool is_tube_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= jobs::longest_tube_name && name.front() != '-' &&
         std::ranges::all_of(name, is_name_character);
}

event parse_line(std::string_view line, std::uint32_t max_body, jobs::put& announced) {
  if (line.find('\0') != std::string_view::npos) return bad_format();
  put_context context{max_body, announced};
  for (const command_form& form : forms) {
    if (line.starts_with(form.prefix)) return form.parse(line.substr(form.prefix.size()), context);
  }
  return unknown_command();
}

}  // namespace foliot::program::beanstalk

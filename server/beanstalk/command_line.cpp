#include "command_line.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <foliot/jobs/names.hpp>

#include "arguments.hpp"

namespace foliot::program::beanstalk {
namespace {

/// The arguments of parse_line() that belong to puts.
struct put_context {
  std::uint32_t max_body;
  jobs::put& announced;
};

// Each of these parses one command, from the text that follows its prefix.

/// The command that an overload of parse() makes.
template <class Command>
struct as {};

/// A command that has a parse() of its own, has no arguments, or one with the usual name.
template <class Command>
event parse(as<Command>, std::string_view rest, put_context&) {
  arguments left(rest);
  if constexpr (requires { Command::parse(rest); }) {
    if (const auto read = Command::parse(rest)) return *read;
  } else if constexpr (std::is_empty_v<Command>) {
    if (rest.empty()) return Command();
  } else if constexpr (requires(Command made) { made.tube = rest; }) {
    if (is_tube_name(rest)) return Command{rest};
  } else if constexpr (requires(Command made) { made.job = job_reference(); }) {
    const auto job = left.job();
    if (job && left.at_end()) return Command{*job};
  } else {
    const auto id = left.number(max_u64);
    if (id && left.at_end()) return Command{jobs::job_id(*id)};
  }
  return bad_format();
}

event parse(as<quit>, std::string_view, put_context&) { return quit(); }

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
  if (!is_right) return bad_format{extended ? std::nullopt : std::optional(verb_of<put_line>)};
  context.announced = std::move(job);
  return line;
}

event parse(as<put_line>, std::string_view rest, put_context& context) {
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

event parse(as<reserve_with_timeout>, std::string_view rest, put_context&) {
  const auto seconds = arguments(rest).number(max_timeout);
  if (!seconds) return bad_format();
  return reserve_with_timeout{static_cast<std::uint32_t>(*seconds)};
}

event parse(as<release>, std::string_view rest, put_context&) {
  arguments left(rest);
  const auto id = left.number(max_u64);
  if (!id) return bad_format();
  const auto priority = left.number();
  if (!priority) return bad_format();
  const auto delay = left.seconds();
  if (!delay || !left.at_end()) return bad_format();
  return release{*id, *priority, *delay};
}

event parse(as<bury>, std::string_view rest, put_context&) {
  arguments left(rest);
  const auto id = left.number(max_u64);
  if (!id) return bad_format();
  const auto priority = left.number();
  if (!priority || !left.at_end()) return bad_format();
  return bury{*id, *priority};
}

event parse(as<kick>, std::string_view rest, put_context&) {
  const auto count = arguments(rest).as_strtoul();
  if (!count) return bad_format();
  return kick{*count};
}

event parse(as<pause_tube>, std::string_view rest, put_context&) {
  arguments left(rest);
  const std::string_view tube = left.name_characters();
  if (tube.empty()) return bad_format();
  const auto length = left.seconds();
  if (!length || !left.at_end()) return bad_format();
  if (!is_tube_name(tube)) return bad_format{verb_of<pause_tube>};
  return pause_tube{tube, *length};
}

// The extensions.

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
  if (key != "-" && !jobs::is_command_key(key)) return bad_format();
  const auto priority = left.number();
  if (!priority) return bad_format();
  const auto due = left.due();
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

event parse(as<reschedule>, std::string_view rest, put_context&) {
  arguments left(rest);
  const auto job = left.job();
  if (!job) return bad_format();
  const auto due = left.due();
  if (!due || !left.at_end()) return bad_format();
  return reschedule{*job, *due};
}

struct command_form {
  std::string_view prefix;
  event (*parse)(std::string_view rest, put_context& context);
};

/// All commands, and `x-put`. Of two prefixes that a line begins with, the longer one stands first.
constexpr auto forms = [] {
  const auto of_rows = commands.each([]<class Command>(detail::command_row<Command> row) {
    return command_form{row.facts.prefix, [](std::string_view rest, put_context& context) {
                          return parse(as<Command>(), rest, context);
                        }};
  });
  std::array<command_form, verbs + 1> all{};
  all.back() = {"x-put ", parse_extended_put};
  std::ranges::copy(of_rows, all.begin());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
    const auto is_longer = [&](const command_form& each) { return each.prefix.starts_with(all[i].prefix); };
    for (auto longer = std::find_if(begin + 1, all.end(), is_longer); longer != all.end();
         longer = std::find_if(longer + 1, all.end(), is_longer)) {
      std::rotate(begin, longer, longer + 1);
    }
  }
  return all;
}();

}  // namespace

std::optional<list_due> list_due::parse(std::string_view text) {
  arguments left(text);
  const auto count = left.number(jobs::most_listed_due);
  if (!count || *count == 0) return std::nullopt;
  const auto from = left.due();
  if (!from || !std::holds_alternative<jobs::utc_time>(*from)) return std::nullopt;
  const auto after = left.number(max_u64);
  if (!after) return std::nullopt;
  const std::string_view prefix = left.word();
  if (!left.at_end() || (prefix != "-" && !is_tube_name(prefix))) return std::nullopt;
  return list_due{static_cast<std::uint32_t>(*count), std::get<jobs::utc_time>(*from), *after,
                  prefix == "-" ? std::string_view() : prefix};
}

/// The beginning of a sign-in. Sessions have no such command: it comes before they begin.
constexpr std::string_view sign_in_word = "x-auth";

event parse_line(std::string_view line, std::uint32_t max_body, jobs::put& announced) {
  if (line.find('\0') != std::string_view::npos) return bad_format();
  if (line.empty()) return unknown_command();
  put_context context{max_body, announced};
  for (const command_form& form : forms) {
    if (line.front() == form.prefix.front() && line.starts_with(form.prefix))
      return form.parse(line.substr(form.prefix.size()), context);
  }
  return unknown_command{line.starts_with(sign_in_word)};
}

}  // namespace foliot::program::beanstalk

#include "commands.hpp"

#include <cstddef>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <foliot/service/timer_service.hpp>

#include "number_option.hpp"
#include "replay.hpp"
#include "session_tracker.hpp"
#include "text/duration_text.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

struct replay_arguments {
  replay_options options{.engine = service_options{}.engine.name()};
  std::string format = std::string(log_format_names.front());
  std::string idle = "30m";
  std::string tick;
  std::size_t wheel_size = 0;
  std::string sessions;
  std::string json;
};

/// The options that mean something else where they are not given.
struct given_options {
  const CLI::Option* tick;
  const CLI::Option* wheel_size;
  const CLI::Option* sessions;
  const CLI::Option* json;
};

void run_replay(replay_arguments& all, const given_options& given) {
  const auto format = log_format_named(all.format);
  if (!format) {
    throw failure(fmt::format("there is no format '{}'; there are {}", all.format, fmt::join(log_format_names, ", ")));
  }
  all.options.format = *format;
  const auto idle = parse_duration(all.idle);
  if (!idle) throw failure("--idle: " + idle.error());
  all.options.idle = *idle;
  if (given.tick->count() > 0 || given.wheel_size->count() > 0) {
    all.options.wheel = wheel_shape{.slots = all.wheel_size};
  }
  if (given.tick->count() > 0) {
    const auto length = parse_duration(all.tick);
    if (!length) throw failure("--tick: " + length.error());
    all.options.wheel->tick = *length;
  }
  if (given.sessions->count() > 0) all.options.sessions = all.sessions;
  if (given.json->count() > 0) all.options.json = all.json;
  replay(all.options);
}

}  // namespace

void add_replay(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<replay_arguments>();
  CLI::App* line =
      program.add_subcommand("replay", "Find the sessions in access logs, with one idle timer for each client");
  line->add_option("LOG", all->options.logs,
                   "Logs in Common or Combined Log Format, plain or packed by gzip, xz, zstd\nor bzip2, read in the "
                   "order of their "
                   "first lines; - is standard input")
      ->type_name("")
      ->required();
  line->add_option("--format", all->format,
                   fmt::format("The format of the lines: {}; vhost_combined has Apache's\nvirtual host in front, "
                               "and any decides line by line",
                               fmt::join(log_format_names, ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  line->add_option("--idle", all->idle,
                   "A session ends when its client has asked for nothing for this long,\nsuch as 90s, 30m or 1h30m")
      ->type_name("DURATION")
      ->capture_default_str();
  line->add_option(
          "--engine", all->options.engine,
          fmt::format("The engine that keeps the timers: {};\n{} runs each of them, checks that they agree, and "
                      "compares their cost",
                      fmt::join(session_engines(), ", "), all_engines))
      ->type_name("NAME")
      ->capture_default_str();
  const CLI::Option* tick = line->add_option("--tick", all->tick,
                                             "The length of a tick of hashed-wheel and hierarchical-wheel, from 1ns\n"
                                             "to 24h; 1ms unless it is given")
                                ->type_name("DURATION");
  const CLI::Option* wheel_size =
      line->add_option(
              "--wheel-size", all->wheel_size,
              fmt::format(
                  "How many slots hashed-wheel has (512), or each level of\nhierarchical-wheel (20), up to {}; the "
                  "first rounds\nup to a power of two",
                  most_wheel_slots))
          ->type_name("COUNT")
          ->transform(whole_number(1, most_wheel_slots));
  const CLI::Option* sessions =
      line->add_option("--sessions", all->sessions,
                       "Write the sessions to FILE, as comma-separated values;\n- is standard output")
          ->type_name("FILE");
  const CLI::Option* json =
      line->add_option("--json", all->json, "Write the summary to FILE, as JSON; - is standard output")
          ->type_name("FILE");
  line->add_flag("--strict", all->options.strict,
                 "End at the first malformed line, or the first that goes back by more\nthan --idle, with exit code 1");
  line->footer(
      "Time is the log's: a line earlier than one before it counts as now, and is\n"
      "counted as out of order. Malformed lines are skipped, and counted. A line\n"
      "that is earlier by more than --idle is reported. Logs that are not all\n"
      "regular files are read in the order given.\n\n"
      "Exit codes: 0 done, 1 such a line with --strict, or engines that disagree,\n"
      "2 any other error.");
  const given_options given{.tick = tick, .wheel_size = wheel_size, .sessions = sessions, .json = json};
  line->callback([all, given, &chosen] { chosen = [all, given] { run_replay(*all, given); }; });
}

}  // namespace foliot::program

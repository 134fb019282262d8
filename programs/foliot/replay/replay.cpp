#include "replay.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <foliot/core/clock.hpp>

#include "comparison.hpp"
#include "grouped.hpp"
#include "input_file.hpp"
#include "line_reader.hpp"
#include "log_line.hpp"
#include "log_order.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session_csv.hpp"
#include "session_tracker.hpp"
#include "summary.hpp"
#include "text/failure.hpp"
#include "usage.hpp"

namespace foliot::program {

namespace {

/// Something that is written: the option that names it, and where it goes.
struct output {
  std::string name;
  file_identity file;
};

/// All outputs of a run: the files that were asked for, and the summary for people.
std::vector<output> outputs_of(const replay_options& options) {
  std::vector<output> all;
  if (options.sessions) all.push_back({"--sessions", file_identity::of_output(*options.sessions)});
  if (options.json) all.push_back({"--json", file_identity::of_output(*options.json)});
  if (!options.standard_output_taken()) all.push_back({"standard output", file_identity::of_output("-")});
  return all;
}

/// No output may take the place of another one, or of a log.
void check_outputs(const replay_options& options) {
  const std::vector<output> outputs = outputs_of(options);
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    for (auto other = one + 1; other != outputs.end(); ++other) {
      if (same_file(one->file, other->file)) {
        throw failure(fmt::format("{} and {} go to the same file: name two", one->name, other->name));
      }
    }
  }
  for (const std::string& log : options.logs) {
    const file_identity input = file_identity::of_input(log);
    for (const auto& [name, file] : outputs) {
      if (same_file(input, file)) {
        throw failure(fmt::format("{} goes to '{}', which is a log to be read: name another file to write", name,
                                  log == "-" ? "standard input" : log));
      }
    }
  }
}

/// A message of the library without its name, which the program puts before every failure.
std::string_view without_prefix(std::string_view message) {
  constexpr std::string_view prefix = "foliot: ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

}  // namespace

bool replay_options::standard_output_taken() const noexcept {
  return (sessions && output_file::is_standard_output(*sessions)) || (json && output_file::is_standard_output(*json));
}

void check(const replay_options& options) {
  if (options.idle > longest_idle) {
    throw failure(
        fmt::format("--idle {} is too long: it may be at most {}", to_string(options.idle), to_string(longest_idle)));
  }
  const auto engines = session_engines();
  if (options.engine != all_engines && std::ranges::find(engines, options.engine) == engines.end()) {
    throw failure(fmt::format("there is no engine '{}'; there are {}, and {} for each of them", options.engine,
                              fmt::join(engines, ", "), all_engines));
  }
  if (options.wheel && options.engine == all_engines) {
    throw failure("--tick and --wheel-size are for one engine: hashed-wheel or hierarchical-wheel, not all");
  }
  if (options.wheel) {
    try {
      static_cast<void>(session_lateness(options.engine, options.idle, options.wheel));
    } catch (const std::invalid_argument& error) {
      throw failure(fmt::format("--tick and --wheel-size: {}", without_prefix(error.what())));
    }
  }
  if (std::ranges::count(options.logs, "-") > 1) {
    throw failure("standard input can be read only once: name '-' once");
  }
  for (const std::string& log : options.logs) input_file::check(log);
  check_outputs(options);
}

std::uint64_t bytes_to_read(const replay_options& options) {
  std::uint64_t sum = 0;
  for (const std::string& log : options.logs) {
    const auto size = input_file::size(log);
    if (!size) return 0;
    sum += *size;
  }
  return sum;
}

namespace {

constexpr std::uint64_t lines_between_progress = 4096;
constexpr std::uint64_t lines_shown = 3;  // of each kind

/// One run, from the options to the summary.
class run {
 public:
  explicit run(const replay_options& options)
      : options_(options),
        logs_(in_order_of_first_lines(options.logs, options.format)),
        progress_(monotonic_clock::instance(), bytes_to_read(options), standard_error_if_terminal()) {
    if (options_.sessions) {
      sessions_file_.emplace(*options_.sessions);
      sessions_.emplace(*sessions_file_);
    }
    if (options_.json) json_file_.emplace(*options_.json);
    auto keep = [this](ended_session&& session) {
      if (sessions_) sessions_->add(std::move(session));
    };
    if (options_.engine == all_engines) {
      comparison_.emplace(engines_to_compare(options_.idle), options_.idle, keep);
    } else {
      tracker_ = make_session_tracker(options_.engine, options_.idle, keep, options_.wheel);
    }
  }

  void read_logs() {
    for (const std::string& log : logs_) read(log);
    if (tracker_) tracker_->finish();
    if (comparison_) comparison_->finish();
    if (sessions_) sessions_->finish();
    progress_.wipe();
    report_rest();
    if (lines_ > 0 && malformed_ == lines_) {
      const std::string what = options_.format == log_format::any
                                   ? "no line is in a format that foliot reads: common, combined or vhost_combined"
                                   : fmt::format("no line is in the format {}", name_of(options_.format));
      throw failure(breach_ ? fmt::format("{}; the first one is {}", what, *breach_) : what);
    }
  }

  void publish() {
    const replay_summary summary = summarise();
    if (json_file_) json_file_->write(summary_json(summary));
    // The files are complete before the summary says so, and get their names last.
    if (sessions_file_) sessions_file_->finish();
    if (json_file_) json_file_->finish();
    show(summary_text(summary));
    if (sessions_file_) sessions_file_->publish();
    if (json_file_) json_file_->publish();
    for (const engine_result& each : summary.engines) {
      if (!each.agrees()) throw failure(each.disagreement, exit_code::bad_input);
    }
  }

 private:
  void report_rest() const {
    if (options_.strict) return;  // the error names the first one
    if (malformed_ > lines_shown) {
      const std::uint64_t more = malformed_ - lines_shown;
      report(fmt::format("{} more malformed {} skipped", grouped(more), more == 1 ? "line" : "lines"));
    }
    if (backward_.count() > backward_shown_) {
      const std::uint64_t more = backward_.count() - backward_shown_;
      report(fmt::format("{} more {} back by more than --idle", grouped(more), more == 1 ? "line goes" : "lines go"));
    }
  }

  void read(const std::string& log) {
    input_file file(log);
    line_reader lines(file);
    backward_.begin_log(log);
    for (std::uint64_t number = 1; const auto line = lines.next(); ++number) {
      ++lines_;
      if (lines_ % lines_between_progress == 0) progress_.update(bytes_before_ + file.bytes_read(), lines_);
      const auto request = line->too_long ? std::unexpected(malformed::too_long) : parser_.parse(line->text);
      if (request) {
        if (breach_) end_strictly(*breach_);
        if (backward_.add(number, request->time)) go_back(number, request->time);
        handle(*request);
      } else {
        skip(log, number, request.error());
      }
    }
    bytes_before_ += file.bytes_read();
  }

  void handle(const log_request& request) {
    if (tracker_) {
      tracker_->request(request.client, request.time);
    } else {
      comparison_->request(request.client, request.time);
    }
  }

  void skip(const std::string& log, std::uint64_t number, malformed reason) {
    ++malformed_;
    if (malformed_ > lines_shown) return;
    warn(fmt::format("{}:{}: malformed line ({})", shown_log(log), number, to_text(reason)), ", skipped");
  }

  void go_back(std::uint64_t number, instant time) {
    if (backward_shown_ == lines_shown) return;
    const auto what = backward_.sentence(number, time);
    if (!what) return;
    ++backward_shown_;
    warn(*what, "; it counts as that time");
  }

  /// Tells of a line. Throws failure with --strict, but not yet where every line so far is malformed: this may be no
  /// log in the format at all.
  void warn(const std::string& what, std::string_view consequence) {
    if (options_.strict) {
      if (malformed_ < lines_) end_strictly(what);
      if (!breach_) breach_ = what;
      return;
    }
    progress_.wipe();
    report(fmt::format("{}{}", what, consequence));
  }

  [[noreturn]] static void end_strictly(const std::string& what) {
    throw failure(what + "; --strict allows none", exit_code::bad_input);
  }

  replay_summary summarise() const {
    const session_tracker& tracker = tracker_ ? *tracker_ : comparison_->reference();
    replay_summary summary;
    summary.logs = logs_;
    summary.idle = options_.idle;
    summary.engine = options_.engine;
    summary.lines = lines_;
    summary.malformed = malformed_;
    summary.out_of_order = tracker.out_of_order();
    summary.clients = tracker.clients().count();
    summary.clients_exact = tracker.clients().exact();
    summary.sessions = tracker.sessions();
    summary.timers = tracker.timers();
    summary.wall = monotonic_clock::instance().now() - start_;
    summary.peak_memory_bytes = peak_memory_bytes();
    if (comparison_) summary.engines = comparison_->results();
    return summary;
  }

  void show(const std::string& text) const {
    if (options_.standard_output_taken()) {
      static_cast<void>(std::fputs(text.c_str(), stderr));
    } else {
      print(text);
    }
  }

  const replay_options& options_;
  const std::vector<std::string> logs_;
  const instant start_ = monotonic_clock::instance().now();
  progress progress_;
  std::optional<output_file> sessions_file_;
  std::optional<output_file> json_file_;
  std::optional<session_csv> sessions_;
  std::unique_ptr<session_tracker> tracker_;  // null with all_engines
  std::optional<comparison> comparison_;      // only with all_engines
  log_parser parser_{options_.format};
  backward_lines backward_{options_.idle};
  std::uint64_t lines_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t backward_shown_ = 0;
  std::uint64_t bytes_before_ = 0;  // in the logs before this one
  /// With --strict: of the first malformed line, until one comes that is not.
  std::optional<std::string> breach_;
};

}  // namespace

void replay(const replay_options& options) {
  check(options);
  run all(options);
  all.read_logs();
  all.publish();
}

}  // namespace foliot::program

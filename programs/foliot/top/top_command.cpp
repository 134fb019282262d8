// `foliot top`: shows the statistics of a running process' timers or of its runtime, once or repeatedly.
//
// Thread safety: none, one thread.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/prometheus.hpp>
#include <foliot/service/prometheus.hpp>
#include <unistd.h>

#include "commands.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "snapshot.hpp"
#include "table.hpp"
#include "text/duration_text.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

struct top_options {
  std::string path;  ///< of its statistics_socket or runtime_statistics_socket
  bool once = false;
  bool prometheus = false;  ///< in Prometheus' text format, once
  duration interval;        ///< positive
};

// The system closes the sockets of a killed process one after the other, and other processes may run between two of
// them. If a program keeps its socket when its runtime has ended, `foliot top` reports the end after all of these
// looks.
constexpr int most_looks_for_an_end = 20;
constexpr duration between_looks_for_an_end = std::chrono::milliseconds(10);

std::string metrics(const service_snapshot& now) { return prometheus_text(now.statistics); }
std::string metrics(const runtime_snapshot& now) { return prometheus_text(now.statistics); }

/// With rates since the earlier look, if that was at the same kind of statistics.
std::string table_since(const std::string& path, const snapshot& now, const snapshot* then, duration ago) {
  return std::visit(
      [&]<class Statistics>(const Statistics& shown) {
        const auto* const before = then != nullptr ? std::get_if<Statistics>(then) : nullptr;
        if (before == nullptr) return statistics_table(path, shown);
        const earlier_look<Statistics> earlier{*before, ago};
        return statistics_table(path, shown, &earlier);
      },
      now);
}

void sleep_until(instant when) {
  note nobody_wakes;
  nobody_wakes.sleep_until(when);
}

/// The statistics; nothing if the program has ended in order since the last look. One that is killed answers nothing,
/// too, until the system has closed its socket, but leaves it, as a later look finds.
std::optional<snapshot> read_again(const std::string& path, const monotonic_clock& clock) {
  for (int looks = 1;; ++looks) {
    try {
      return read_snapshot(path);
    } catch (const shows_nothing&) {
      std::error_code unknown;
      if (looks == most_looks_for_an_end || !std::filesystem::exists(path, unknown)) return std::nullopt;
    }
    sleep_until(clock.now() + between_looks_for_an_end);
  }
}

/// Writes to standard output until the process ends, or until it is interrupted; a terminal shows the latest table
/// only. Throws failure: also where the process ends and leaves its socket, as one that is killed does.
void top(const top_options& options) {
  if (options.prometheus) {
    return print(std::visit([](const auto& now) { return metrics(now); }, read_snapshot(options.path)));
  }
  if (options.once) return print(table_since(options.path, read_snapshot(options.path), nullptr, {}));

  const monotonic_clock& clock = monotonic_clock::instance();
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  constexpr std::string_view clear_screen = "\x1b[H\x1b[2J";
  std::optional<snapshot> then;
  instant looked;
  for (instant next = clock.now();; next = std::max(next + options.interval, clock.now())) {
    sleep_until(next);
    auto now = then ? read_again(options.path, clock) : read_snapshot(options.path);
    if (!now) return report(fmt::format("the program that was shown at '{}' has ended", options.path));
    const instant at = clock.now();
    print((terminal ? std::string(clear_screen)
           : then   ? "\n"
                    : "") +
          table_since(options.path, *now, then ? &*then : nullptr, at - looked));
    then = std::move(now);
    looked = at;
  }
}

struct top_arguments {
  top_options options;
  std::string interval = "1s";
};

}  // namespace

void add_top(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<top_arguments>();
  CLI::App* line = program.add_subcommand("top", "Look at the timers, the tasks or the jobs of a running program");
  line->add_option("PATH", all->options.path,
                   "Where the program shows them, with a foliot::statistics_socket or a runtime_statistics_socket,\n"
                   "or by foliot serve --statistics")
      ->type_name("")
      ->required();
  CLI::Option* once = line->add_flag("--once", all->options.once, "Look once; by default again and again");
  CLI::Option* interval = line->add_option("--interval", all->interval, "The time between two looks, such as 500ms")
                              ->type_name("DURATION")
                              ->capture_default_str();
  CLI::Option* prometheus =
      line->add_flag("--prometheus", all->options.prometheus, "Look once, and print Prometheus' text format");
  interval->excludes(once)->excludes(prometheus);
  line->footer(
      "Rates are those since the look before. Percentiles are over all that the\n"
      "program has measured since it began, at most 1/32 too high.");
  line->callback([all, &chosen] {
    chosen = [all] {
      const auto length = parse_duration(all->interval);
      if (!length) throw failure("--interval: " + length.error());
      all->options.interval = *length;
      top(all->options);
    };
  });
}

}  // namespace foliot::program

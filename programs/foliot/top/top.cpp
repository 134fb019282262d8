#include "top.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/prometheus.hpp>
#include <foliot/service/prometheus.hpp>
#include <unistd.h>

#include "output_file.hpp"
#include "report.hpp"
#include "snapshot.hpp"
#include "table.hpp"

namespace foliot::program {

namespace {

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

/// The statistics; nothing if the program has ended in order since the last look. One that is killed answers nothing,
/// too, to the look of that moment, but leaves its socket, as the next look finds.
std::optional<snapshot> read_again(const std::string& path) {
  try {
    return read_snapshot(path);
  } catch (const shows_nothing&) {
  }
  try {
    return read_snapshot(path);
  } catch (const shows_nothing&) {
    return std::nullopt;
  }
}

}  // namespace

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
    note nobody_wakes;
    nobody_wakes.sleep_until(next);
    auto now = then ? read_again(options.path) : read_snapshot(options.path);
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

}  // namespace foliot::program

#include "top.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/service/prometheus.hpp>
#include <unistd.h>

#include "../output_file.hpp"
#include "snapshot.hpp"
#include "table.hpp"

namespace foliot::program {

void top(const top_options& options) {
  if (options.prometheus) return print(prometheus_text(read_snapshot(options.path)));
  if (options.once) return print(statistics_table(options.path, read_snapshot(options.path)));

  const monotonic_clock& clock = monotonic_clock::instance();
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  constexpr std::string_view clear_screen = "\x1b[H\x1b[2J";
  std::optional<service_statistics> then;
  instant looked;
  for (instant next = clock.now();; next = std::max(next + options.interval, clock.now())) {
    note nobody_wakes;
    nobody_wakes.sleep_until(next);
    const service_statistics now = read_snapshot(options.path);
    const instant at = clock.now();
    std::string text(terminal ? clear_screen : then ? "\n" : "");
    if (then) {
      const earlier_look earlier{*then, at - looked};
      text += statistics_table(options.path, now, &earlier);
    } else {
      text += statistics_table(options.path, now);
    }
    print(text);
    then = now;
    looked = at;
  }
}

}  // namespace foliot::program

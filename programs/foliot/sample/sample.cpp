#include "sample.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors.hpp"
#include "gzip_writer.hpp"
#include "output_file.hpp"
#include "text/failure.hpp"
#include "world.hpp"

namespace foliot::program {

using namespace std::chrono_literals;

namespace {

constexpr duration day = 24h;

/// The clients. Programs make a small part of the lines, visitors all the rest.
struct population {
  std::uint32_t monitors = 0;
  std::uint32_t feed_readers = 0;
  std::uint32_t crawlers = 0;
  std::uint32_t visitors = 0;
  duration absence;  // of a visitor
};

/// How many clients of one kind make `percent` of the lines, if each makes `lines_a_day`; at most the `share`-th part
/// of all clients.
std::uint32_t programs(const traffic_options& options, unsigned percent, std::uint64_t lines_a_day,
                       std::uint32_t share) noexcept {
  const std::uint64_t wanted = options.lines / 100 * percent / lines_a_day;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, options.clients / share));
}

population populate(const traffic_options& options) noexcept {
  constexpr auto beats_a_day = [](client_kind kind) {
    return static_cast<std::uint64_t>(day / beating_client::beat_of(kind));
  };
  constexpr std::uint64_t monitor_lines = beats_a_day(client_kind::monitor);
  constexpr std::uint64_t feed_lines = beats_a_day(client_kind::feed_reader);
  population all;
  all.monitors = programs(options, 2, monitor_lines, 100);
  all.feed_readers = programs(options, 2, feed_lines, 10);
  all.crawlers = programs(options, 4, crawler::requests_a_day, 50);
  all.visitors = options.clients - all.monitors - all.feed_readers - all.crawlers;

  const std::uint64_t lines_of_programs = all.monitors * monitor_lines + all.feed_readers * feed_lines +
                                          std::uint64_t{all.crawlers} * crawler::requests_a_day;
  const std::uint64_t lines_of_visitors = options.lines - lines_of_programs;
  const std::uint64_t visits = std::max<std::uint64_t>(lines_of_visitors * 10 / visitor::requests_in_ten_visits, 1);
  // A visitor comes every day * visitors / visits, and is there for a part of that. An absence ends only when the hour
  // is busy enough for the visitor to come back.
  __extension__ using wide = __int128;
  const wide between_arrivals = static_cast<wide>(day.count()) * all.visitors / visits;
  const wide away = (between_arrivals - visitor::mean_visit.count()) * world::mean_busy_permille() / 1000;
  constexpr duration shortest = 10s;
  constexpr duration longest = 24h * 1000;
  all.absence =
      duration::nanoseconds(static_cast<std::int64_t>(std::clamp<wide>(away, shortest.count(), longest.count())));
  return all;
}

}  // namespace

void generate_traffic(const traffic_options& options, line_sink sink) {
  const population all = populate(options);
  world home(options, std::move(sink));
  home.timers().reserve(options.clients);
  std::vector<std::unique_ptr<actor>> actors;
  actors.reserve(options.clients);
  const auto add = [&]<class Actor>(std::uint32_t count, client_kind kind, auto... arguments) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const identity who = make_identity(static_cast<std::uint32_t>(actors.size()), kind, home.random());
      actors.push_back(std::make_unique<Actor>(home, who, arguments...));
    }
  };
  add.operator()<beating_client>(all.monitors, client_kind::monitor);
  add.operator()<beating_client>(all.feed_readers, client_kind::feed_reader);
  add.operator()<crawler>(all.crawlers, client_kind::crawler);
  add.operator()<visitor>(all.visitors, client_kind::visitor, all.absence);
  home.run();
}

void sample(const sample_options& options) {
  if (options.traffic.lines > options.traffic.clients * most_lines_per_client) {
    throw failure(fmt::format("--lines {} are too many for --clients {}: in a day each can ask for at most {}",
                              options.traffic.lines, options.traffic.clients, most_lines_per_client));
  }
  output_file out(options.output);
  if (options.output.ends_with(".gz")) {
    gzip_writer packed(out);
    generate_traffic(options.traffic, [&packed](std::string_view line) { packed.write(line); });
    packed.finish();
  } else {
    generate_traffic(options.traffic, [&out](std::string_view line) { out.write(line); });
  }
  out.publish();
}

}  // namespace foliot::program

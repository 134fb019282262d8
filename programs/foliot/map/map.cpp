#include "map.hpp"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
#include <foliot/jobs/database_map.hpp>
#endif

#include "grouped.hpp"
#include "interruption.hpp"
#include "progress.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program {

#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
namespace {

void print_map(jobs::database_map& map) {
  fmt::print("database 0: {}\n", printable(map.place()));
  for (const auto& each : map.databases()) fmt::print("database {}: {}\n", each.number, printable(each.place));
  for (const auto& each : map.places()) {
    if (each.before) {
      fmt::print("tube {} moves from database {} to {}: to go on, repeat --move\n", printable(each.tube), *each.before,
                 each.database);
    } else {
      fmt::print("tube {} is in database {}\n", printable(each.tube), each.database);
    }
  }
  if (!map.databases().empty()) fmt::print("all other tubes are in database 0\n");
}

/// A database that is slow or does not answer is waited for much longer. Wherever the program ends, a repeated move
/// goes on.
constexpr unsigned patience_of_ctrl_c = 2;
constexpr const char* interrupted_in_a_long_step =
    "foliot: interrupted in a step that took longer than 2 seconds; to move the rest, repeat the command\n";

void move(jobs::database_map& map, const map_options& options) {
  const auto& [tube, to] = *options.moved;
  progress shown(
      monotonic_clock::instance(), 0,
      [](std::string_view line) {
        if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "{}", line);
      },
      "jobs");
  jobs::database_map::progress so_far;
  bool has_told = false;
  std::optional<interruptible> while_jobs_move;
  const auto tell = [&](const jobs::database_map::progress& now) {
    if (!while_jobs_move) while_jobs_move.emplace(patience_of_ctrl_c, interrupted_in_a_long_step);
    throw_if_interrupted();  // here it has no job on its way
    so_far = now;
    shown.update(0, now.jobs);
    if (!now.waits) return true;
    if (options.waits && !has_told) {
      has_told = true;
      shown.wipe();
      fmt::print(stderr,
                 "foliot: the rest moves when its workers have given it back; this may be ended, and repeated\n");
    }
    return options.waits;
  };
  try {
    map.move(tube, to, tell);
  } catch (const interrupted&) {
    shown.wipe();
    fmt::print(stderr, "foliot: interrupted; to move the rest, repeat the command\n");
    while_jobs_move.reset();
    die_if_interrupted();
    throw;
  }
  shown.wipe();
  fmt::print("moved {} {} of the tube {} to database {}{}\n", grouped(so_far.jobs), so_far.jobs == 1 ? "job" : "jobs",
             printable(tube), to,
             so_far.waits && !options.waits ? "; workers have others: repeat the command later" : "");
}

}  // namespace

void show_or_change_map(const map_options& options) {
  try {
    jobs::database_map map(options.first);
    if (!options.added.empty()) fmt::print("added database {}\n", map.add(options.added));
    if (options.renamed) {
      const auto& [number, connection] = *options.renamed;
      map.rename(number, connection);
      fmt::print("renamed database {}: nodes that are running use the new string for their next connection\n", number);
    }
    if (options.removed) {
      map.remove(*options.removed, options.is_lost);
      fmt::print("removed database {}\n", *options.removed);
    }
    if (options.moved) move(map, options);
    print_map(map);
  } catch (const jobs::store_failure& error) {
    throw failure(error.what());
  } catch (const std::invalid_argument& error) {
    throw failure(error.what());
  }
}
#else
void show_or_change_map(const map_options&) {
  throw failure("this program was built without libpq, which the map of databases needs");
}
#endif

}  // namespace foliot::program

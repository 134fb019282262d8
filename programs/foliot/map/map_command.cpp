// The map of tubes to databases, on the command line: foliot/jobs/database_map.hpp.
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <unistd.h>
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
#include <foliot/jobs/database_map.hpp>
#endif

#include "commands.hpp"
#include "grouped.hpp"
#include "interruption.hpp"
#include "progress.hpp"
#include "server/core/tube_name.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

struct map_options {
  std::string first;                                   ///< the database that has the map
  std::string added;                                   ///< empty: none is to be added
  std::optional<std::pair<int, std::string>> renamed;  ///< a database, and its new connection string
  std::optional<int> removed;                          ///< a database
  bool is_lost = false;                                ///< the one that is removed, for ever
  std::optional<std::pair<std::string, int>> moved;    ///< a tube, and where it goes
  bool waits = true;                                   ///< for the jobs that workers have
};

#if defined(FOLIOT_HAS_POSTGRESQL_STORE)

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

/// Does it, and prints the map. Throws failure.
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

struct map_arguments {
  map_options options;
  std::vector<std::string> renamed;
  std::string removed;
  std::vector<std::string> moved;
  bool ends_early = false;
};

/// The number of a database. Throws failure.
int number_of(const std::string& text, const char* option) {
  int number = -1;
  if (!CLI::detail::lexical_cast(text, number) || number < 0 || number > 63) {
    throw failure(fmt::format("{}: '{}' is not the number of a database, from 0 to 63", option, text));
  }
  return number;
}

/// The connection string of a database. Throws failure where it is empty: libpq would choose a database.
const std::string& database_of(const std::string& text, const char* argument) {
  if (text.empty()) throw failure(fmt::format("{} '' is no database: write postgresql://HOST/NAME", argument));
  return text;
}

/// A tube that clients of foliot serve can name. Throws failure.
const std::string& tube_of(const std::string& text) {
  if (!is_tube_name(text)) {
    throw failure(
        fmt::format("--move: '{}' is not the name of a tube: 1 to 200 letters, digits or -+/;.$_(), the first of "
                    "them no -",
                    printable(text)));
  }
  return text;
}

}  // namespace

void add_map(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<map_arguments>();
  CLI::App* line = program.add_subcommand("map", "Spread the tubes of foliot serve over several databases");
  line->add_option("DATABASE", all->options.first,
                   "The first database, as the nodes name it with --store:\nit has the map")
      ->type_name("")
      ->required();
  const CLI::Option* const added = line->add_option("--add", all->options.added,
                                                    "Add this database, for which `foliot serve --migrate` was\n"
                                                    "called, and which has no jobs. All nodes must reach it under\n"
                                                    "this name")
                                       ->type_name("DATABASE");
  line->add_option("--rename", all->renamed,
                   "Change the connection string of the database with this\n"
                   "number. It must be the same database")
      ->type_name("NUMBER DATABASE")
      ->expected(2);
  const CLI::Option* const removed =
      line->add_option("--remove", all->removed,
                       "Take the database with this number, which has no tubes, out of\nthe map")
          ->type_name("NUMBER");
  line->add_flag("--lost", all->options.is_lost, "Do not ask the database that is removed: it will never\nanswer again")
      ->needs("--remove");
  line->add_option("--move", all->moved, "Move a tube to the database with this number")
      ->type_name("TUBE NUMBER")
      ->expected(2);
  line->add_flag("--no-wait", all->ends_early, "Do not wait for jobs that workers have")->needs("--move");
  line->footer(
      "Without options it shows the map.\n"
      "\n"
      "  foliot map postgresql://db1/jobs --add postgresql://db2/jobs\n"
      "  foliot map postgresql://db1/jobs --move mails 1\n"
      "\n"
      "Nodes and clients go on meanwhile. A move may be ended at any time and repeated:\n"
      "no job is lost, and none is doubled.");
  line->callback([all, added, removed, &chosen] {
    const bool adds = added->count() > 0;
    const bool removes = removed->count() > 0;
    chosen = [all, adds, removes] {
      database_of(all->options.first, "DATABASE");
      if (adds) database_of(all->options.added, "--add");
      if (!all->renamed.empty()) {
        all->options.renamed = {number_of(all->renamed[0], "--rename"), database_of(all->renamed[1], "--rename")};
      }
      if (removes) all->options.removed = number_of(all->removed, "--remove");
      if (!all->moved.empty()) all->options.moved = {tube_of(all->moved[0]), number_of(all->moved[1], "--move")};
      all->options.waits = !all->ends_early;
      show_or_change_map(all->options);
    };
  });
}

}  // namespace foliot::program

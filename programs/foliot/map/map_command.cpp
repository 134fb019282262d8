#include "commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "map.hpp"
#include "server/core/tube_name.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

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

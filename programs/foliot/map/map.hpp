// The map of tubes to databases, on the command line: foliot/jobs/database_map.hpp.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace foliot::program {

struct map_options {
  std::string first;                                   ///< the database that has the map
  std::string added;                                   ///< empty: none is to be added
  std::optional<std::pair<int, std::string>> renamed;  ///< a database, and its new connection string
  std::optional<int> removed;                          ///< a database
  bool is_lost = false;                                ///< the one that is removed, for ever
  std::optional<std::pair<std::string, int>> moved;    ///< a tube, and where it goes
  bool waits = true;                                   ///< for the jobs that workers have
};

/// Does it, and prints the map. Throws failure.
void show_or_change_map(const map_options& options);

}  // namespace foliot::program

// Which database has which tube, where there are several: what a node has read of the map (sql/map.sql).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "call.hpp"

namespace foliot::jobs::detail {

/// Where the jobs of a tube are. New ones come to `database`; if it moves, older ones may be in `before`, and jobs only
/// go from there to `database`.
struct tube_place {
  int database = 0;
  std::optional<int> before = std::nullopt;

  friend bool operator==(const tube_place&, const tube_place&) = default;
};

class tube_map {
 public:
  using database_list = std::map<int, std::string>;
  using place_list = std::map<std::string, tube_place, std::less<>>;

  /// There is but the first database, which has the number 0.
  tube_map() = default;
  tube_map(database_list databases, place_list places) : databases_(std::move(databases)), places_(std::move(places)) {}
  /// From the replies of foliot.read_databases() and foliot.read_places().
  tube_map(const reply& databases, const reply& places) {
    const auto numbers = databases.integers(0, 0);
    const auto connections = databases.texts(0, 1);
    for (std::size_t i = 0; i < numbers.size(); ++i) databases_[static_cast<int>(numbers[i])] = connections[i];
    const auto tubes = places.texts(0, 0);
    const auto nows = places.integers(0, 1);
    const auto befores = places.integers(0, 2);
    for (std::size_t i = 0; i < tubes.size(); ++i) {
      tube_place& made = places_[tubes[i]];
      made.database = static_cast<int>(nows[i]);
      if (befores[i] >= 0) made.before = static_cast<int>(befores[i]);
    }
  }

  /// The connection strings of the databases except the first one, by their numbers.
  [[nodiscard]] const database_list& databases() const noexcept { return databases_; }
  /// The tubes that are not in the first database, or move.
  [[nodiscard]] const place_list& places() const noexcept { return places_; }
  /// O(log n) for n tubes that are not in the first database.
  [[nodiscard]] tube_place place_of(std::string_view tube) const {
    const auto found = places_.find(tube);
    return found == places_.end() ? tube_place{} : found->second;
  }

 private:
  database_list databases_;
  place_list places_;
};

}  // namespace foliot::jobs::detail

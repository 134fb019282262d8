#include "listener_set.hpp"

#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <foliot/core/readiness.hpp>

namespace foliot::jobs::detail {

void listener_set::add(int database, other_nodes& news) {
  const lock held(lock_);
  any_.add(news.descriptor(), readiness::readable, static_cast<std::uint64_t>(database));
  all_[database] = &news;
}

void listener_set::remove(int database, const other_nodes& news) noexcept {
  const lock held(lock_);
  any_.remove(news.descriptor());
  all_.erase(database);
}

void listener_set::set_map(std::shared_ptr<const tube_map> map) {
  const lock held(lock_);
  map_ = std::move(map);
}

void listener_set::tell(std::span<const std::string> tubes) noexcept {
  const lock held(lock_);
  for (const auto& [database, nodes] : all_) {
    try {
      std::vector<std::string> here;
      for (const std::string& each : tubes) {
        const tube_place place = map_->place_of(each);
        if (place.database == database || place.before == database) here.push_back(each);
      }
      if (!here.empty()) nodes->tell(here);
    } catch (...) {  // no memory: the other nodes find the jobs by their scans
    }
  }
}

news listener_set::take_news() {
  const lock held(lock_);
  news all;
  std::set<std::string> tubes;
  for (const auto& [database, nodes] : all_) {
    news some = nodes->take_news();
    all.any_tube = all.any_tube || some.any_tube;
    tubes.insert(std::make_move_iterator(some.tubes.begin()), std::make_move_iterator(some.tubes.end()));
  }
  all.tubes.assign(tubes.begin(), tubes.end());
  return all;
}

}  // namespace foliot::jobs::detail

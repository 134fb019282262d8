// How a router follows the map: which databases it has, and how it reaches them. See database_router.hpp.
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "database_router.hpp"
#include "jobs/execution_news.hpp"

namespace foliot::jobs::detail {

void database_router::read_map_if_changed(batch_state& state) {
  if (state.newer.empty() || !try_to_read_map()) return;
  for (const auto& [number, version] : state.newer) {
    if (const auto one = members_.find(number); one != members_.end()) one->second.map_version = version;
  }
  state.newer.clear();
}

bool database_router::try_to_read_map() {
  member& one = members_.at(0);
  if (!one.is_up) return false;
  try {
    read_map();
    return true;
  } catch (const store_unavailable& error) {
    note_down(0, one, error.what());
  } catch (const node_name_taken&) {
    throw;
  } catch (const store_failure& error) {
    note_down(0, one, error.what());
  }
  return false;
}

tube_map database_router::map_now() {
  if (members_.size() == 1) return first().read_map();
  members_.at(0).worker->begin_to_read_map();
  round_outcome got = wait_for({0});
  batch_state none;
  conclude_heartbeats(got, none);
  add_news(aside_, none.done);
  share_outcome& read = got.shares.at(0);
  if (read.failure != nullptr) std::rethrow_exception(read.failure);
  return *std::move(read.map_read);
}

void database_router::read_map() {
  map_ = std::make_shared<const tube_map>(map_now());
  members_.at(0).next = first().next();
  if (listeners_) listeners_->set_map(map_);
  leave_removed();
  for (const auto& [number, connection] : map_->databases()) {
    const auto one = members_.find(number);
    if (one != members_.end() && one->second.worker->database() != connection)
      reach_by(number, one->second, connection);
  }
  open_members();
}

void database_router::reach_by(int number, member& one, const std::string& connection) {
  if (one.is_tried) static_cast<void>(one.worker->wait());
  try {
    one.worker->connect_to(connection);
  } catch (const store_failure& error) {
    if (options_.warn) {
      options_.warn("the new connection string of the database " + std::to_string(number) +
                    " of the map is of no use: " + error.what());
    }
  }
}

void database_router::leave_removed() {
  std::erase_if(members_, [this](auto& each) {
    auto& [number, one] = each;
    if (number == 0 || map_->databases().contains(number)) return false;
    if (one.is_tried) static_cast<void>(one.worker->take());
    if (one.is_listened_to) listeners_->remove(number, *one.worker->node()->others());
    try {
      if (one.is_up) one.worker->node()->close();
    } catch (const store_failure&) {  // it has no job that could be given back
    }
    return true;
  });
}

void database_router::open_members() {
  std::set<int> opened;
  for (const auto& [number, connection] : map_->databases()) {
    if (members_.contains(number)) continue;
    postgresql_options its = options_;
    its.database = connection;
    member& one = members_[number];
    one.worker = std::make_unique<database_worker>(std::move(its), access_);
    one.worker->begin({});
    one.is_up = true;  // until it turns out that it is not
    opened.insert(number);
  }
  if (opened.empty()) return;
  round_outcome got = wait_for(std::move(opened));
  batch_state none;
  for (auto& [number, outcome] : got.shares) {
    conclude_attempt(number, members_.at(number), std::move(outcome), none);
  }
  conclude_heartbeats(got, none);
  add_news(aside_, none.done);
}

}  // namespace foliot::jobs::detail

#include "routed_batch.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace foliot::jobs::detail {

routed_batch::routed_batch(std::span<operation> batch, std::shared_ptr<const tube_map> map, std::size_t first)
    : batch_(batch), map_(std::move(map)) {
  operations_.reserve(batch.size());
  for (operation& each : batch) operations_.emplace_back(each, *map_, first);
}

std::optional<int> routed_batch::only_database() const {
  if (operations_.empty() || !operations_.front().is_under_way()) return std::nullopt;
  const int database = *operations_.front().next().begin();
  const auto is_whole = [&](const routed_operation& each) { return each.is_whole_for(database, *map_); };
  return std::ranges::all_of(operations_, is_whole) ? std::optional(database) : std::nullopt;
}

routed_batch::round routed_batch::next_round() {
  round made;
  if (const std::optional<int> database = only_database()) {
    for (routed_operation& each : operations_) each.reduce();
    share& all = made[*database];
    all.operations = batch_;
    all.of.resize(batch_.size());
    std::iota(all.of.begin(), all.of.end(), std::size_t{0});
    return made;
  }
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    for (const int database : operations_[i].next()) {
      share& its = made[database];
      if (its.of.empty()) {
        its.moved.reserve(operations_.size());
        its.of.reserve(operations_.size());
      }
      its.moved.push_back(operations_[i].share(database, *map_));
      its.of.push_back(i);
    }
  }
  for (auto& [database, its] : made) its.operations = its.moved;
  return made;
}

void routed_batch::take(int database, share& executed, std::vector<answer>& answers, const map_state& shown) {
  auto elsewhere = shown.elsewhere.begin();
  for (std::size_t i = 0; i < executed.of.size(); ++i) {
    routed_operation& it = operations_[executed.of[i]];
    it.take_back(std::move(executed.operations[i]));
    if (elsewhere != shown.elsewhere.end() && *elsewhere == i) {
      ++elsewhere;
      it.take_elsewhere(database);
    } else {
      it.take(database, std::move(answers[i]), shown.sends);
    }
  }
}

void routed_batch::take_refusal(int database, share& refused, bool is_in_doubt, const std::string& why) {
  for (std::size_t i = 0; i < refused.of.size(); ++i) {
    routed_operation& it = operations_[refused.of[i]];
    it.take_back(std::move(refused.operations[i]));
    it.take_refusal(database, is_in_doubt, why);
  }
}

void routed_batch::follow(std::shared_ptr<const tube_map> map) {
  map_ = std::move(map);
  for (routed_operation& each : operations_) each.follow(*map_);
}

void routed_batch::take_doubt(int database, const std::string& why) {
  for (routed_operation& each : operations_) {
    if (each.next().contains(database)) each.take_doubt(why);
  }
}

void routed_batch::go_on() {
  for (routed_operation& each : operations_) {
    if (each.is_under_way()) each.go_on();
  }
}

bool routed_batch::has_unplaced() const {
  return std::ranges::any_of(operations_, [](const routed_operation& each) { return each.is_unplaced(); });
}

void routed_batch::begin_again(std::shared_ptr<const tube_map> map) {
  map_ = std::move(map);
  for (routed_operation& each : operations_) {
    if (each.is_unplaced()) each.begin_again(*map_);
  }
}

std::vector<answer> routed_batch::answers() {
  std::vector<answer> all;
  all.reserve(operations_.size());
  for (routed_operation& each : operations_) all.push_back(each.result());
  return all;
}

}  // namespace foliot::jobs::detail

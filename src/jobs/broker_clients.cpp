// Clients and their tubes: see broker_core.hpp.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/limits.hpp>

#include "broker_core.hpp"

namespace foliot::jobs::detail {

void broker_core::check_open() const {
  if (closing_) throw broker_closed("foliot: the broker is being closed, and accepts nothing more");
}

void broker_core::enter() {
  const lock held(lock_);
  if (failed_) throw store_failure(failure_);
  check_open();
  if (clients_ >= limits_.clients) {
    throw broker_full("foliot: the broker has " + std::to_string(clients_) +
                      " clients, which is its limit: try again when one has gone");
  }
  ++clients_;
  is_used_ = true;
}

void broker_core::leave(std::unique_ptr<client_state> of) noexcept {
  const lock held(lock_);
  client_state& client = *of;
  FOLIOT_ASSERT(client.now == client_state::phase::idle, "a client must not be destroyed while it waits for a job");
  while (!client.watched.empty()) unwatch(client, *client.watched.back());
  unuse(client);
  held_.give_back_all(std::move(of));
  --clients_;
  wake_runner_for_work();
  if (closing_) runner_event_.set();
}

/// The tube of this name, for a new user or watcher.
tube_record& broker_core::tube_for(std::string_view name) {
  if (name.empty() || name.size() > longest_tube_name || name.find('\0') != std::string_view::npos) {
    throw std::invalid_argument("foliot: a tube's name must have 1 to " + std::to_string(longest_tube_name) +
                                " bytes, none of them zero; got " + std::to_string(name.size()));
  }
  if (tube_record* const found = tubes_.find(name)) return *found;
  if (tubes_.size() >= limits_.tubes) {
    throw broker_full("foliot: clients use or watch " + std::to_string(tubes_.size()) +
                      " tubes, which is the broker's limit: use one of them");
  }
  return tubes_.get(name);
}

void broker_core::use(client_state& client, std::string_view tube) {
  const lock held(lock_);
  tube_record* const next = tube.empty() ? nullptr : &tube_for(tube);
  if (next != nullptr) ++next->users;
  unuse(client);
  client.used = next;
  wake_runner_for_work();
}

void broker_core::unuse(client_state& client) noexcept {
  tube_record* const before = std::exchange(client.used, nullptr);
  if (before == nullptr) return;
  --before->users;
  forget_if_unused(*before);
}

void broker_core::watch(client_state& client, std::string_view tube) {
  const lock held(lock_);
  if (client.now != client_state::phase::idle) {
    throw std::logic_error("foliot: the client waits for a job: watch another tube before or after the wait");
  }
  for (const auto& each : client.watched) {
    if (each->tube.name == tube) return;
  }
  client.watched.reserve(client.watched.size() + 1);
  client.tubes.reserve(client.tubes.size() + 1);
  tube_record& added = tube_for(tube);
  ++added.watchers;
  try {
    client.watched.push_back(std::make_unique<watching>(added, client));
  } catch (...) {
    --added.watchers;
    forget_if_unused(added);
    throw;
  }
  client.tubes.insert(std::ranges::upper_bound(client.tubes, &added), &added);
}

void broker_core::ignore(client_state& client, std::string_view tube) {
  const lock held(lock_);
  if (client.now != client_state::phase::idle) {
    throw std::logic_error("foliot: the client waits for a job: ignore a tube before or after the wait");
  }
  for (const auto& each : client.watched) {
    if (each->tube.name != tube) continue;
    unwatch(client, *each);
    break;
  }
  wake_runner_for_work();
}

void broker_core::unwatch(client_state& client, watching& one) noexcept {
  tube_record& tube = one.tube;
  client.tubes.erase(std::ranges::find(client.tubes, &tube));
  client.watched.erase(std::ranges::find(client.watched, &one, [](const auto& each) { return each.get(); }));
  --tube.watchers;
  forget_if_unused(tube);
}

std::optional<reservation> broker_core::held(const client_state& client, job_id id) const {
  const lock held(lock_);
  const holding* const found = held_.find(id, client);
  return found == nullptr ? std::nullopt : std::optional(found->token);
}

std::size_t broker_core::reservations(const client_state& client) const noexcept {
  const lock held(lock_);
  return client.deadlines.size();
}

instant broker_core::next_deadline(const client_state& client) const noexcept {
  const lock held(lock_);
  return client.deadlines.empty() ? instant::never() : client.deadlines.begin()->first;
}

broker_counters broker_core::counters() const noexcept {
  const lock held(lock_);
  broker_counters now;
  now.batches = batches_;
  now.unavailable = refused_;
  now.refused = refused_operations_;
  now.is_unavailable = is_unavailable_;
  now.expired = expired_;
  now.operations = operations_;
  now.queued = queued_;
  now.queued_bytes = queued_bytes_;
  now.clients = clients_;
  now.waiting = waiting_count_;
  now.reservations = held_.size();
  now.tubes = tubes_.size();
  return now;
}

tube_clients broker_core::clients_of(std::string_view tube) const {
  const lock held(lock_);
  const tube_record* const found = tubes_.find(tube);
  return found == nullptr ? tube_clients{} : tube_clients{found->users, found->watchers, found->waiting};
}

std::vector<std::string> broker_core::tubes_in_use() const {
  const lock held(lock_);
  return tubes_.names();
}

}  // namespace foliot::jobs::detail

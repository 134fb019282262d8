#include "running_brokers.hpp"

#include <exception>
#include <utility>

namespace foliot::program {

running_brokers::running_brokers(const std::vector<jobs::job_store*>& stores, const jobs::broker_limits& limits)
    : ended_(stores.size()) {
  for (jobs::job_store* const each : stores) all_.push_back(std::make_unique<jobs::broker>(*each, limits, &events_));
  runs_.reserve(all_.size());
}

void running_brokers::start() {
  for (const auto& each : all_) runs_.push_back(runtime::spawn(run(*each, ended_), "the broker"));
}

brokers running_brokers::all() const {
  std::vector<jobs::broker*> found;
  for (const auto& each : all_) found.push_back(each.get());
  return brokers(std::move(found));
}

task<bool> running_brokers::works(jobs::broker& one) {
  const jobs::broker_counters before = one.counters();
  if (before.clients == 0) co_return true;
  try {
    jobs::peek nothing;
    nothing.with_body = false;
    auto looking = one.execute(std::move(nothing));
    static_cast<void>(co_await looking);
  } catch (const jobs::store_unavailable&) {
    // It has been asked, and an outage is no reason to end.
  } catch (const jobs::broker_full&) {
    if (one.counters().batches == before.batches) co_return false;
  }
  co_return true;
}

task<bool> running_brokers::all_work() const {
  std::vector<runtime::join_handle<bool>> asked;
  asked.reserve(all_.size());
  for (const auto& each : all_) asked.push_back(runtime::spawn(works(*each), "asks a broker"));
  bool all = true;
  std::exception_ptr failure;
  for (auto& each : asked) {
    try {
      const bool one = co_await each.join();
      all = all && one;
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  co_return all;
}

task<> running_brokers::run(jobs::broker& one, runtime::channel<ended_run> ended) {
  std::exception_ptr failure;
  try {
    co_await one.run();
  } catch (...) {
    failure = std::current_exception();
  }
  static_cast<void>(ended.try_send(ended_run{}));
  if (failure != nullptr) std::rethrow_exception(failure);
}

task<std::exception_ptr> running_brokers::end() {
  for (const auto& each : all_) each->close();
  std::exception_ptr failure;
  for (auto& each : runs_) {
    try {
      co_await each.join();
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  co_return failure;
}

}  // namespace foliot::program

// A node over PostgreSQL whose connections break where a test says.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>

#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "broken_connection.hpp"
#include "jobs/postgresql/postgresql_node.hpp"

namespace foliot_test {

/// A store whose connections break at chosen exchanges.
class broken_node {
 public:
  explicit broken_node(const foliot::jobs::postgresql_options& options)
      : store_(node::as_store(std::make_unique<node>(
            options, [this](int socket, foliot::jobs::detail::exchange_point) { step(socket); }))) {}
  [[nodiscard]] foliot::jobs::job_store& operator*() { return *store_; }
  /// Is called at each exchange, with its number.
  std::function<void(int)> at_exchange;
  /// The n-th exchange from now on breaks its connection, and so do all that follow.
  void break_from(int n) { break_at({n}, true); }
  void heal() { at_.clear(); }
  /// These exchanges break their connections, counted from 1; and all that follow the last one.
  void break_at(std::set<int> exchanges, bool and_later = false) {
    exchange_ = 0;
    at_ = std::move(exchanges);
    and_later_ = and_later;
  }

 private:
  using node = foliot::jobs::detail::postgresql_node;

  void step(int socket) {
    ++exchange_;
    if (at_exchange) at_exchange(exchange_);
    const bool is_later = and_later_ && !at_.empty() && exchange_ > *at_.rbegin();
    if (at_.contains(exchange_) || is_later) foliot_test::break_connection(socket);
  }

  int exchange_ = 0;
  std::set<int> at_;
  bool and_later_ = false;
  std::unique_ptr<foliot::jobs::postgresql_store> store_;
};

}  // namespace foliot_test

// Any timer_queue as a tested_queue.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <foliot/queue/timer_queue.hpp>

#include "tested_queue.hpp"

namespace foliot::conformance {

/// How late `Queue` may be with a timer that is `timeout` away.
template <timer_queue Queue>
constexpr duration lateness(duration timeout) {
  if constexpr (requires { Queue::lateness_of(timeout); }) {
    return Queue::lateness_of(timeout);
  } else {
    return Queue::precision;
  }
}

template <timer_queue Queue>
class tested final : public tested_queue {
 public:
  explicit tested(std::size_t timers) : nodes_(timers) {
    for (std::size_t i = 0; i < timers; ++i) {
      nodes_[i] = std::make_unique<node>();
      nodes_[i]->index = i;
    }
  }
  ~tested() override {
    while (queue_.pop_any() != nullptr) {
    }
  }

  void start(std::size_t timer, instant deadline) override { queue_.start(*nodes_[timer], deadline); }
  bool stop(std::size_t timer) override { return queue_.stop(*nodes_[timer]); }
  bool reset(std::size_t timer, instant deadline) override { return queue_.reset(*nodes_[timer], deadline); }
  expiry expire(instant now, budget limit, const sink& fire) override {
    return queue_.expire(now, limit,
                         [&](typename Queue::node_type& due) { fire(static_cast<const node&>(due).index); });
  }
  std::optional<std::size_t> pop_any() override {
    const auto* const popped = static_cast<node*>(queue_.pop_any());
    return popped == nullptr ? std::nullopt : std::optional(popped->index);
  }
  void reserve(std::size_t count) override { queue_.reserve(count); }
  bool forward(instant now) override {
    if constexpr (requires { queue_.forward(now); }) {
      return queue_.forward(now);
    } else {
      return false;
    }
  }

  [[nodiscard]] instant next_deadline() const override { return queue_.next_deadline(); }
  [[nodiscard]] std::size_t size() const override { return queue_.size(); }
  [[nodiscard]] check_result check() const override { return queue_.check(); }
  [[nodiscard]] bool pending(std::size_t timer) const override { return nodes_[timer]->pending(); }
  [[nodiscard]] instant deadline(std::size_t timer) const override { return nodes_[timer]->deadline(); }

  void destroy(std::size_t timer) override { nodes_[timer].reset(); }

 private:
  struct node : Queue::node_type {
    std::size_t index = 0;
  };

  std::vector<std::unique_ptr<node>> nodes_;  // each on its own, so that AddressSanitizer sees a destroyed one used
  mutable Queue queue_;                       // next_deadline() of the concept is not const
};

template <timer_queue Queue>
constexpr bool may_pause = requires { requires Queue::turns_may_pause; };

template <timer_queue Queue>
inline constexpr queue_kind kind_of{
    .name = Queue::name,
    .precision = Queue::precision,
    .ties_in_start_order = Queue::ties_in_start_order,
    .next_deadline_exact = Queue::next_deadline_exact,
    .turns_may_pause = may_pause<Queue>,
    .lateness = lateness<Queue>,
    .make = [](std::size_t timers) -> std::unique_ptr<tested_queue> { return std::make_unique<tested<Queue>>(timers); },
};

}  // namespace foliot::conformance

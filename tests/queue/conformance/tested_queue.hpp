// A queue and its timers behind virtual functions, with timers named by their numbers. The conformance suite uses
// queues through this interface, so it is compiled once and not once for each queue. `tested` (kind_of.hpp) implements
// it for any timer_queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/contract.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::conformance {

/// The operations of timer_queue (<foliot/queue/timer_queue.hpp>).
class tested_queue {
 public:
  using sink = std::function<void(std::size_t timer)>;

  tested_queue() = default;
  virtual ~tested_queue() = default;
  tested_queue(const tested_queue&) = delete;
  tested_queue& operator=(const tested_queue&) = delete;

  virtual void start(std::size_t timer, instant deadline) = 0;
  virtual bool stop(std::size_t timer) = 0;
  virtual bool reset(std::size_t timer, instant deadline) = 0;
  virtual expiry expire(instant now, budget limit, const sink& fire) = 0;
  virtual std::optional<std::size_t> pop_any() = 0;
  virtual void reserve(std::size_t count) = 0;
  /// False also where the queue has no such function.
  virtual bool forward(instant now) = 0;

  [[nodiscard]] virtual instant next_deadline() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual check_result check() const = 0;
  [[nodiscard]] virtual bool pending(std::size_t timer) const = 0;
  [[nodiscard]] virtual instant deadline(std::size_t timer) const = 0;

  /// Destroys the node of a timer, which must not be used again.
  virtual void destroy(std::size_t timer) = 0;
};

/// The constants of a queue's type, and its constructor.
struct queue_kind {
  std::string_view name;
  duration precision;
  bool ties_in_start_order;
  bool next_deadline_exact;
  bool turns_may_pause;
  /// How late a timer may fire that is `timeout` away.
  duration (*lateness)(duration timeout);
  /// An empty queue, and timers with the numbers below `timers`. The queue is emptied before it is destroyed.
  std::unique_ptr<tested_queue> (*make)(std::size_t timers);

  friend std::ostream& operator<<(std::ostream& out, const queue_kind& kind) { return out << kind.name; }
};

/// Names the cases of a suite after their queues. GoogleTest allows letters, digits and underscores alone.
struct kind_name {
  template <class Info>
  std::string operator()(const Info& info) const {
    std::string name(info.param.name);
    std::ranges::replace(name, '-', '_');
    return name;
  }
};

/// The queues that the suite runs over: those of all_queues.hpp, or those of wheel_shapes.cpp. The linker decides.
[[nodiscard]] std::span<const queue_kind> tested_queues();
/// Queues of which a test may make half a million.
[[nodiscard]] std::span<const queue_kind> light_queues();
/// The light queues, and foliot's queue as it ships.
[[nodiscard]] std::span<const queue_kind> fuzzed_queues();

}  // namespace foliot::conformance

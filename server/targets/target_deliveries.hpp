// What requests about targets need of the part of the server that delivers: whether a plan is allowed, how the
// deliveries go, and a delivery for a try. The server may be built without it.
//
// Thread safety: any task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/runtime/task.hpp>

#include "target_plan.hpp"
#include "target_record.hpp"

namespace foliot::program {

/// A delivery that has ended.
struct known_delivery {
  jobs::utc_time at{};  ///< of its begin
  jobs::job_id job = 0;
  std::string key{};
  std::string message{};      ///< `webhook-id`
  std::uint32_t attempt = 0;  ///< from 1 on
  std::string outcome{};      ///< a word of webhooks::outcome
  int status = 0;
  jobs::milliseconds took{};
  std::string reason{};
  std::string answer{};  ///< the first bytes of the answer's body, as text
  std::string address{};
  /// What has become of the job: `done`, `again` (at `next`), `buried`, `kept`, or `lost` if its reservation had ended.
  std::string job_outcome{};
  std::optional<jobs::utc_time> next{};
};

/// How the deliveries of a target go, on this node, since it has the target.
struct delivery_state {
  std::string circuit = "closed";  ///< or `open`, `half_open`
  /// The target has answered 410, which the record does not say yet: nothing is delivered.
  bool is_gone = false;
  /// Why nothing is delivered although the target is enabled: its secret is missing, or it is not allowed any more.
  std::string hindrance{};
  std::size_t under_way = 0;
  std::size_t failures = 0;  ///< in a row
  std::optional<jobs::utc_time> closed_until{};
  std::optional<jobs::utc_time> held_until{};
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;  ///< deliveries
  std::uint64_t buried = 0;  ///< jobs
};

/// Of all targets of this node, since its start.
struct delivery_figures {
  std::uint64_t delivered = 0;
  std::uint64_t rejected = 0;
  std::uint64_t gone = 0;
  std::uint64_t not_sent = 0;
  std::uint64_t unknown = 0;
  std::uint64_t forbidden = 0;
  std::size_t under_way = 0;
  std::size_t targets = 0;  ///< now
  std::size_t disabled = 0;
  std::size_t hindered = 0;
  std::size_t open_circuits = 0;
};

class target_deliveries {
 public:
  /// So many of the last deliveries of a target are known, and so many of all together, but for ten of each.
  static constexpr std::size_t most_known = 100;
  static constexpr std::size_t most_known_of_all = 10'000;

  target_deliveries() = default;
  target_deliveries(const target_deliveries&) = delete;
  target_deliveries& operator=(const target_deliveries&) = delete;

  /// What is wrong with a plan that could be read: the URL is none, the operator does not allow it, or has no such
  /// secret.
  [[nodiscard]] virtual std::optional<target_fault> fault_of(const target_plan& plan) const = 0;
  /// A target is about to be made: from now on nobody reserves from the tube.
  virtual void expect(const std::string& tube) = 0;
  /// A record has changed.
  virtual void wake() noexcept = 0;
  /// Looks at the records: what was changed before the call is in force on this node when it returns. Does nothing more
  /// than wake() if the store does not answer. Throws `cancelled`.
  [[nodiscard]] virtual task<> apply() = 0;
  /// Forgets that the target has answered 410, if that is not in its record.
  virtual void enable(const std::string& tube) = 0;
  /// Nothing if this node has no such target.
  [[nodiscard]] virtual std::optional<delivery_state> state_of(const std::string& tube) const = 0;
  /// The latest first.
  [[nodiscard]] virtual std::vector<known_delivery> last_of(const std::string& tube) const = 0;
  /// Delivers a message of its own, whatever the state of the target, behind those of the same kind: of no job. Throws
  /// `cancelled`.
  [[nodiscard]] virtual task<known_delivery> try_out(std::string tube, target_plan plan) = 0;
  [[nodiscard]] virtual delivery_figures figures() const = 0;

 protected:
  ~target_deliveries() = default;
};

}  // namespace foliot::program

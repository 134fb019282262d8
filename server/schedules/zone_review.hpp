// The task of a server that looks for new data of time zones, and has the schedules planned again that these move.
//
//   zone_review review(broker, zones);
//   auto running = runtime::spawn(review.keep_on(), "looks at the time zones");
//   … review.end();
//   co_await running.join();
//
// A schedule that has a turn plans by the data that are there then. What needs more is a schedule that new data make
// due before the time for which it waits: so when the data have changed, each record that waits is looked at, its next
// turn is computed by the new data, and where that differs the record is made due at once. The rest is the runner's.
//
// That is done once for each version of the data, whatever nodes and restarts there are: a job in `tube_of_zone_data`
// keeps the version by which all schedules have been looked at, and the newest one wins. So a start reads one job.
// Where the system does not tell versions, each node looks when a zone has changed while it runs.
//
// The look costs no more than half of what the store can do: after each page it pauses for as long as that took.
// Of the records of a page a few are in memory at once.
//
// Thread safety: keep_on() is one task; the others, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>

#include "zone_cache.hpp"

namespace foliot::program {

class zone_review {
 public:
  /// How often it looks at the data, and how long it waits after a failure of the store.
  static constexpr duration looks_every = duration::nanoseconds(60'000'000'000);
  /// The records of a page.
  static constexpr std::uint32_t most_on_page = 100;

  /// Both must outlive it. `together`: so many records are in memory at once.
  zone_review(jobs::broker& by, zone_cache& zones, std::size_t together = 1)
      : by_(by), zones_(zones), together_(together) {}
  zone_review(const zone_review&) = delete;
  zone_review& operator=(const zone_review&) = delete;

  /// Looks until end() is called, the broker is closed, or the store fails. Goes on where memory is missing, or the
  /// store does not answer.
  [[nodiscard]] task<> keep_on();
  void end() noexcept;
  /// How many records were made due because of new data, since the beginning.
  [[nodiscard]] std::uint64_t moved() const noexcept { return moved_.load(seam::relaxed); }

 private:
  struct ended {};
  struct kept_version {
    jobs::job_id id = 0;  ///< 0: there is none
    std::string text;
  };

  /// Looks at the data, and if need be at the schedules.
  task<> look();
  /// Looks at all records. False: the server ends.
  task<bool> look_at_schedules();
  task<> look_at_some(std::span<const jobs::listed_job> listed);
  task<kept_version> find_version();
  task<> keep_version(std::string version);
  /// Waits. False: the server ends.
  task<bool> wait(duration length);

  jobs::broker& by_;
  zone_cache& zones_;
  const std::size_t together_;
  runtime::channel<ended> end_{1};
  std::optional<std::string> reviewed_{};  // the version by which this process knows all to be planned
  bool has_changed_ = false;               // zones, since all schedules were looked at
  seam::atomic<std::uint64_t> moved_{0};   // orders nothing
  seam::atomic<bool> ends_{false};         // orders nothing
};

}  // namespace foliot::program

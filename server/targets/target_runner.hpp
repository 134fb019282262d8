// The part of a server that delivers the jobs of tubes that have a target: it follows the records of targets, and for
// each one that is enabled it takes jobs from the tube and gives them to the engine of deliveries.
//
//   target_runner runner(broker, known, rules, {}, secrets, log);
//   co_await runner.look();                                    // before clients are served
//   auto running = runtime::spawn(runner.keep_on(), "webhooks");
//   … runner.end();
//   co_await running.join();
//
// How a job is delivered:
//   1. turn      the task of the target waits until its gate lets a delivery begin (target_turns.hpp)
//   2. reserve   it waits for a job. A turn that is not good any more by then gives the job back as it was
//   3. deliver   in a task of its own, with a time-out that ends before the reservation does
//   4. end       2xx: the job is finished. 410: the target is disabled in its record, and then the job is given back.
//                Else the failure is noted in the job's history, and the job comes again after the plan's delay or
//                `Retry-After`, whichever is later, or is buried after its last try.
// So a job is delivered at least once: of a process that dies in between the store gives the job to the next one.
//
// An answer is about the URL to which it was sent, and about the enabling by which that was done: one that comes later
// changes nothing of a target that has another URL by then, or was enabled again. A 410 that cannot be written down
// disables the target in memory, is shown, and is written with a later look.
//
// The records are looked at when wake() is called, and every 30 seconds; where other nodes use the store every second.
// After a look that has failed the next one comes soon.
// Each node delivers by itself, so the limits of a target, its circuit and the state that is shown are those of a node.
//
// Of one target no other suffers: it has tasks, a client of the broker and a gate of its own, and a place in the engine
// that others cannot take (shared_room). A target that is not allowed any more, or whose secret is missing, waits until
// that changes, without taking jobs.
//
// Memory: the bodies under way have `most_bytes_under_way`, but for the first one of each target.
//
// The end: no further delivery begins; those under way have `end_of_deliveries`, and are then given up: their jobs are
// delivered again by the next process.
//
// Thread safety: keep_on() is one task; the tasks of the others, any; their functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "secret_file.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/server_log.hpp"
#include "server/webhooks/delivery_engine.hpp"
#include "target_deliveries.hpp"

namespace foliot::program {

class target_runner final : public target_deliveries {
 public:
  static constexpr duration between_looks = std::chrono::seconds(30);
  static constexpr duration between_looks_with_others = std::chrono::seconds(1);
  static constexpr duration end_of_deliveries = std::chrono::seconds(5);
  /// So long the task of a delivery tries to write down that the target is gone; then that of the looks does.
  static constexpr duration until_gone_is_written = std::chrono::seconds(5);
  static constexpr std::size_t most_bytes_under_way = std::size_t{64} << 20;
  /// After a failure of the store, or without memory.
  static constexpr duration after_failure = duration::nanoseconds(500'000'000);

  /// All must outlive it. `secrets`: null if the operator names no file. Throws what the engine throws.
  target_runner(jobs::broker& by, server_jobs& known, webhooks::address_rules rules, webhooks::engine_options how,
                const secret_file* secrets, const server_log& log);
  ~target_runner();

  /// One look at the records: from then on nobody reserves from the tubes of targets. Throws what the store throws.
  [[nodiscard]] task<> look();
  /// Delivers until end() is called, the broker is closed, or the store fails.
  [[nodiscard]] task<> keep_on();
  void end() noexcept;

  [[nodiscard]] std::optional<target_fault> fault_of(const target_plan& plan) const override;
  void expect(const std::string& tube) override;
  void wake() noexcept override;
  [[nodiscard]] task<> apply() override;
  void enable(const std::string& tube) override;
  [[nodiscard]] std::optional<delivery_state> state_of(const std::string& tube) const override;
  [[nodiscard]] std::vector<known_delivery> last_of(const std::string& tube) const override;
  [[nodiscard]] task<known_delivery> try_out(std::string tube, target_plan plan) override;
  [[nodiscard]] delivery_figures figures() const override;

 private:
  struct woken {};
  class target;
  using target_ptr = std::shared_ptr<target>;
  /// What a record says.
  struct followed_record {
    target_plan plan;
    bool is_enabled = false;
    jobs::utc_time since{};  ///< of is_enabled
  };
  /// A plan, and what it needs by the rules and the secrets of now.
  struct checked_plan {
    std::shared_ptr<const followed_record> by;
    std::optional<webhooks::target_url> url = {};
    std::shared_ptr<const webhooks::signing_secrets> secrets = {};
    std::string hindrance = {};  ///< not empty: nothing can be delivered, and why
    std::uint64_t version_of_secrets = 0;
  };

  /// What a look has found. Returns the targets that are none any more.
  [[nodiscard]] std::vector<target_ptr> part_with_ended(const std::vector<seen_target>& seen);
  void follow(std::vector<seen_target> seen);
  void begin(const target_ptr& one);
  /// After a look. Returns whether something is left that is tried again soon.
  task<bool> look_after_targets();
  void serve_deliveries();
  task<> end_target(target_ptr one);
  task<> end_all();
  [[nodiscard]] target_ptr find(const std::string& tube) const;
  [[nodiscard]] std::vector<target_ptr> all_targets() const;
  /// Costs nothing while neither the plan nor the secrets change.
  [[nodiscard]] std::shared_ptr<const checked_plan> check(target& of) const;
  /// Notes a delivery, of which fewer are kept where there are many targets.
  void note(target& of, known_delivery one) const;

  /// The task of a target: takes jobs and begins their deliveries, until it is asked to stop or the target is disabled.
  task<> take_jobs(target_ptr of);
  /// Until a job has been taken; where there was one just before, as many as there are turns, without a wait. False:
  /// the target is disabled, or hindered.
  task<bool> take_some(target_ptr of, jobs::client& by, bool& is_busy);
  /// Begins the delivery of a job that was taken. False: it has to be given back.
  [[nodiscard]] bool begin_delivery(const target_ptr& of, jobs::claimed_job& got, webhooks::delivery_turn& turn);
  /// Waits while too many bytes are under way, some of them to this target.
  task<> wait_for_memory(target_ptr of);
  task<> deliver_one(target_ptr of, jobs::claimed_job got, webhooks::delivery_turn turn,
                     runtime::wait_group::member counted);
  /// Ends a job whose delivery has come to this, and fills in what has become of it.
  task<> settle(target_ptr of, std::shared_ptr<const followed_record> by, const jobs::claimed_job& got,
                const webhooks::delivery_answer& came, instant until, known_delivery& told);
  task<> note_failure(const target_plan& plan, const jobs::claimed_job& got, const webhooks::delivery_answer& came,
                      instant until, known_delivery& told);
  /// Writes down that the target is gone, if it still is: tries until then.
  task<> disable_gone(target_ptr of, std::shared_ptr<const followed_record> by, instant until);
  /// One try. False: it has to be tried again.
  task<bool> write_gone(target_ptr of);
  /// Ends a job by its token: tries again until then where the store does not answer.
  template <class Operation>
  task<jobs::holder_answer::kind> end_job(Operation what, instant until);
  task<> give_back(jobs::reservation token);

  jobs::broker& by_;
  server_jobs& known_;
  const secret_file* const secrets_;
  const server_log& log_;
  webhooks::delivery_engine engine_;
  runtime::join_handle<> running_engine_;  // of keep_on(): none before there is a target
  runtime::task_mutex looking_;            // of a look
  std::vector<seen_target> seen_;          // of the task that has it, as the next ones
  std::vector<target_ptr> ended_;          // which may have deliveries under way
  mutable mutex lock_{lock_rank::object};
  std::map<std::string, target_ptr, std::less<>> targets_ FOLIOT_GUARDED_BY(lock_);
  seam::atomic<std::size_t> targets_now_{0};      // orders nothing
  seam::atomic<bool> is_tried_out_{false};        // the same: somebody has asked for a test
  seam::atomic<std::size_t> bytes_under_way_{0};  // orders nothing
  runtime::channel<woken> wakes_{1};
  seam::atomic<bool> ends_{false};  // orders nothing
};

}  // namespace foliot::program

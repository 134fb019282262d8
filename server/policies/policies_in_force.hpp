// The policies by which a server acts: it reads their records, and hands the table of them to the stores.
//
//   policies_in_force policies(broker, stores, warn);
//   co_await policies.read();                                // before a client can reserve
//   auto running = runtime::spawn(policies.keep_on(), "policies");
//   … a record was changed by this server:
//   co_await policies.read();
//   … policies.end();
//   co_await running.join();
//
// Where others write into the store, as other nodes do, the records are looked at each second: a list of their
// versions, and then those that have another one. Else they are read at the start and after each change.
//
// A record that cannot be read (a later version of the program has written it, or somebody by SQL) changes nothing: the
// policy that was in force for its tube stays, and `warn` gets a sentence on it, once.
//
// Where no tube has a policy, the stores get no table.
//
// Thread safety: any task; known() and count(), any thread. read() is O(records), and reads the bodies of those that
// have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/jobs/tube_policy.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_mutex.hpp>

namespace foliot::program {

class policies_in_force {
 public:
  /// How often it looks where others write, and how long it waits after a failure of the store.
  static constexpr duration looks_every = duration::nanoseconds(1'000'000'000);
  /// So many tubes have policies at the most: who makes one looks.
  static constexpr std::size_t most = 10'000;

  /// All must outlive it. `stores`: those that act by the policies, one for each session of the server. `warn` must not
  /// throw.
  policies_in_force(jobs::broker& by, std::vector<jobs::policy_store*> stores, std::function<void(std::string)> warn)
      : by_(by), stores_(std::move(stores)), warn_(std::move(warn)) {}
  policies_in_force(const policies_in_force&) = delete;
  policies_in_force& operator=(const policies_in_force&) = delete;

  /// Reads what has changed, and hands it to the stores. Throws what the broker throws; then all is as before.
  [[nodiscard]] task<> read();
  /// The same behind a change of this server. Where the store does not answer, keep_on() does it as soon as it does.
  [[nodiscard]] task<> read_after_change();
  /// Reads until end() is called, the broker is closed, or the store fails. Goes on where memory is missing, or the
  /// store does not answer.
  [[nodiscard]] task<> keep_on();
  void end() noexcept;

  /// The policies that are in force; null: there are none.
  [[nodiscard]] std::shared_ptr<const jobs::policy_table> known() const {
    const lock held(lock_);
    return known_;
  }
  /// How many tubes have one.
  [[nodiscard]] std::size_t count() const {
    const lock held(lock_);
    return known_ == nullptr ? 0 : known_->size();
  }

 private:
  struct woken {};
  /// A record that was read.
  struct seen_record {
    jobs::job_id id = 0;
    jobs::job_version version = 0;
    bool has_policy = false;  ///< else no version of it could be read
    jobs::tube_policy policy = {};
  };
  using records = std::map<std::string, seen_record, std::less<>>;

  /// The keys of all records, with their versions.
  task<std::vector<jobs::listed_job>> list();
  /// The records as they are now, by what was seen of them.
  task<records> look(std::vector<jobs::listed_job> listed);
  [[nodiscard]] seen_record understand(const std::string& tube, const jobs::peek_answer& seen);
  /// Counts those that share the store.
  task<std::uint32_t> count_sharers();
  void hand_over();
  void wake() noexcept;
  /// Waits until there is something to do. False: the server ends.
  task<bool> wait();

  jobs::broker& by_;
  const std::vector<jobs::policy_store*> stores_;
  const std::function<void(std::string)> warn_;
  runtime::task_mutex reading_;
  records seen_;               // of the task that holds reading_
  std::uint32_t sharers_ = 0;  // the same
  mutable mutex lock_{lock_rank::object};
  std::shared_ptr<const jobs::policy_table> known_ FOLIOT_GUARDED_BY(lock_);
  runtime::channel<woken> wakes_{1};
  seam::atomic<bool> is_behind_{false};  // orders nothing
  seam::atomic<bool> ends_{false};       // the same
};

}  // namespace foliot::program

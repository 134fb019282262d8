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
// Where others write into the store, as other nodes do, the records are looked at each second, and with more than a
// thousand of them each second for each thousand: a list of their versions, and then those that have another one. Else
// they are read at the start and after each change.
//
// A record that cannot be read (a later version of the program has written it) changes nothing where the one before is
// known: that policy stays in force. Where it is not, as after a start, the members that are understood are in force,
// and lacks_some() is true. `warn` gets a sentence on it, once.
//
// What a tube may have in a second is divided evenly among the nodes; the sessions of one count together. The nodes are
// counted by keep_on(), each second where there are several stores: reading a table never waits for a count, which
// needs all databases. Until one succeeds, the number before holds.
//
// Where no tube has a policy, the stores get no table.
//
// Thread safety: any task; known() and count(), any thread. read() is O(records), and reads the bodies of those that
// have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
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
  /// So many records are read at the most, those first that were made first: several that were made at once may exceed
  /// `most`.
  static constexpr std::size_t most_read = 2 * most;
  /// How long the store must have failed to show the records before that is told.
  static constexpr duration patience = duration::nanoseconds(5'000'000'000);

  /// All must outlive it. `stores`: those that act by the policies, one for each session of the server, which count
  /// together. `warn` must not throw.
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
  /// How many records there are, with those that cannot be read.
  [[nodiscard]] std::size_t records_seen() const {
    const lock held(lock_);
    return records_seen_;
  }
  /// Whether a tube has a policy of which a part, or all, is not known here, and so is not in force.
  [[nodiscard]] bool lacks_some() const {
    const lock held(lock_);
    return lacks_some_;
  }
  /// Among how many nodes the rate of a tube is divided.
  [[nodiscard]] std::uint32_t sharers() const noexcept { return sharers_.load(seam::relaxed); }

 private:
  struct woken {};
  /// A record that was read.
  struct seen_record {
    jobs::job_id id = 0;
    jobs::job_version version = 0;
    bool has_policy = false;  ///< else no version of it could be read
    bool is_whole = true;     ///< whether all of some version is in force
    jobs::tube_policy policy = {};
  };
  using records = std::map<std::string, seen_record, std::less<>>;

  /// The keys of all records, with their versions.
  task<std::vector<jobs::listed_job>> list();
  /// The records as they are now, by what was seen of them.
  task<records> look(std::vector<jobs::listed_job> listed);
  [[nodiscard]] seen_record understand(const std::string& tube, const jobs::peek_answer& seen);
  /// Makes these the records that were seen. Throws std::bad_alloc; then all is as before.
  void hand_over(records now);
  /// Counts those that share the store, if there is something to share. Tells a failure once.
  task<> count_sharers();
  void note_unread(const std::exception& why);
  void wake() noexcept;
  /// Waits until there is something to do. False: the server ends.
  task<bool> wait();

  jobs::broker& by_;
  const std::vector<jobs::policy_store*> stores_;
  const std::function<void(std::string)> warn_;
  runtime::task_mutex reading_;
  records seen_;                             // of the task that holds reading_
  bool is_told_of_too_many_ = false;         // the same
  std::size_t nodes_ = 1;                    // of keep_on()
  bool is_told_of_nodes_ = false;            // the same
  instant unread_since_ = instant::never();  // the same; never(): the last look has succeeded
  bool is_told_of_unread_ = false;           // the same
  seam::atomic<std::uint32_t> sharers_{0};   // written by keep_on(); orders nothing
  mutable mutex lock_{lock_rank::object};
  std::shared_ptr<const jobs::policy_table> known_ FOLIOT_GUARDED_BY(lock_);
  std::size_t records_seen_ FOLIOT_GUARDED_BY(lock_) = 0;
  bool lacks_some_ FOLIOT_GUARDED_BY(lock_) = false;
  runtime::channel<woken> wakes_{1};
  seam::atomic<bool> is_behind_{false};  // orders nothing
  seam::atomic<bool> ends_{false};       // the same
};

}  // namespace foliot::program

// A simulated database server: one transaction at a time, whose content is the oracle of the conformance suite, with
// what a database adds to it: the registrations of nodes, the numbers of batches, connections that the server takes for
// alive, and commits that happen late.
//
// It follows sql/batch.sql in what a node can observe, and knows no locks of jobs: a transaction that finds another one
// open waits, and gets a conflict after lock_timeout, as from PostgreSQL.
//
// One simulated thread runs at a time. Each look at a clock is a point where another one may go on, which may stop the
// server and so destroy open transactions. So acquire() reads the clocks before its last look at the server, and keeps
// them in the transaction: what works in a transaction reads no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>

#include "jobs/conformance/oracle.hpp"
#include "jobs/postgresql/batch_plan.hpp"
#include "jobs/postgresql/node_connection.hpp"
#include "jobs/postgresql/tube_map.hpp"

namespace foliot::jobs::nodes {

/// What a canary does wrong: below the interface, where the sources under test rely on it.
enum class flaw : std::uint8_t {
  none,
  repeats_batches,          ///< a batch whose answer was lost is executed again, without asking for its number
  ignores_registrations,    ///< a batch is executed for a registration that is over
  keeps_reservations,       ///< a registration ends, and its reservations do not
  ends_lasting,             ///< a registration ends, and those of its reservations that last do as well
  keeps_lasting,            ///< those do not end with their TTR either
  takes_for_dead_early,     ///< a node is taken for dead after a quarter of its timeout
  repeats_tokens,           ///< the attempts of a job begin again with each reservation
  is_early,                 ///< a delayed job is ready after half of its delay
  is_early_after_release,   ///< the same for a job that was released with a delay
  answers_before_commit,    ///< a commit is answered before the standby has it
  trusts_notifications,     ///< a node whose clients wait does not look by itself
  accepts_tubes_that_left,  ///< a put into a tube that has left is executed
  finishes_abandoned,       ///< an abandon is executed as a finish
  gives_back_all,           ///< an abandon ends all reservations of its registration
  ends_by_id,               ///< a finish ends the reservation of another client
  takes_any_holder,         ///< a put with a holder replaces the job of another client
  ignores_priorities,       ///< all jobs have one priority
  ignores_versions,         ///< a change is executed whatever version it expects
  ignores_once,             ///< a put that happens once is executed as often as it is sent
  claims_again,             ///< the same for a claim
  leaves_with_first_node,   ///< the reservations of a claim that is repeated at another node stay with the first one
  puts_all_again,           ///< the same for a put_all
  leaves_once_behind,       ///< a tube moves without the memory of its puts
  hides_what_is_undone,     ///< a put_all that is refused leaves jobs, and the node is not told
  forgets_timelines,        ///< a process forgets the timelines that its connections have reached
  holds_what_is_over,       ///< a touch of a reservation that is over is answered as if it were held
  ends_with_connections,    ///< the reservations of a process end with its connection
};

/// What a transaction did to jobs, for the judge.
struct effect {
  enum class kind : std::uint8_t { put, claim, finish, release, bury, abandon };
  kind what = kind::put;
  std::string body;   ///< of a put or a claim
  reservation token;  ///< `id` alone for a put
  instant time;       ///< of the monotonic clock
  std::string key;    ///< of a put

  friend bool operator==(const effect&, const effect&) = default;
};

struct node_row {
  std::string name;  ///< empty: the registration has ended, and some of its reservations last
  std::int64_t process = 0;
  duration timeout;
  instant seen;
  instant since;
};

/// What the database has stored.
struct content {
  conformance::oracle jobs;
  std::map<std::int64_t, node_row> registrations;
  std::int64_t last_registration = 0;
  std::map<job_id, std::int64_t> holders;                         ///< the registrations of reservations
  std::map<std::pair<std::int64_t, std::int64_t>, bool> numbers;  ///< of batches; whether one was given up
  std::string origin;
  std::int64_t map_version = 1;
  detail::tube_map map;                   ///< of the first database
  std::set<std::string> away;             ///< the tubes that have left
  std::map<job_id, std::size_t> changes;  ///< cancels, kicks and new due times of jobs that nobody has, by job
  std::vector<std::pair<std::string, instant>> ended;  ///< nodes whose registrations have ended, and when
};

using server_time = std::chrono::sys_time<std::chrono::nanoseconds>;

/// The server's side of a connection.
struct backend {
  struct transaction {
    content after;
    // At the last acquire().
    server_time wall{};  ///< of the server's clock
    instant time;        ///< of the monotonic clock
    std::vector<effect> effects;
    std::set<std::string> ready;  ///< tubes in which jobs have become ready
    bool changes = false;

    [[nodiscard]] instant now() const { return instant::from_nanoseconds(wall.time_since_epoch().count()); }
  };

  std::string process;
  bool has_ended = false;
  std::unique_ptr<transaction> open;
  std::int64_t registration = 0;  ///< of the last batch
  instant last_use;
  instant ends_at = instant::never();     ///< the connection is lost: when the server notices
  instant commits_at = instant::never();  ///< the same, with a commit that is under way
};

class simulated_server {
 public:
  simulated_server(std::string host, job_id number, flaw wrong)
      : host_(std::move(host)), number_(number), wrong_(wrong) {}

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] std::int64_t timeline() const noexcept { return timeline_; }
  [[nodiscard]] bool accepts_writes() const noexcept { return is_up && is_primary_; }
  [[nodiscard]] std::shared_ptr<backend> connect();
  /// Ends all connections, and what they have open. A commit under way has happened, if `completes`.
  void stop(bool completes);
  /// Begins to accept writes, with this content.
  void promote(content stored, std::vector<effect> log, std::int64_t timeline);

  /// Gives the open transaction to this connection. Waits for that of another one.
  backend::transaction& acquire(backend& by, instant deadline);
  void commit(backend& by);
  void roll_back(backend& by);
  /// The client is gone: the server notices at once, or later.
  void lose(backend& by, duration noticed_after);
  /// The same while the commit is under way, for so long.
  void lose_in_commit(backend& by, duration commits_after);
  /// Whether the process has ended.
  bool ends(const std::string& process, bool terminates);
  [[nodiscard]] bool is_committing(const std::string& process);
  /// Another client, of which nobody else knows, changes jobs. False: a transaction is open, and nothing has changed.
  bool change_by_other_hand(std::span<const operation> what);
  /// Ends what has been idle for too long, and does what is due.
  void advance();

  // In the open transaction of a connection.

  /// What foliot.recognize() does.
  std::string recognize(backend::transaction& in) const;
  std::optional<std::int64_t> announce(backend::transaction& in, const detail::node_connection::announcement& who);
  detail::batch_plan::outcome execute(backend::transaction& in, std::span<const operation> batch,
                                      const detail::batch_frame& frame, detail::batch_time& time);
  bool has_happened(backend::transaction& in, std::int64_t registration, std::int64_t number) const;
  [[nodiscard]] static std::vector<reservation> reservations_of(const content& stored, std::int64_t registration);
  void close_registration(backend::transaction& in, std::int64_t registration) const;

  /// As committed.
  [[nodiscard]] content& stored() noexcept { return stored_; }
  [[nodiscard]] const std::vector<effect>& log() const noexcept { return log_; }
  /// The content and the log before the last few commits, the latest last.
  [[nodiscard]] const std::deque<std::pair<content, std::size_t>>& before() const noexcept { return before_; }

  bool is_up = true;
  bool is_full = false;
  bool waits_for_standby = false;  ///< no commit is answered
  duration clock_ahead{};
  /// A reservation was committed whose registration was over: nothing would end it if its node died.
  bool has_kept_for_nobody = false;

 private:
  /// The wall clock of this machine.
  [[nodiscard]] server_time wall() const;
  static std::vector<answer> abandon_all(backend::transaction& in, std::span<const operation> which);
  /// Whether the reservation was repeated at another node since it was made (foliot.is_of_other_node()).
  static bool is_of_other_node(const content& data, const reservation& token, std::int64_t registration);
  /// What the claim repeats belongs to this registration from now on.
  void take_over(backend::transaction& in, const answer& got, std::int64_t registration) const;
  void give_back(backend::transaction& in, std::span<const operation> batch, const detail::batch_frame& frame) const;
  operation alter(operation what, content& data) const;
  /// Ends the reservations that are over of a registration that has ended, and its row with the last one. Returns
  /// whether there were any.
  static bool end_lasting(backend::transaction& in, std::int64_t registration, instant now);
  bool heartbeat(backend::transaction& in, const detail::batch_frame& frame, instant now);
  /// A batch: what is executed, the answers to what is not, by place, and of each put_all that puts some jobs although
  /// it is not done the place and how many of its puts come to that.
  struct divided {
    std::vector<operation> done;
    std::vector<std::optional<answer>> refused;
    std::vector<std::pair<std::size_t, std::size_t>> undone;
  };
  [[nodiscard]] divided divide(std::span<const operation> batch, const detail::batch_frame& frame,
                               backend::transaction& in, detail::map_state& map) const;
  /// What a put_all that is refused, or passed over, has put of its first `most` jobs before it came to that.
  void put_some(backend::transaction& in, std::span<const put> puts, std::size_t most, std::int64_t registration) const;
  void note(backend::transaction& in, const operation& what, const answer& got, std::int64_t registration) const;
  void finish_commit(backend& by);
  void end_reservations_of(const backend& by);

  const std::string host_;
  const job_id number_;
  const flaw wrong_;
  bool is_primary_ = false;
  std::int64_t timeline_ = 0;
  int processes_ = 0;
  content stored_;
  std::vector<effect> log_;
  std::deque<std::pair<content, std::size_t>> before_;
  std::vector<std::shared_ptr<backend>> backends_;
  backend* holder_ = nullptr;
};

}  // namespace foliot::jobs::nodes

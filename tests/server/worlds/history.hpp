// What the clients of a simulated server asked and were answered: the evidence that the checker judges. Plain data.
//
// Two orders. `order` counts all moments of a world, one after the other. `time` is virtual, and many moments share one
// instant.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::program::worlds {

/// What a client asked for, or what happened to its connection.
enum class verb : std::uint8_t {
  put,
  reserve,
  reserve_job,
  remove,  ///< the command `delete`
  release,
  bury,
  touch,
  kick,
  kick_job,
  cancel,
  reschedule,
  fire,
  peek,
  pause,
  page,   ///< the command `x-due`
  clear,  ///< over HTTP: cancels the jobs of a tube that no worker has
  other,  ///< a command with one right answer, `expected`
};

/// The protocol of a connection. It decides what holds a reservation.
enum class protocol_of : std::uint8_t {
  beanstalk,  ///< the connection: no other one may end the job, and the reservation ends with it
  http,       ///< the token: any connection at any node may end the job by it, until the server ends
};

struct moment {
  std::uint64_t order = 0;
  instant time;

  friend bool operator==(const moment&, const moment&) = default;
};

/// A command and its answer. Without an answer it may have happened at any time after `begin`, or never. Over HTTP a
/// request about several jobs is an event for each of them: a batch of puts, and a reserve that has brought several.
struct event {
  std::size_t connection = 0;
  std::size_t node = 0;  ///< that the connection is to, where nodes end one by one
  protocol_of by = protocol_of::beanstalk;
  verb what = verb::other;
  moment begin;  ///< before the client wrote it
  moment front;  ///< when the client had read the answers to all commands before it; begin, if later; never, if not yet
  std::optional<moment> end;       ///< after the client had read the answer
  std::optional<moment> given_up;  ///< without an answer: when the client went away, or the server ended
  std::string answer;              ///< its first word; empty without an answer; MISSING if it should have come
  std::string expected;
  jobs::job_id asked = 0;
  jobs::job_id job = 0;  ///< of the answer; for commands with an id that succeeded, `asked`
  std::string tube;      ///< the used one, or that of a pause
  std::string key;
  std::string body;
  std::set<std::string> watched;
  jobs::priority priority = 0;
  jobs::milliseconds delay{};
  std::optional<jobs::utc_time> at;  ///< the due time, if it was not a delay
  jobs::milliseconds ttr{};
  std::optional<jobs::milliseconds> timeout;  ///< how long a reserve waits; none: until its client goes away
  /// Not empty: it happens once. A request that is sent again has the same, and begins where it was sent first, as it
  /// may have happened at any time since.
  std::string once;
  std::size_t group = 0;                 ///< not 0: a put of a batch that takes all or none, and its number
  std::string token;                     ///< over HTTP: of the reservation that it has brought, or that it shows
  jobs::job_version version = 0;         ///< of the job that a look has shown; 0: none
  jobs::job_version wanted_version = 0;  ///< not 0: the change expects it
  std::string state;                     ///< of the job that a look has shown
  std::uint64_t changed = 0;             ///< how many jobs a clear has cancelled
  std::size_t brought = 1;               ///< how many jobs the answer to a reserve has
  // Of a page: behind the time `at` and the id `after`, in the tubes with this prefix. `count`: also how many jobs a
  // reserve or a clear asks for.
  jobs::job_id after = 0;
  std::size_t count = 0;
  std::string prefix;
  std::vector<jobs::due_job> listed;
  bool replaces = false;  ///< a put that takes the place of the job with its key
  bool prompt = true;     ///< the client read all the time, so that the answer came at the instant in which it was read

  [[nodiscard]] bool is(verb one, const char* with) const { return what == one && answer == with; }
};

/// The wall clock, beside the virtual time that it is set at.
class wall_history {
 public:
  /// From `at` on the wall clock is so far ahead.
  void step(instant at, duration ahead) { steps_.push_back({at, ahead}); }
  [[nodiscard]] bool is_steady() const { return steps_.size() < 2; }
  /// The latest and the earliest time that it showed between two instants, to the millisecond below.
  [[nodiscard]] jobs::utc_time peak(instant from, instant to) const {
    jobs::utc_time best = jobs::utc_time::min();
    for_each_part(from, to, [&](instant, instant last) { best = std::max(best, utc(last)); });
    return best;
  }
  [[nodiscard]] jobs::utc_time trough(instant from, instant to) const {
    jobs::utc_time best = jobs::utc_time::max();
    for_each_part(from, to, [&](instant first, instant) { best = std::min(best, utc(first)); });
    return best;
  }
  /// The instant at which a steady clock shows `when`.
  [[nodiscard]] instant when_shown(jobs::utc_time when) const {
    return instant::from_nanoseconds(std::chrono::nanoseconds(when.time_since_epoch()).count()) - steps_.front().ahead;
  }

 private:
  struct step_of {
    instant at;
    duration ahead;
  };

  static jobs::utc_time utc(instant shown) { return std::chrono::floor<jobs::milliseconds>(wall_clock::to_sys(shown)); }
  template <class Use>
  void for_each_part(instant from, instant to, Use use) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const instant first = std::max(from, steps_[i].at);
      const instant last = i + 1 < steps_.size() ? std::min(to, steps_[i + 1].at) : to;
      if (first <= last) use(first + steps_[i].ahead, last + steps_[i].ahead);
    }
  }

  std::vector<step_of> steps_;
};

/// A world from its beginning to its end.
struct history {
  std::deque<event> events;
  wall_history wall;
  /// Whether the store takes time, in which the clock moves and nothing else happens.
  bool has_stalls = false;
  /// The jobs that are there at the end.
  std::map<jobs::job_id, jobs::job> left;
  /// All pages of what is due then, joined, by the prefix of the tubes.
  std::map<std::string, std::vector<jobs::due_job>> listed;
  /// When each connection ended, if the client or the server did it: before that moment.
  std::map<std::size_t, std::uint64_t> connection_ends;
  /// When the server began to end, or crashed, each time, and when it was started. Between the two it may still answer.
  std::vector<std::uint64_t> server_ends;
  std::vector<std::uint64_t> server_starts;
  // Of nodes over databases.
  /// The databases and nodes fail: an answer may say that the store does not answer; and a reserve may have got a job
  /// for a while of which its answer says nothing, because its commit was in doubt.
  bool has_outages = false;
  /// The clocks of the databases differ: the ends of reservations and due times may come earlier or later.
  bool has_clocks_apart = false;
  /// The jobs lie in several databases: ids have no common order, nor have jobs of several tubes.
  bool has_several_databases = false;

  std::uint64_t order = 0;
};

}  // namespace foliot::program::worlds

// Sends and receives the notifications of the nodes of a PostgreSQL store: LISTEN and NOTIFY on the channel `foliot`,
// over a connection and in a thread of the listener's own.
//
// A message is the name of a tube that may have a ready job, in hexadecimal digits; an empty message means any tube. A
// NOTIFY holds a lock of the whole server until its transaction has ended. So the listener sends the names of the last
// milliseconds together, in a transaction that does nothing else and waits for no disk and no standby.
//
// A lost connection is made again. Messages may have been lost with it, so the new connection begins with news of any
// tube. While there is none, outage() returns the reason.
//
// A connection that has been silent for long is tested, because a cut cable sends no error. A connection to a server
// that was replaced is closed at the next message, or after that silence.
//
// Thread safety: any thread. The destructor waits for the thread, which ends when the server has answered, or after 5 s
// (2 s to connect, 3 s for an answer); resolving the name of a host may take longer.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "database_connection.hpp"
#include "node_connection.hpp"
#include "primary.hpp"
#include "target.hpp"

namespace foliot::jobs::detail {

/// The largest number of names of tubes that wait to be sent, or to be taken; more names mean any tube.
inline constexpr std::size_t most_names = 1000;
/// A connection that has been silent for longer is tested.
inline constexpr duration longest_silence = std::chrono::seconds(10);

class notification_listener final : public node_listener {
 public:
  /// Starts the thread, which connects, and begins with news of any tube. Throws as target does, and std::system_error
  /// if the system has no descriptor or thread left. `silence` is for tests.
  notification_listener(const std::string& database, duration scan_every, duration silence = longest_silence);
  ~notification_listener() override;

  void connect_to(target database) override FOLIOT_EXCLUDES(lock_);

  void tell(std::span<const std::string> tubes) noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return news_.read_end(); }
  [[nodiscard]] news take_news() override;
  [[nodiscard]] duration scan_every() const noexcept override { return scan_every_; }
  [[nodiscard]] std::optional<missing_connection> outage() const override FOLIOT_EXCLUDES(lock_);

 private:
  /// A pipe that is readable after wake(), until reset().
  class wake_pipe {
   public:
    wake_pipe();
    ~wake_pipe();
    wake_pipe(const wake_pipe&) = delete;
    wake_pipe& operator=(const wake_pipe&) = delete;
    [[nodiscard]] int read_end() const noexcept { return ends_[0]; }
    void wake() noexcept;
    void reset() noexcept;

   private:
    int ends_[2] = {-1, -1};
  };
  /// A bounded set of tubes.
  struct names {
    std::set<std::string> tubes;
    bool any_tube = false;

    void add(std::string tube);
    void add_any();
    [[nodiscard]] bool empty() const noexcept { return tubes.empty() && !any_tube; }
  };

  /// The thread: connects, and again when a connection has ended.
  void run() noexcept;
  /// Uses one connection until it fails, another server has replaced that one, or the listener ends.
  void talk(const primary_connection& to) FOLIOT_EXCLUDES(lock_);
  /// Sends the names that wait to be sent.
  void send(database_connection& over) FOLIOT_EXCLUDES(lock_);
  /// Adds the tube that a message names to the news; ignores a message of another program.
  void hear(std::string_view message) FOLIOT_EXCLUDES(lock_);
  void note_failure(instant attempt, std::string_view why) noexcept FOLIOT_EXCLUDES(lock_);
  void note_connection() noexcept FOLIOT_EXCLUDES(lock_);
  void take_new_target() FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] bool has_to_tell() const FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] bool is_ending() const FOLIOT_EXCLUDES(lock_);

  const duration scan_every_;
  const duration silence_;
  const exchange_step no_step_;
  target target_;  // of the thread
  seam::poller poller_;
  wake_pipe news_;
  mutable mutex lock_{lock_rank::object};
  names to_tell_ FOLIOT_GUARDED_BY(lock_);
  names heard_ FOLIOT_GUARDED_BY(lock_);
  std::optional<missing_connection> missing_ FOLIOT_GUARDED_BY(lock_);
  std::optional<target> new_target_ FOLIOT_GUARDED_BY(lock_);
  bool ending_ FOLIOT_GUARDED_BY(lock_) = false;
  seam::thread thread_;
};

}  // namespace foliot::jobs::detail

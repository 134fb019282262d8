// One connection of a beanstalk client: reads its commands, has the broker execute them, and answers in their order.
// The connection is a byte_stream, in plain or not.
//
// The puts that a client sends without waiting for answers are handed to the broker together, so that one batch of the
// store takes many of them. So are the delete of a job that the client holds and the reserve behind it, which a worker
// may send at once. Every other command waits until those before it have been answered. Answers leave when all
// that has been read is answered, or when they have grown to some size; a client that does not read its answers is not
// read from either.
//
// The memory of a session counts as held_memory. Before it takes much memory, for a body, a list or the answer to a
// peek, it takes room; while there is none, it reads nothing. If the client closes its side meanwhile, the command gets
// OUT_OF_MEMORY. A session that is closed to make room ends without an answer. The tubes that its client watches count
// as what the session keeps: they are no reason to close it.
//
// While a reserve waits, the session goes on reading, up to a bound: it must notice that the client has gone. A client
// that has closed its side gets TIMED_OUT, as beanstalkd does it. What was sent behind the reserve is answered after
// it.
//
// While the store is unavailable, each command that needs it gets INTERNAL_ERROR, and nothing has changed; a reserve
// that waits goes on waiting, and `stats` leaves out what only the store knows. If the store does not know whether it
// has executed a command, any answer to it may be a lie: the session sends the answers before it, and ends. A client
// sees a lost connection, after which it cannot know.
//
// A client that speaks HTTP is told what listens here, and its connection ends at once: nothing that it has sent behind
// its first line runs as a command. The same holds for one that speaks TLS, which gets UNKNOWN_COMMAND in plain text.
//
// A client that has begun a command and sends nothing more of it, or takes nothing of its answers, for as long as
// server_state::patience, loses its connection. One that has sent whole commands may be silent for ever, as a worker is
// that waits in a reserve.
//
// A command that comes sooner than the rate limits allow waits for its turn, and those behind it with it: the
// session reads nothing meanwhile. Clients of beanstalk have no word for `later`, and understand a server that takes
// its time. Where its turn would be more than 5 s away, it gets OUT_OF_MEMORY, and the connection ends.
//
// What the rights of the client do not allow is answered with FORBIDDEN; a job in a tube that they do not include is
// NOT_FOUND. When they end, the owner of the session closes the connection.
//
// No access token stays in the memory: an `x-auth` has no place in a session, and is wiped when it has been refused;
// buffers are wiped when they are given back.
//
// When the session ends, however it ends, the jobs that its client holds are ready again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

#include "commands.hpp"
#include "parser.hpp"
#include "server/access/authority.hpp"
#include "server/access/authorized_client.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/held_memory.hpp"
#include "server/core/wiping_allocator.hpp"
#include "server_state.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

class session {
 public:
  /// `by` holds the rights of the client, and must outlive the session; `unread` is what the client has sent already.
  /// Throws broker_full and broker_closed.
  session(server_state& server, byte_stream& peer, const rights_holder& by, std::string_view unread = {});
  /// Of a client that may do everything.
  session(server_state& server, byte_stream& peer) : session(server, peer, server.everything) {}
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Serves the client until one side ends the connection, or until the store does not know whether it has executed a
  /// command. The caller must close the connection then. Throws store_failure and broker_closed.
  [[nodiscard]] task<> run();

  // For the commands that answer by themselves (commands.hpp).

  /// The client, as the broker knows it.
  [[nodiscard]] authorized_client& client() noexcept { return client_; }
  /// The answers that were not sent yet. A command writes its own behind them.
  [[nodiscard]] std::string& answers() noexcept { return out_; }
  /// Takes so much memory for a command. Returns false if there is none: then the command is answered so.
  task<bool> take_room(std::size_t bytes);

 private:
  /// A put that the broker has and that is not answered.
  struct pending_put {
    pending_put(authorized_client& by, jobs::put&& what, bool is_extended)
        : answer(by.execute(std::move(what))), extended(is_extended) {}

    jobs::in_flight<jobs::put> answer;
    bool extended;
  };
  /// A delete of a job that the client holds, which the broker has and that is not answered.
  struct pending_delete {
    pending_delete(authorized_client& by, jobs::job_id which) : answer(by.finish(which)), id(which) {}

    jobs::in_flight<jobs::finish> answer;
    jobs::job_id id;
  };

  enum class reading : std::uint8_t { data, ended, woken };

  /// The memory of a watch, here and in the broker.
  static constexpr std::size_t bytes_of_watch = 112;

  // The bytes.
  [[nodiscard]] std::string_view unread() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] bool has_room() noexcept;
  /// Begins anew at the front of the buffer if all bytes in it have been read.
  void rewind() noexcept;
  /// Wipes the bytes of the buffer that have been read. Amortized O(bytes received since the last call): a client may
  /// cause a call by each line.
  void forget_read_bytes() noexcept;
  /// Waits for bytes of the client. With `trims`, gives back large buffers if nothing comes for a second, and returns
  /// `woken`.
  task<reading> read_more(bool trims);
  /// Until when the client has to go on with the command that it has begun; never: it has begun none, or has any time.
  [[nodiscard]] instant end_of_patience();
  /// Closes the connection of a client that has not gone on: it has done this.
  void close_slow(std::string_view what);
  task<bool> write_answers();
  /// What each write needs around it, so that a client that takes nothing of its answers is closed.
  void before_write();
  void note_written(const runtime::or_error<std::size_t>& sent);
  task<bool> write_text(std::string_view text);
  /// Writes the answer to a list, whose text all its readers share.
  task<> send_list(std::shared_ptr<const shared_text> list);

  // The memory.
  [[nodiscard]] std::size_t buffers() const noexcept { return buffer_.size() + out_.capacity(); }
  /// Counts the memory of this many watches. Returns false if there is none for them.
  [[nodiscard]] bool keep_watches(std::size_t tubes) noexcept { return memory_.keep(tubes * bytes_of_watch); }
  /// Counts what the session holds now.
  void note_memory() noexcept {
    memory_.holds(buffers() + commands_.body_memory() + bytes_in_puts_ + puts_.size() * sizeof(pending_put));
  }
  void trim_buffers();
  /// Sends what is answered, and waits for room. False if there will be none: then the command is refused.
  task<bool> wait_for_room(std::size_t bytes);
  /// The same for `bytes` of the body that comes. A body that is small against the bound gets all its memory, so that
  /// it need not wait again.
  task<bool> wait_for_room_of_body(std::size_t bytes);

  /// How long a command that has begun has to wait for its turn.
  [[nodiscard]] duration time_to_turn(const event& what);
  /// Sends what is answered, and waits for so long, or until the connection is closed.
  task<> wait_for_turn(duration wait);

  /// Executes what the client sends until it ends the connection. Throws store_unavailable only in doubt.
  task<> serve_commands();

  // The commands. Each writes its answer to out_, and writes nothing if it throws; those that need the broker are
  // tasks. What they are given must live until they have ended.
  /// Begins a command. Returns whether that was all for now, as for a put and for the delete of a job that the client
  /// holds, which are with the broker then: no task is made for them. If not, answer() does the rest.
  [[nodiscard]] bool begin(event& what);
  task<> answer(event& what);
  /// Returns how the put is answered behind those that the broker has; nothing if it has this one, too.
  [[nodiscard]] std::string_view begin_put(put& what);
  /// Answers what the broker has of the client: puts, or a delete.
  task<> answer_pending();
  task<> answer_puts();
  /// Precondition: there is a delete that is not answered.
  task<> answer_delete();
  void on(const unknown_command& what);
  void on(const bad_format&) { out_ += reply::bad_format; }
  void on(const http_request&);
  void on(const tls_record&);
  void on(const put_line&) noexcept {}  // begin() has read it
  void on(const put&);
  void on(const body_without_crlf&) { out_ += reply::expected_crlf; }
  void on(const body_discarded& what);
  task<> on(const use& what);
  task<> on(const watch& what);
  task<> on(const ignore& what);
  task<> on(const reserve&) { return reserve_one(std::nullopt); }
  task<> on(const reserve_with_timeout& what) { return reserve_one(std::chrono::seconds(what.seconds)); }
  task<> on(const reserve_job& what);
  task<> on(const delete_job& what);
  task<> on(const release& what);
  task<> on(const bury& what);
  task<> on(const touch& what);
  task<> on(const peek& what) { return show(jobs::peek{what.id}); }
  task<> on(const peek_ready&) { return show(jobs::peek_first{used_->name, jobs::job_state::ready}); }
  task<> on(const peek_delayed&) { return show(jobs::peek_first{used_->name, jobs::job_state::delayed}); }
  task<> on(const peek_buried&) { return show(jobs::peek_first{used_->name, jobs::job_state::buried}); }
  task<> on(const kick& what);
  task<> on(const kick_job& what);
  task<> on(const pause_tube& what);
  task<> on(const stats&);
  task<> on(const stats_job& what);
  task<> on(const stats_tube& what);
  task<> on(const list_tubes&);
  void on(const list_tube_used&) { write_using(out_, used_->name); }
  task<> on(const list_tubes_watched&);
  void on(const quit&) { quits_ = true; }
  task<> on(const cancel& what);
  task<> on(const reschedule& what);
  task<> on(const fire_now& what);
  task<> on(const extended_stats_job& what);
  /// A command that answers by itself.
  template <class Command>
    requires requires(session& by, const Command& what) { Command::answer(by, what); }
  task<> on(const Command& what) {
    return Command::answer(*this, what);
  }

  void become_worker() noexcept;
  task<> reserve_one(std::optional<duration> timeout);
  /// Reserves a job in the same batch as the delete that is not answered. If it gets none, for whatever reason, the
  /// caller tries again after the delete.
  task<jobs::reserve_answer> reserve_beside_delete();
  task<jobs::reserve_answer> wait_for_job(std::optional<duration> timeout);
  template <class Look>
  task<> show(Look what);
  template <class Change>
  task<> change(Change what, numbered_reply done);
  void say_changed(const jobs::change_answer& changed, numbered_reply done);
  void say_reserved(const jobs::claimed_job& got);
  void say_held(const jobs::holder_answer& what, jobs::job_id id, std::string_view done);
  [[nodiscard]] jobs::job_name name_of(const job_reference& job) const;
  void forget_ended_reservations();
  /// Ends the record of a tube that no connection uses or watches, if the tube has no job. Where other nodes have
  /// clients, too, the record ends in any case: they may end the jobs, and this one would not hear of it.
  task<> end_if_unused(shared_record tube);
  /// Whether a connection uses or watches the tube.
  [[nodiscard]] bool has_clients(const tube_record& tube) const;
  /// Whether the store has a job of the tube.
  task<bool> has_jobs(std::string_view tube);
  /// The list of a client that may not see all tubes, for which no list is kept.
  task<> list_allowed_tubes();
  /// Adds those of its tubes that only have jobs of other nodes, which the store lists in pages. Returns false if they
  /// are too many, or there is no room: then the answer says so.
  task<bool> add_allowed_tubes_of_store(std::vector<std::string>& names);
  /// The tubes that live, in the order of `list-tubes`: those of this node's clients, then those that only have jobs of
  /// other nodes.
  task<std::vector<std::string>> living_tubes();
  /// The same as a list that sessions share, where other nodes have clients, too.
  task<std::shared_ptr<const shared_text>> list_of_all_nodes();
  /// The memory that the next list takes.
  [[nodiscard]] std::size_t bytes_of_next_list() const;
  task<> leave_tubes();

  server_state& server_;
  byte_stream& peer_;
  memory_holder memory_;
  jobs::broker& broker_;
  authorized_client client_;
  const std::string source_;  // what counts as the client's address; empty: none does
  parser commands_;
  std::vector<char, wiping_allocator<char>> buffer_;
  std::size_t begin_ = 0;  // of the unread bytes in buffer_
  std::size_t end_ = 0;
  std::size_t forgotten_ = 0;                // the bytes of buffer_ before this one are wiped; at most begin_
  std::size_t written_ = 0;                  // those from this one on are wiped, or were never written; at least end_
  instant silent_since_ = instant::never();  // a command has begun, and no byte has come since; never: one has come
  bool client_has_closed_ = false;
  bool quits_ = false;
  bool drops_ = false;  // what the client sends is read, and dropped, before the connection ends
  std::string out_;
  std::deque<pending_put> puts_;
  std::optional<pending_delete> delete_;  // if there is one, there is no put
  std::string_view refusal_;              // of the latest put: comes behind the answers to those before it
  held_tube used_;
  std::vector<held_tube> watched_;  // in beanstalkd's order: where one is ignored, the last one takes its place
  /// The tubes of the jobs that the client holds, and of some that it held.
  std::unordered_map<jobs::job_id, std::weak_ptr<tube_record>> held_;
  bool put_is_extended_ = false;
  std::size_t bytes_in_puts_ = 0;
  bool has_put_ = false;
  bool has_reserved_ = false;
};

}  // namespace foliot::program::beanstalk

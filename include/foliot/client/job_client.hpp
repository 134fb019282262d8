// A client of `foliot serve`, or of beanstalkd, for tasks: it puts jobs, works on them, changes them and looks at them,
// and makes its connection again when it is lost.
//
//   client::client_options options;
//   options.server = client::endpoint_at("jobs.example.com", 11300);
//   client::job_client jobs(options);                       // connects with the first operation
//
//   jobs::put mail{.tube = "mail", .key = "order-17", .body = "hello", .due = 30s};
//   const auto put = co_await jobs.ask(mail);
//   if (!put) log(put.error().text);                        // put.error().is_in_doubt: it may be there
//
//   const client::reserve next({"mail"}, 30s);
//   const auto got = co_await jobs.ask(next);
//   if (got && got->job) co_await jobs.ask(jobs::finish{got->job->token});
//
// The operations and their answers are in commands.hpp: those of a job store, and reserve.
//
// One connection. Operations of several tasks are executed one after the other, in the order in which they came; a
// reserve holds the others up for as long as it waits. So a worker has a client of its own, and programs that put from
// many tasks share a client, or have several.
//
// Lost connections. An operation connects when there is no connection, as often as it must, with pauses that grow,
// until its patience ends. If the connection is lost during an operation:
//
//   before it was sent as a whole   it was not executed, and is sent again on the next connection
//   behind that, before its answer  it is sent again, if that is safe: a look, a reserve, a put with a key that keeps
//                                   an existing job, a cancel by an id. Everything else, a put without a key above
//                                   all, is not: the error is connection_lost with is_in_doubt
//
// An answer to an operation that was sent again may be about the first execution: a put with a key that keeps its job
// is answered with `kept`, and a cancel with `gone`; `is_repeated` of the result tells. A put with a key that is sent
// again makes one job, as long as a worker has not ended the first one meanwhile: then it makes a second one, and is
// answered with `inserted`. Who cannot bear that sets client_options::repeats_keyed_puts to false, and gets the error
// in doubt instead.
//
// Reservations belong to the connection over which they came. When it is lost, the server gives the jobs back as soon
// as it notices, at the latest when their TTRs end; finish, release, bury and touch with their tokens fail with
// reservation_lost, and nothing is sent. A touch tells whether a reservation is still held, and so does holds(),
// without asking. A token that is not that of the latest reservation of its job, or whose reservation was ended by this
// client, is answered with `not_held`, and nothing is sent.
//
// A job whose body is over client_limits::most_received is reserved without its body (reserve_answer::unread), and
// other reservations stay. Bury it; a worker that does not look at `unread` gets it again when its TTR has ended.
//
// An operation that ends early, because its task is asked to stop, its context is done or its patience has ended,
// closes the connection if it was sent: its answer would be taken for that of the next operation. So a worker that has
// jobs reserved and waits for more lets the server end the wait (reserve::wait).
//
// Thread safety: any task of one runtime; the client must be made and destroyed there, and outlive its operations.
// A client for threads is in blocking_client.hpp.
// Memory: one answer, at most client_limits::most_received and 256 KiB; a list of tubes once more as its entries. And
// some 50 bytes for each reservation of the connection that it has not ended.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <foliot/client/client_error.hpp>
#include <foliot/client/commands.hpp>
#include <foliot/client/endpoint.hpp>
#include <foliot/client/reply.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_mutex.hpp>

namespace foliot::client {

/// How a client finds its server, and for how long it waits.
struct client_options {
  endpoint server;
  /// What lets the client in (`x-auth`); empty: nothing is shown. A server that knows no tokens lets everybody in.
  std::string token{};
  /// For how long an operation goes on, with its wait for other operations of the client and all its connections; a
  /// reserve adds its wait, and a second, to which the server rounds that up.
  duration patience = std::chrono::seconds(60);
  /// For how long one connection may take to come about, with the sign-in.
  duration connect_timeout = std::chrono::seconds(10);
  /// After how long without a byte sent or received a connection counts as lost; a reserve adds its wait.
  duration answer_timeout = std::chrono::seconds(30);
  /// Before the second connection; each further pause is twice as long, and up to a half is taken off at random.
  duration first_pause = std::chrono::milliseconds(50);
  duration longest_pause = std::chrono::seconds(5);
  client_limits limits{};
  /// Whether a put with a key that keeps an existing job is sent again when its answer was lost. There is one job then,
  /// as long as a worker has not ended the first one meanwhile. False: the error is in doubt.
  bool repeats_keyed_puts = true;
};

/// See the head of this file. Neither copied nor moved.
class FOLIOT_EXPORT job_client {
 public:
  /// Does not connect yet. Throws std::invalid_argument without a server, and std::system_error where the system has no
  /// randomness.
  explicit job_client(client_options options);
  ~job_client();
  job_client(const job_client&) = delete;
  job_client& operator=(const job_client&) = delete;

  /// Has the server execute the operation, and returns its answer, or why there is none. Throws `cancelled`, and
  /// std::bad_alloc.
  template <operation Operation>
  [[nodiscard]] runtime::task<result_of<Operation>> ask(Operation what) {
    const duration patience = options_.patience;
    return ask(std::move(what), patience);
  }
  /// The same with another patience.
  template <operation Operation>
  [[nodiscard]] runtime::task<result_of<Operation>> ask(Operation what, duration patience);

  /// Whether the reservation is still held as far as this client knows: its connection lives, and it is the latest one
  /// of its job there, and was not ended. Its TTR may have ended. Not while another task has an operation executed,
  /// like the functions below.
  [[nodiscard]] bool holds(const jobs::reservation& token) const noexcept;
  /// How many connections the client has made.
  [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
  /// Closes the connection, if there is one: the server gives its reservations back. The next operation makes another.
  void close() noexcept { drop(); }

 private:
  class exchange_guard;
  using replies = std::vector<server_reply>;
  using exchanged = std::expected<replies, client_error>;
  /// Nothing, or why an attempt has failed.
  using attempt = std::expected<void, client_error>;
  /// Whether a tube is to be watched or ignored, and its name.
  using watch_change = std::pair<bool, std::string>;
  /// Until when the server waits, if the operation is a reserve, and when the patience ends.
  struct time_limits {
    instant until;
    instant deadline;
  };
  /// How long an exchange may take: as a whole, and without a byte that is sent or received.
  struct allowance {
    instant deadline;
    duration silence;
  };

  [[nodiscard]] static time_limits limits_of(const command& what, duration patience);
  /// Holds nothing if other operations have had the connection until the deadline.
  [[nodiscard]] runtime::task<runtime::task_lock> turn_before(instant deadline);
  [[nodiscard]] client_error is_held_up() const;
  [[nodiscard]] bool is_latest(const jobs::reservation& token) const noexcept;
  /// Whether it is known that the reservation is none of this connection any more.
  [[nodiscard]] bool is_outdated(const jobs::reservation& token) const noexcept;
  /// Makes the token of a reservation that has come.
  void remember(jobs::reservation& token);
  void forget(const jobs::reservation& token) noexcept { held_.erase(token.id); }
  [[nodiscard]] runtime::task<exchanged> execute(const command& what, time_limits limits);
  [[nodiscard]] runtime::task<exchanged> attempt_once(const command& what, time_limits limits);
  [[nodiscard]] runtime::task<attempt> connect(instant deadline);
  [[nodiscard]] runtime::task<attempt> sign_in(instant deadline);
  [[nodiscard]] runtime::task<attempt> use(const std::string& tube, instant deadline);
  [[nodiscard]] runtime::task<attempt> watch(const std::vector<std::string>& tubes, instant deadline);
  [[nodiscard]] attempt apply(std::span<const watch_change> changes, const replies& said);
  /// `bytes` must live until the exchange has ended.
  [[nodiscard]] runtime::task<exchanged> exchange(std::string_view bytes, std::size_t count, wanted_bytes wanted,
                                                  allowance time);
  [[nodiscard]] client_error lost(std::error_code cause) const;
  [[nodiscard]] duration next_pause() noexcept;
  void drop() noexcept;

  client_options options_;
  runtime::task_mutex turn_;
  std::unique_ptr<transport> transport_;  // null: not connected
  reply_reader reader_;
  std::vector<char> buffer_;
  bool is_foliot_ = false;            // the server of this connection
  std::string used_;                  // what the connection uses
  std::vector<std::string> watched_;  // and watches
  std::uint64_t number_ = 0;          // of the connection, unique in the process
  std::uint64_t connections_ = 0;
  std::uint64_t reservations_ = 0;
  std::unordered_map<jobs::job_id, std::uint64_t> held_;  // the latest reservations of this connection
  std::size_t sent_ = 0;                                  // how often the latest operation was sent as a whole
  bool was_sent_ = false;                                 // whether the bytes of the latest exchange were
  duration pause_;                                        // before the next attempt
  random_stream random_;
};

template <operation Operation>
runtime::task<result_of<Operation>> job_client::ask(Operation what, duration patience) {
  auto wanted = command_for(what, options_.limits);
  if (!wanted) co_return std::unexpected(std::move(wanted.error()));
  if constexpr (std::is_same_v<Operation, jobs::put>) {
    if (!options_.repeats_keyed_puts) wanted->is_repeatable = false;
  }
  constexpr bool is_of_holder = requires { what.token; };
  const time_limits limits = limits_of(*wanted, patience);
  auto waiting = turn_before(limits.deadline);
  const runtime::task_lock turn = co_await waiting;
  if (!turn) co_return std::unexpected(is_held_up());
  if constexpr (is_of_holder) {
    if (is_outdated(what.token)) co_return jobs::holder_answer{.what = jobs::holder_answer::kind::not_held};
  }
  auto executing = execute(*wanted, limits);
  auto got = co_await executing;
  auto answer = got ? answer_in(what, *got, is_foliot_) : result_of<Operation>(std::unexpected(std::move(got.error())));
  answer.is_repeated = sent_ > 1;
  if (!answer) {
    if (answer.error().what == client_error::kind::bad_answer) drop();
    // What an earlier sending of it has done is not known.
    answer.error().is_in_doubt = answer.error().is_in_doubt || (wanted->changes && answer.is_repeated);
  }
  if constexpr (is_of_holder) {
    using enum jobs::holder_answer::kind;
    constexpr bool is_touch = std::is_same_v<Operation, jobs::touch>;
    const bool stays =
        answer ? answer->what == no_space || (is_touch && answer->what == done) : !answer.error().is_in_doubt;
    if (!stays && what.token.opening == number_) forget(what.token);
  }
  if constexpr (std::is_same_v<Operation, reserve>) {
    if (answer && answer->job) remember(answer->job->token);
    if (answer && answer->unread) remember(answer->unread->token);
  }
  co_return answer;
}

}  // namespace foliot::client

// The commands of the beanstalk protocol, as a client writes them, and what their replies mean. No input and output:
// an operation becomes the bytes of a command, and replies become its answer.
//
//   const auto command = command_for(jobs::cancel{7}, limits);      // command->bytes is "x-cancel 7\r\n"
//   …                                                          // send them, and read command->replies replies
//   const auto answer = answer_in(jobs::cancel{7}, replies);      // answer->what, answer->id
//
// The operations are those of a job store (jobs/operations.hpp), with the same answers, as far as the protocol has
// them:
//
//   put               an absolute due time, parts of seconds, a key and fields are for foliot alone; beanstalkd takes
//                     the rest as well
//   finish, touch     by the token of a reserve() of the same connection
//   release, bury     the same; the protocol needs a priority. A release takes a delay, in whole seconds, rounded up
//   cancel, reschedule, fire_now      foliot alone
//   kick              of buried jobs or, if there are none, delayed ones
//   peek              with the job's body only by its id
//   count_tube, count_all
//   list_tubes        of all tubes, without their counts
//   list_due          foliot alone
//
// and reserve, below. What the protocol cannot say is refused by command_for(): an expected version, a `once`, the
// names and bodies that a server would not take. So no text of a caller can become a command of its own.
//
// A finish also ends a job whose TTR has ended and that is ready again: the protocol's command `delete` ends a ready
// job for any client.
//
// A program that uses a client (job_client.hpp) needs reserve and its answer from here, and nothing else.
//
// Thread safety: pure functions. O(bytes).
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <foliot/client/client_error.hpp>
#include <foliot/client/job_record.hpp>
#include <foliot/client/reply.hpp>
#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::client {

/// Reserves the next ready job of these tubes: the most urgent one that is not in a paused tube.
struct reserve {
  std::vector<std::string> tubes;
  /// How long the server waits for a job: in whole seconds, rounded up, and at most 2^31 - 1 of them.
  jobs::milliseconds wait = std::chrono::seconds(30);
};

/// A job that this client has got.
struct reserved_job {
  /// For finish, release, bury and touch. `opening` is the number of the connection, which no other connection of this
  /// process has.
  jobs::reservation token;
  std::string body;
};

/// A job that this client has got, with a body that is over client_limits::most_received.
struct unread_job {
  jobs::reservation token;
  std::uint64_t size = 0;  ///< of its body, in bytes
};

/// The answer to reserve.
struct reserve_answer {
  /// How the reserve has ended.
  enum class kind : std::uint8_t {
    reserved,       ///< `job` is there
    timed_out,      ///< no job was ready in time
    deadline_soon,  ///< a reservation of this client ends within a second, and no job was ready
    too_large,      ///< `unread` is there, and reserved: bury it, or it comes again when its TTR has ended
  };
  kind what = kind::timed_out;
  std::optional<reserved_job> job = std::nullopt;
  std::optional<unread_job> unread = std::nullopt;
};

/// The answer to jobs::peek.
struct peek_answer {
  std::optional<job_record> job;  ///< none: there is no such job
  std::string body;               ///< empty if it was not asked for
};

namespace detail {

template <class Operation>
struct answer_to {
  using type = jobs::answer_of<Operation>;
};
template <>
struct answer_to<reserve> {
  using type = reserve_answer;
};
template <>
struct answer_to<jobs::peek> {
  using type = peek_answer;
};

}  // namespace detail

/// The type that answers an operation of a client: `answer_of<reserve>` is reserve_answer.
template <class Operation>
using answer_of = detail::answer_to<Operation>::type;

/// An answer, or why there is none: an std::expected.
template <class Answer>
struct result : std::expected<Answer, client_error> {
  using std::expected<Answer, client_error>::expected;
  /// Whether the operation was sent more than once. Then the answer is that to the latest sending, and may be about
  /// what an earlier one has done.
  bool is_repeated = false;
};

/// What an operation comes to: its answer, or why there is none.
template <class Operation>
using result_of = result<answer_of<Operation>>;

/// A command, and what a connection must know and do before it sends it.
struct command {
  std::string bytes;                 ///< whole lines, with what follows them. Of a reserve: empty, see reserve_line()
  bool needs_foliot = false;         ///< whether no other server has such a command
  std::string for_others;            ///< what another server gets instead; empty: the same
  std::size_t replies = 1;           ///< how many come
  wanted_bytes wanted{};             ///< of each of them
  std::string tube;                  ///< the connection must use this tube; empty: any
  std::vector<std::string> watched;  ///< and watch these; empty: any
  std::uint64_t connection = 0;      ///< and be the one with this number; 0: any
  bool changes = false;              ///< whether a command that was executed has changed something that stays
  /// Whether the command may be sent again when it is not known whether it was executed: it changes nothing that stays,
  /// or a second execution finds what the first one has done. A put with a key that keeps finds the job of the first
  /// one as long as a worker has not ended it.
  bool is_repeatable = false;
  std::optional<jobs::milliseconds> wait;  ///< of a reserve
};

/// The most that a client sends and receives.
struct client_limits {
  jobs::job_limits job{};                                 ///< of a put: what the server takes (`max-job-size`)
  std::uint64_t most_received = std::uint64_t{64} << 20;  ///< of a body, and of a list
};

/// An operation as a command; bad_request if the protocol cannot say it.
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::put&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const reserve&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::finish&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::release&,
                                                                             const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::bury&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::touch&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::cancel&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::reschedule&,
                                                                             const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::fire_now&,
                                                                             const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::kick&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::peek&, const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::count_tube&,
                                                                             const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::count_all&,
                                                                             const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::list_tubes&,
                                                                             const client_limits&);
[[nodiscard]] FOLIOT_EXPORT std::expected<command, client_error> command_for(const jobs::list_due&,
                                                                             const client_limits&);

/// What the replies say; an error of the server, or bad_answer if they are none to this operation. `replies` are as
/// many as the command wants, and `is_foliot` says whether the server is: its INTERNAL_ERROR means that nothing has
/// changed, and beanstalkd's does not.
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::put> answer_in(const jobs::put&, std::span<server_reply> replies,
                                                           bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<reserve> answer_in(const reserve&, std::span<server_reply> replies,
                                                         bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::finish> answer_in(const jobs::finish&, std::span<server_reply> replies,
                                                              bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::release> answer_in(const jobs::release&, std::span<server_reply> replies,
                                                               bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::bury> answer_in(const jobs::bury&, std::span<server_reply> replies,
                                                            bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::touch> answer_in(const jobs::touch&, std::span<server_reply> replies,
                                                             bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::cancel> answer_in(const jobs::cancel&, std::span<server_reply> replies,
                                                              bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::reschedule> answer_in(const jobs::reschedule&,
                                                                  std::span<server_reply> replies, bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::fire_now> answer_in(const jobs::fire_now&, std::span<server_reply> replies,
                                                                bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::kick> answer_in(const jobs::kick&, std::span<server_reply> replies,
                                                            bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::peek> answer_in(const jobs::peek&, std::span<server_reply> replies,
                                                            bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::count_tube> answer_in(const jobs::count_tube&,
                                                                  std::span<server_reply> replies, bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::count_all> answer_in(const jobs::count_all&,
                                                                 std::span<server_reply> replies, bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::list_tubes> answer_in(const jobs::list_tubes&,
                                                                  std::span<server_reply> replies, bool is_foliot);
[[nodiscard]] FOLIOT_EXPORT result_of<jobs::list_due> answer_in(const jobs::list_due&, std::span<server_reply> replies,
                                                                bool is_foliot);

/// The command of a reserve that waits for so long.
[[nodiscard]] FOLIOT_EXPORT std::string reserve_line(jobs::milliseconds wait);
/// The error that a reply says, where it is one of those that any command may get; nothing if it is another one.
[[nodiscard]] FOLIOT_EXPORT std::optional<client_error> refusal_in(const server_reply& reply, bool changes,
                                                                   bool is_foliot);

/// What a client can ask.
template <class Operation>
concept operation = requires(const Operation& what, const client_limits& limits, std::span<server_reply> replies) {
  command_for(what, limits);
  answer_in(what, replies, true);
};

}  // namespace foliot::client

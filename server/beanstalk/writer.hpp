// The replies of the beanstalk protocol, byte for byte as beanstalkd 1.13 writes them.
//
// Each write_ function appends one whole reply to `out`, which may hold earlier ones: the replies to pipelined commands
// leave in one write. Replies without arguments are constants. The errors that any command may get are bad_format,
// unknown_command, out_of_memory and internal_error.
//
// Thread safety: pure but for `out`. O(length of the reply).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>

#include "statistics.hpp"

namespace foliot::program::beanstalk {

namespace reply {

inline constexpr std::string_view bad_format = "BAD_FORMAT\r\n";
inline constexpr std::string_view buried = "BURIED\r\n";
inline constexpr std::string_view deadline_soon = "DEADLINE_SOON\r\n";
inline constexpr std::string_view deleted = "DELETED\r\n";
inline constexpr std::string_view draining = "DRAINING\r\n";
inline constexpr std::string_view expected_crlf = "EXPECTED_CRLF\r\n";
inline constexpr std::string_view forbidden =
    "FORBIDDEN\r\n";  // foliot's own: the rights of the client do not allow it
inline constexpr std::string_view has_target =
    "HAS_TARGET\r\n";  // foliot's own: to a reserve, if the server delivers the jobs of all watched tubes by itself
inline constexpr std::string_view internal_error = "INTERNAL_ERROR\r\n";
inline constexpr std::string_view job_too_big = "JOB_TOO_BIG\r\n";
inline constexpr std::string_view kicked = "KICKED\r\n";  // to kick-job
inline constexpr std::string_view not_found = "NOT_FOUND\r\n";
inline constexpr std::string_view not_ignored = "NOT_IGNORED\r\n";
inline constexpr std::string_view out_of_memory = "OUT_OF_MEMORY\r\n";
inline constexpr std::string_view paused = "PAUSED\r\n";
inline constexpr std::string_view released = "RELEASED\r\n";
inline constexpr std::string_view timed_out = "TIMED_OUT\r\n";
inline constexpr std::string_view touched = "TOUCHED\r\n";
inline constexpr std::string_view unknown_command = "UNKNOWN_COMMAND\r\n";

/// To what is an HTTP request, and no command.
inline constexpr std::string_view http =
    "HTTP/1.1 400 Bad Request\r\n"
    "Content-Type: text/plain\r\n"
    "Content-Length: 87\r\n"
    "Connection: close\r\n"
    "\r\n"
    "foliot serve listens here, for clients of the beanstalk protocol. This is no web page.\n";

/// To what is no sign-in, or one without access; the connection ends.
inline constexpr std::string_view not_authenticated = "NOT_AUTHENTICATED\r\n";
inline constexpr std::string_view bad_token = "BAD_TOKEN\r\n";  // to x-auth: this is no access token

inline constexpr std::string_view gone = "GONE\r\n";  // to the extension commands: there is no such job

}  // namespace reply

/// Replies of a word and a number.
enum class numbered_reply : std::uint8_t {
  inserted,     ///< to put and x-put: the id of the new job
  buried,       ///< to put: the id of the job, which was stored as buried
  watching,     ///< to watch and ignore: how many tubes are watched
  kicked,       ///< to kick: how many jobs
  kept,         ///< to x-put: the id of the job that has the key
  replaced,     ///< to x-put: the id of the new job; the one that had the key is gone
  exists,       ///< to x-put: the id of the job that has the key, because of which nothing was put
  is_reserved,  ///< to the extension commands: the id of the job, which a worker has
  cancelled,    ///< to x-cancel: the id of the job
  rescheduled,  ///< to x-reschedule: the id of the job
  fired,        ///< to x-fire: the id of the job
};
void write_number(std::string& out, numbered_reply word, std::uint64_t number);

/// `USING` and the tube.
void write_using(std::string& out, std::string_view tube);

/// `RESERVED` (to the reserve commands) and `FOUND` (to the peek commands), with the job's body.
void write_reserved(std::string& out, jobs::job_id id, std::string_view body);
void write_found(std::string& out, jobs::job_id id, std::string_view body);

/// Only the first line of `RESERVED`, for a body that is sent from where it lies; CR LF follows the body.
void write_reserved_line(std::string& out, jobs::job_id id, std::size_t body_size);

/// Text in quotes as YAML has them: with escapes for quotes, backslashes and control characters. Other bytes stay, also
/// those of characters beyond ASCII.
void append_quoted(std::string& out, std::string_view text);

/// `OK` with a list, in this order.
void write_tubes(std::string& out, std::span<const std::string> tubes);

/// `OK` with a list of records, each a line of fields: `- {id: 5, tube: "a"}`.
class record_list {
 public:
  /// With room for so many bytes of lines.
  explicit record_list(std::size_t room);

  /// Begins and ends a record. Its fields are in the order of the calls between the two.
  void begin();
  void end();
  void add(std::string_view key, std::uint64_t value);
  void add(std::string_view key, jobs::job_state value);
  /// In quotes, with escapes as in YAML: other programs that use the store may give their tubes names that have quotes,
  /// backslashes and control characters.
  void add_quoted(std::string_view key, std::string_view value);

  void write(std::string& out) const;

 private:
  void begin_field(std::string_view key);

  std::string text_;
  bool is_first_ = true;  // the next field of its record
};

/// What comes before the lines of a list, of so many bytes. `list_end` follows them.
void write_list_begin(std::string& out, std::size_t lines_size);
inline constexpr std::string_view list_end = "\r\n";

/// `OK` with a dictionary. Text of the statistics is in quotes, with escapes as in YAML.
void write_statistics(std::string& out, const server_statistics& what);
void write_statistics(std::string& out, const tube_statistics& what);
void write_statistics(std::string& out, const job_statistics& what);
void write_statistics(std::string& out, const extended_job_statistics& what);

}  // namespace foliot::program::beanstalk

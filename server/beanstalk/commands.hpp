// The commands of the beanstalk protocol, and the errors that a client can make in sending them, as plain values.
//
// The parser makes them (parser.hpp), a session answers each before it asks for the next. Tube names and keys point
// into the parser and are valid until its next call; a session that needs them longer copies them. All numbers are in
// the range that the protocol allows, and all names are well formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include <foliot/jobs/operations.hpp>

namespace foliot::program::beanstalk {

/// The commands as the statistics count them: first those that `stats` shows, in its order.
enum class verb : std::uint8_t {
  put,
  peek,
  peek_ready,
  peek_delayed,
  peek_buried,
  reserve,
  reserve_with_timeout,
  delete_job,
  release,
  use,
  watch,
  ignore,
  bury,
  kick,
  touch,
  stats,
  stats_job,
  stats_tube,
  list_tubes,
  list_tube_used,
  list_tubes_watched,
  pause_tube,
  kick_job,
  reserve_job,
  quit,
  extension,
};
inline constexpr std::size_t verbs = 26;
inline constexpr std::size_t shown_verbs = 22;

/// A line that is no command: it begins as none of them does. The answer is UNKNOWN_COMMAND.
struct unknown_command {};

/// A line that begins as a command does and goes on wrongly, or is too long, or has a zero. The answer is BAD_FORMAT.
struct bad_format {
  /// Some wrong lines count as a command in the statistics all the same.
  std::optional<verb> counted = std::nullopt;
};

/// A line that begins or ends as an HTTP request does, and is no command. Behind it come headers, and a body that
/// the author of some web page has chosen: no byte of them may be taken for a command, so the session must end the
/// connection.
struct http_request {};

/// The connection begins as one by TLS does. Behind that come bytes that the author of some web page may have chosen,
/// such as a ticket; as with an http_request, the session must end the connection.
struct tls_record {};

/// A put has begun: its line is right, its body has not been read. Needs no answer. beanstalkd counts the put and takes
/// its id here, so that an id is lost with each body that is refused. The session may call parser::discard_body().
struct put_line {
  std::size_t size = 0;     ///< of the body with the fields and the history behind it, in bytes
  bool too_big = false;     ///< the body is over the limit: all of it will be discarded
  bool extended = false;    ///< the line was that of `x-put`
  std::size_t fields = 0;   ///< of these bytes: those of the fields, behind the body
  std::size_t history = 0;  ///< and those of the history, behind them
};

/// A put is complete. Its tube is empty: the session fills in the one that it uses.
struct put {
  jobs::put job;
};

/// The two bytes behind a body were not CR LF. The answer is EXPECTED_CRLF. The next command begins behind them.
struct body_without_crlf {};

/// A body has been discarded, with the two bytes behind it.
struct body_discarded {
  enum class reason : std::uint8_t {
    too_big,        ///< it was over the limit; the answer is JOB_TOO_BIG
    out_of_memory,  ///< there was no memory for it, or the session has asked; the answer is OUT_OF_MEMORY
  };
  reason why = reason::too_big;
};

struct use {
  static constexpr verb counted_as = verb::use;
  std::string_view tube;
};

struct watch {
  static constexpr verb counted_as = verb::watch;
  std::string_view tube;
};

struct ignore {
  static constexpr verb counted_as = verb::ignore;
  std::string_view tube;
};

struct reserve {
  static constexpr verb counted_as = verb::reserve;
};

struct reserve_with_timeout {
  static constexpr verb counted_as = verb::reserve_with_timeout;
  std::uint32_t seconds = 0;  ///< at most 2^31 - 1
};

struct reserve_job {
  static constexpr verb counted_as = verb::reserve_job;
  jobs::job_id id = 0;
};

struct delete_job {
  static constexpr verb counted_as = verb::delete_job;
  jobs::job_id id = 0;
};

struct release {
  static constexpr verb counted_as = verb::release;
  jobs::job_id id = 0;
  jobs::priority priority = 0;
  jobs::milliseconds delay{};
};

struct bury {
  static constexpr verb counted_as = verb::bury;
  jobs::job_id id = 0;
  jobs::priority priority = 0;
};

struct touch {
  static constexpr verb counted_as = verb::touch;
  jobs::job_id id = 0;
};

struct peek {
  static constexpr verb counted_as = verb::peek;
  jobs::job_id id = 0;
};

/// The first job of the used tube in one state.
struct peek_ready {
  static constexpr verb counted_as = verb::peek_ready;
};
struct peek_delayed {
  static constexpr verb counted_as = verb::peek_delayed;
};
struct peek_buried {
  static constexpr verb counted_as = verb::peek_buried;
};

struct kick {
  static constexpr verb counted_as = verb::kick;
  std::uint32_t count = 0;
};

struct kick_job {
  static constexpr verb counted_as = verb::kick_job;
  jobs::job_id id = 0;
};

struct pause_tube {
  static constexpr verb counted_as = verb::pause_tube;
  std::string_view tube;
  jobs::milliseconds length{};  ///< whole seconds; for zero beanstalkd pauses the tube for a nanosecond
};

struct stats {
  static constexpr verb counted_as = verb::stats;
};
struct stats_job {
  static constexpr verb counted_as = verb::stats_job;
  jobs::job_id id = 0;
};
struct stats_tube {
  static constexpr verb counted_as = verb::stats_tube;
  std::string_view tube;
};

struct list_tubes {
  static constexpr verb counted_as = verb::list_tubes;
};
struct list_tube_used {
  static constexpr verb counted_as = verb::list_tube_used;
};
struct list_tubes_watched {
  static constexpr verb counted_as = verb::list_tubes_watched;
};

/// The session closes the connection without an answer.
struct quit {
  static constexpr verb counted_as = verb::quit;
};

/// A job by its id, or by its key in the used tube.
using job_reference = std::variant<jobs::job_id, std::string_view>;

/// `x-cancel`: ends a job that no worker has.
struct cancel {
  static constexpr verb counted_as = verb::extension;
  job_reference job;
};

/// `x-reschedule`: gives a job that no worker has a new due time.
struct reschedule {
  static constexpr verb counted_as = verb::extension;
  job_reference job;
  jobs::due_at due;
};

/// `x-fire`: makes a job that no worker has ready at once.
struct fire_now {
  static constexpr verb counted_as = verb::extension;
  job_reference job;
};

/// `x-stats-job`: the statistics of a job, with what only foliot knows of it.
struct extended_stats_job {
  static constexpr verb counted_as = verb::extension;
  job_reference job;
};

/// `x-due`: a page of what is due next.
struct list_due {
  static constexpr verb counted_as = verb::extension;
  std::uint32_t count = 0;  ///< 1 to jobs::most_listed_due
  jobs::utc_time from;
  jobs::job_id after = 0;
  std::string_view prefix;  ///< empty: all tubes
};

/// One finding of the parser in the bytes of a client.
using event = std::variant<unknown_command, bad_format, http_request, tls_record, put_line, put, body_without_crlf,
                           body_discarded, use, watch, ignore, reserve, reserve_with_timeout, reserve_job, delete_job,
                           release, bury, touch, peek, peek_ready, peek_delayed, peek_buried, kick, kick_job,
                           pause_tube, stats, stats_job, stats_tube, list_tubes, list_tube_used, list_tubes_watched,
                           quit, cancel, reschedule, fire_now, extended_stats_job, list_due>;

/// The command that an event counts as; nothing if it counts as none. A put counts once, with its line.
[[nodiscard]] inline std::optional<verb> counted(const event& what) noexcept {
  return std::visit(
      []<class Event>(const Event& each) -> std::optional<verb> {
        if constexpr (requires { Event::counted_as; }) {
          return Event::counted_as;
        } else if constexpr (requires { each.counted; }) {
          return each.counted;
        } else if constexpr (requires { each.extended; }) {
          return each.extended ? verb::extension : verb::put;
        } else {
          return std::nullopt;
        }
      },
      what);
}

}  // namespace foliot::program::beanstalk

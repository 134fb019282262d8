// The commands of the beanstalk protocol, and the errors that a client can make in sending them, as plain values.
//
// The parser makes them (parser.hpp), a session answers each before it asks for the next. Tube names and keys point
// into the parser and are valid until its next call; a session that needs them longer copies them. All numbers are in
// the range that the protocol allows, and all names are well formed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::runtime {
template <class Result>
class task;
}

namespace foliot::program::beanstalk {

class session;

/// A command as the statistics count it: its place in the table of commands, below.
enum class verb : std::uint8_t {};

/// A line that is no command: it begins as none of them does. The answer is UNKNOWN_COMMAND.
struct unknown_command {
  bool is_sign_in = false;  ///< it is an `x-auth`, where none is expected; the parser has wiped it from its own memory
};

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
  std::string_view tube;
};

struct watch {
  std::string_view tube;
};

struct ignore {
  std::string_view tube;
};

struct reserve {};

struct reserve_with_timeout {
  std::uint32_t seconds = 0;  ///< at most 2^31 - 1
};

struct reserve_job {
  jobs::job_id id = 0;
};

struct delete_job {
  jobs::job_id id = 0;
};

struct release {
  jobs::job_id id = 0;
  jobs::priority priority = 0;
  jobs::milliseconds delay{};
};

struct bury {
  jobs::job_id id = 0;
  jobs::priority priority = 0;
};

struct touch {
  jobs::job_id id = 0;
};

struct peek {
  jobs::job_id id = 0;
};

/// The first job of the used tube in one state.
struct peek_ready {};
struct peek_delayed {};
struct peek_buried {};

struct kick {
  std::uint32_t count = 0;
};

struct kick_job {
  jobs::job_id id = 0;
};

struct pause_tube {
  std::string_view tube;
  jobs::milliseconds length{};  ///< whole seconds; for zero beanstalkd pauses the tube for a nanosecond
};

struct stats {};
struct stats_job {
  jobs::job_id id = 0;
};
struct stats_tube {
  std::string_view tube;
};

struct list_tubes {};
struct list_tube_used {};
struct list_tubes_watched {};

/// The session closes the connection without an answer.
struct quit {};

/// A job by its id, or by its key in the used tube.
using job_reference = std::variant<jobs::job_id, std::string_view>;

/// `x-cancel`: ends a job that no worker has.
struct cancel {
  job_reference job;
};

/// `x-reschedule`: gives a job that no worker has a new due time.
struct reschedule {
  job_reference job;
  jobs::due_at due;
};

/// `x-fire`: makes a job that no worker has ready at once.
struct fire_now {
  job_reference job;
};

/// `x-stats-job`: the statistics of a job, with what only foliot knows of it.
struct extended_stats_job {
  job_reference job;
};

/// `x-due`: a page of what is due next. Its arguments: a count from 1 to 1000, `@` and a time in milliseconds since
/// 1970, an id or 0, and a prefix of the names of tubes, or `-` for all of them.
struct list_due {
  std::uint32_t count = 0;  ///< 1 to jobs::most_listed_due
  jobs::utc_time from;
  jobs::job_id after = 0;
  std::string_view prefix;  ///< empty: all tubes

  static std::optional<list_due> parse(std::string_view arguments);
  static runtime::task<void> answer(session& by, list_due what);
  /// The reply. Each line has at most longest_line bytes.
  static void write(std::string& out, std::span<const jobs::due_job> listed);
  static constexpr std::size_t longest_line = jobs::longest_tube_name + 100;
};

/// What the table says of a command.
struct command_facts {
  std::string_view prefix;         ///< of its lines
  std::string_view shown_as = {};  ///< the line of `stats` with its count; empty: none
};

namespace detail {

/// A row of the table.
template <class Command>
struct command_row {
  command_facts facts;
};
template <class Command, class... Facts>
constexpr command_row<Command> row(Facts... facts) {
  return {command_facts{facts...}};
}

template <class... Command>
class command_table {
 public:
  /// One of the commands, or of the findings that are no commands.
  template <class... Finding>
  using event_or = std::variant<Finding..., Command...>;
  static constexpr std::size_t size = sizeof...(Command);
  /// The place of a command in the table; `size`: it has none.
  template <class Wanted>
  [[nodiscard]] static constexpr std::size_t place_of() noexcept {
    std::size_t place = 0;
    static_cast<void>(((std::is_same_v<Wanted, Command> || (++place, false)) || ...));
    return place;
  }

  constexpr explicit command_table(command_row<Command>... rows) : facts_{rows.facts...} {}
  [[nodiscard]] constexpr const command_facts& at(std::size_t place) const noexcept { return facts_[place]; }
  /// One value for each command, in the order of the table.
  template <class Function>
  [[nodiscard]] constexpr auto each(Function make) const noexcept {
    return std::array{make(command_row<Command>{facts_[place_of<Command>()]})...};
  }

 private:
  std::array<command_facts, size> facts_;
};

}  // namespace detail

/// The table of commands. A command is its struct, its row here, and its answer. `stats` shows the counts in the order
/// of the rows. How its arguments are read is found by its type (command_line.cpp), and how a session answers it, too
/// (session.hpp). Or the struct has both itself: parse(), which command_line.cpp defines, and answer(), in a source of
/// its own. A command beyond the protocol then needs no line elsewhere.
///
/// `x-put` has no row: its line is a put_line, and counts as nothing.
inline constexpr detail::command_table commands(  //
    detail::row<put_line>("put ", "cmd-put"), detail::row<peek>("peek ", "cmd-peek"),
    detail::row<peek_ready>("peek-ready", "cmd-peek-ready"),
    detail::row<peek_delayed>("peek-delayed", "cmd-peek-delayed"),
    detail::row<peek_buried>("peek-buried", "cmd-peek-buried"), detail::row<reserve>("reserve", "cmd-reserve"),
    detail::row<reserve_with_timeout>("reserve-with-timeout ", "cmd-reserve-with-timeout"),
    detail::row<delete_job>("delete ", "cmd-delete"), detail::row<release>("release ", "cmd-release"),
    detail::row<use>("use ", "cmd-use"), detail::row<watch>("watch ", "cmd-watch"),
    detail::row<ignore>("ignore ", "cmd-ignore"), detail::row<bury>("bury ", "cmd-bury"),
    detail::row<kick>("kick ", "cmd-kick"), detail::row<touch>("touch ", "cmd-touch"),
    detail::row<stats>("stats", "cmd-stats"), detail::row<stats_job>("stats-job ", "cmd-stats-job"),
    detail::row<stats_tube>("stats-tube ", "cmd-stats-tube"), detail::row<list_tubes>("list-tubes", "cmd-list-tubes"),
    detail::row<list_tube_used>("list-tube-used", "cmd-list-tube-used"),
    detail::row<list_tubes_watched>("list-tubes-watched", "cmd-list-tubes-watched"),
    detail::row<pause_tube>("pause-tube", "cmd-pause-tube"), detail::row<kick_job>("kick-job "),
    detail::row<reserve_job>("reserve-job "), detail::row<quit>("quit"), detail::row<cancel>("x-cancel "),
    detail::row<reschedule>("x-reschedule "), detail::row<fire_now>("x-fire "),
    detail::row<extended_stats_job>("x-stats-job "), detail::row<list_due>("x-due "));

using command_rows = std::remove_const_t<decltype(commands)>;
inline constexpr std::size_t verbs = command_rows::size;

/// As which a command counts.
template <class Command>
inline constexpr verb verb_of = [] {
  static_assert(command_rows::place_of<Command>() < verbs, "a command has a row in the table");
  return static_cast<verb>(command_rows::place_of<Command>());
}();

/// One finding of the parser in the bytes of a client.
using event = command_rows::event_or<unknown_command, bad_format, http_request, tls_record, put, body_without_crlf,
                                     body_discarded>;

/// The command that an event counts as; nothing if it counts as none. A put counts once, with its line.
[[nodiscard]] inline std::optional<verb> counted(const event& what) noexcept {
  return std::visit(
      []<class Event>(const Event& each) -> std::optional<verb> {
        if constexpr (requires { each.counted; }) {
          return each.counted;
        } else if constexpr (requires { each.extended; }) {
          return each.extended ? std::nullopt : std::optional(verb_of<Event>);
        } else if constexpr (command_rows::place_of<Event>() < verbs) {
          return verb_of<Event>;
        } else {
          return std::nullopt;
        }
      },
      what);
}

}  // namespace foliot::program::beanstalk

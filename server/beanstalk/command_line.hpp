// The grammar of a command line: a function from its text to a command.
//
// It takes and refuses exactly the lines that beanstalkd 1.13 does:
// - A command is recognised by its prefix. One without arguments must end there, so `statsx` is BAD_FORMAT, and `put`
//   without the space that belongs to its prefix is UNKNOWN_COMMAND. `quit` may be followed by anything.
// - A number is decimal digits without a sign; spaces may stand before it. Text may not follow the last number, but may
//   in `reserve-with-timeout`. `kick` takes its count as strtoul does: white space, a sign, any text behind it.
// - A tube name follows its command after exactly one space and ends the line. Only `pause-tube` skips spaces before it
//   and does without the space of its prefix.
//
// Lines that begin with `x-` are foliot's own. No command of beanstalkd does: it answers them with UNKNOWN_COMMAND.
//
//   x-put keep|replace|refuse KEY|- PRIORITY DUE TTR BYTES     and the body, as for put; `-` stands for no key
//   x-put keep|replace|refuse KEY|- PRIORITY DUE TTR BYTES FIELDS HISTORY     the same, and directly behind the body so
//       many bytes of fields and of a history, as <foliot/jobs/fields.hpp> encodes them
//   x-cancel JOB        x-reschedule JOB DUE        x-fire JOB        x-stats-job JOB
//
// where DUE is a delay in milliseconds or `@` and milliseconds since 1970 in UTC, TTR is in milliseconds and positive,
// and JOB is an id or `=` and a key of the used tube. A key is 1 to 128 visible ASCII characters, and not `-` alone.
// A command that parses its own arguments has them in commands.hpp.
//
// Thread safety: pure. O(length of the line), without an allocation but for a long key.
#pragma once

#include <cstdint>
#include <string_view>

#include <foliot/jobs/operations.hpp>

#include "commands.hpp"

namespace foliot::program::beanstalk {

/// The command of a line without its CR LF. A put whose body is larger than `max_body` is `too_big`. For a put_line
/// that is not, `announced` becomes the put without its tube and body; else it stays as it is.
[[nodiscard]] event parse_line(std::string_view line, std::uint32_t max_body, jobs::put& announced);

}  // namespace foliot::program::beanstalk

// The events of jobs as a stream of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html):
//
//   id: 9c1f00d25a7be311-17
//   event: ended
//   data: {"tube":"mail","id":"7","key":"order-7","reason":"finished","at":"2026-11-29T06:00:00.000Z"}
//
// The id of the last event, in Last-Event-ID, is where a client goes on that comes again. `missed` tells it, and a slow
// one, what was left out. A comment after some silence keeps proxies from ending the connection.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/event_buffer.hpp>
#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// So long a stream is silent, at the most.
inline constexpr duration longest_silence = duration::nanoseconds(15'000'000'000);

/// A stream of the events of the tubes that the request names, and its rights include.
[[nodiscard]] task<response> show_events(call& by);

/// A place as an id has it.
[[nodiscard]] std::string text_of(const jobs::event_place& where);
/// The place of an id; nothing if it is none.
[[nodiscard]] std::optional<jobs::event_place> event_place_in(std::string_view text) noexcept;
/// Appends the events, and what was missed before them, as the stream has them.
void append_events(std::string& to, const jobs::event_reader::taken& some);

}  // namespace foliot::program::http

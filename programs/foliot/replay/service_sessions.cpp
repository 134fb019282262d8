#include "service_sessions.hpp"

#include <utility>

namespace foliot::program {

service_sessions::service_sessions(service_options options, duration idle, session_sink sink)
    : session_engine(idle, std::move(sink)), service_(clock_, std::move(options)) {}

void service_sessions::request(std::string_view client, instant time) {
  // When the clock came to now_ it fired all that was due by then.
  if (comes_later(time)) advance_to(time);
  const std::uint64_t hash = hash_of(client);
  if (live_session* const session = go_on(client, hash)) {
    session->idle.reset_at(deadline());
    return;
  }
  live_session& fresh = begin(client, hash);
  fresh.idle = timer(service_, [this, session = &fresh] { end(*session); });
  fresh.idle.start_at(deadline());
}

void service_sessions::finish() {
  for (instant next = clock_.next_deadline(); !next.is_never(); next = clock_.next_deadline()) advance_to(next);
}

void service_sessions::advance_to(instant time) {
  clock_.advance_to(time);
  now_ = clock_.now();
  rethrow_failure();
}

}  // namespace foliot::program

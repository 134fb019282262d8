#include "session_tracker.hpp"

#include <memory>
#include <utility>

#include "../text_hash.hpp"

namespace foliot::program {

session_tracker::session_tracker(std::string engine, duration idle, session_sink sink)
    : idle_(idle),
      sink_(std::move(sink)),
      service_(clock_, service_options{.engine = std::move(engine), .on_exception = [this](std::exception_ptr thrown) {
                                         if (failure_ == nullptr) failure_ = std::move(thrown);
                                       }}) {}

void session_tracker::request(std::string_view client, instant time) {
  // When the clock came to now_ it fired all that was due by then, and whatever was started since is
  // due later, as idle is positive: while time stands still there is nothing to fire.
  if (time > now_) {
    advance_to(time);
  } else if (time < now_) {
    ++out_of_order_;
  }
  const std::uint64_t hash = text_hash(client);
  live_session* const session = live_.find(client, hash);
  if (session == nullptr) return begin(client, hash);
  session->last_request = now_;
  ++session->requests;
  session->idle.reset_at(now_ + idle_);
}

void session_tracker::finish() {
  for (instant next = clock_.next_deadline(); !next.is_never(); next = clock_.next_deadline()) advance_to(next);
}

void session_tracker::begin(std::string_view client, std::uint64_t hash) {
  clients_.add(hash);
  auto fresh = std::make_unique<live_session>(std::string(client), hash, now_, now_, 1);
  fresh->idle = timer(service_, [this, session = fresh.get()] { end(*session); });
  live_.add(std::move(fresh)).idle.start_at(now_ + idle_);
  ++sessions_;
}

void session_tracker::end(const live_session& session) {
  // Its timer, whose callback this is, dies with it; the callback may still run to its end.
  const std::unique_ptr<live_session> over = live_.take(session);
  sink_(ended_session{std::move(over->client), over->start, over->last_request, over->requests, clock_.now()});
}

void session_tracker::advance_to(instant time) {
  clock_.advance_to(time);
  now_ = clock_.now();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace foliot::program

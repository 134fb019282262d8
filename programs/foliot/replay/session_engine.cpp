#include "session_engine.hpp"

#include <memory>
#include <utility>

namespace foliot::program {

live_session* session_engine::go_on(std::string_view client, std::uint64_t hash) noexcept {
  live_session* const session = live_.find(client, hash);
  if (session == nullptr) return nullptr;
  session->last_request = now_;
  ++session->requests;
  return session;
}

live_session& session_engine::begin(std::string_view client, std::uint64_t hash) {
  clients_.add(client, hash);
  live_session& session =
      live_.add(std::make_unique<live_session>(std::string(client), hash, now_, now_, std::uint64_t{1}));
  ++sessions_;
  return session;
}

void session_engine::end(const live_session& session) noexcept {
  // Its timer, whose callback this is, dies with it; the callback may still run to its end.
  const std::unique_ptr<live_session> over = live_.take(session);
  try {
    sink_(ended_session{std::move(over->client), over->start, over->last_request, over->requests, clock_.now()});
  } catch (...) {
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

void session_engine::rethrow_failure() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace foliot::program

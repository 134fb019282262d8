#include "session_tracker.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <foliot/service/timer_service.hpp>

#include "runtime_sessions.hpp"

namespace foliot::program {

namespace {

/// Sessions whose timers are a service's, on the virtual clock.
class service_sessions final : public session_tracker {
 public:
  /// Throws std::invalid_argument for options that no service can have.
  service_sessions(service_options options, duration idle, session_sink sink)
      : session_tracker(idle, std::move(sink)), service_(clock_, std::move(options)) {}

  void request(std::string_view client, instant time) override {
    // When the clock came to now_ it fired all that was due by then.
    if (comes_later(time)) advance_to(time);
    const std::uint64_t hash = hash_of(client);
    if (live_session* const session = go_on(client, hash)) {
      session->idle.reset_at(deadline());
      return;
    }
    live_session& fresh = begin(client, hash);
    fresh.idle = timer(service_, [this, session = &fresh] { end(*session); });
    fresh.idle.reset_at(deadline());
  }

  void finish() override {
    for (instant next = clock_.next_deadline(); !next.is_never(); next = clock_.next_deadline()) advance_to(next);
  }

  [[nodiscard]] service_counters timers() const override { return service_.counters(); }

 private:
  void advance_to(instant time) {
    clock_.advance_to(time);
    now_ = clock_.now();
    rethrow_failure();
  }

  timer_service service_;
};

/// A runtime, by the queue in which its processors keep their timers.
struct runtime_engine {
  std::string_view name;
  std::string_view timers;
};
constexpr std::array runtimes{
    runtime_engine{"foliot-runtime", "foliot"},
    runtime_engine{"processor-heaps", "processor-heaps"},
    runtime_engine{"processor-heaps-1.14", "processor-heaps-1.14"},
};

const runtime_engine* find_runtime(std::string_view name) noexcept {
  const auto found = std::ranges::find(runtimes, name, &runtime_engine::name);
  return found != runtimes.end() ? &*found : nullptr;
}

service_options options_of(std::string_view engine, const std::optional<wheel_shape>& wheel) {
  service_options options;
  options.engine = engine;
  options.wheel = wheel;
  return options;
}

void refuse_wheel(std::string_view name, const std::optional<wheel_shape>& wheel) {
  if (wheel) throw std::invalid_argument("foliot: '" + std::string(name) + "' is a runtime, and has no wheel");
}

}  // namespace

live_session* session_tracker::go_on(std::string_view client, std::uint64_t hash) noexcept {
  live_session* const session = live_.find(client, hash);
  if (session == nullptr) return nullptr;
  session->last_request = now_;
  ++session->requests;
  return session;
}

live_session& session_tracker::begin(std::string_view client, std::uint64_t hash) {
  clients_.add(client, hash);
  live_session& session =
      live_.add(std::make_unique<live_session>(std::string(client), hash, now_, now_, std::uint64_t{1}));
  ++sessions_;
  return session;
}

void session_tracker::end(const live_session& session) noexcept {
  // Destroys the timer whose callback this is; the callback may still run to its end.
  const std::unique_ptr<live_session> over = live_.take(session);
  try {
    sink_(ended_session{std::move(over->client), over->start, over->last_request, over->requests, clock_.now()});
  } catch (...) {
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

void session_tracker::rethrow_failure() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::unique_ptr<session_tracker> make_session_tracker(std::string_view engine, duration idle, session_sink sink,
                                                      const std::optional<wheel_shape>& wheel) {
  if (const runtime_engine* const runtime = find_runtime(engine)) {
    refuse_wheel(engine, wheel);
    return std::make_unique<runtime_sessions>(std::string(runtime->timers), idle, std::move(sink));
  }
  return std::make_unique<service_sessions>(options_of(engine, wheel), idle, std::move(sink));
}

std::vector<std::string_view> session_engines() {
  std::vector<std::string_view> names(timer_service::engines().begin(), timer_service::engines().end());
  for (const runtime_engine& each : runtimes) names.push_back(each.name);
  return names;
}

duration session_lateness(std::string_view engine, duration idle, const std::optional<wheel_shape>& wheel) {
  if (find_runtime(engine) == nullptr) return timer_service::lateness(options_of(engine, wheel), idle);
  refuse_wheel(engine, wheel);
  return duration::zero();
}

}  // namespace foliot::program

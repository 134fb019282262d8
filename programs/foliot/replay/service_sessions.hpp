// Sessions whose timers are a timer service's, on the virtual clock. Thread safety: none, one thread.
#pragma once

#include <foliot/service/timer_service.hpp>

#include "session_engine.hpp"

namespace foliot::program {

class service_sessions final : public session_engine {
 public:
  /// Throws std::invalid_argument for options that cannot be.
  service_sessions(service_options options, duration idle, session_sink sink);

  void request(std::string_view client, instant time) override;
  void finish() override;
  [[nodiscard]] service_counters timers() const override { return service_.counters(); }

 private:
  void advance_to(instant time);

  timer_service service_;
};

}  // namespace foliot::program

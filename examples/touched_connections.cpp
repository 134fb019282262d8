// Closes idle connections in an event loop that learns of many messages at once: one call postpones the timers of all
// connections that have sent something. On virtual time, so that half an hour takes no time.
#include <foliot/service.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <vector>

using namespace std::chrono_literals;

class server {
 public:
  server(foliot::timer_service& timers, std::size_t connections) {
    for (std::size_t i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<connection>());
      connection& made = *connections_.back();
      made.idle = foliot::timer(timers, silence, [this, &made] { close(made); });
    }
  }

  /// One turn of the loop: these connections have sent something.
  void handle(const std::vector<std::size_t>& ready) {
    touched_.clear();
    for (const std::size_t each : ready) {
      connection& here = *connections_[each];
      if (!here.open) continue;
      ++here.messages;
      touched_.emplace_back(here.idle);
    }
    // A timer that could not be reset is as it was: its connection is closed early,
    // and no other one is.
    const foliot::batch_result done = foliot::reset_all(touched_, silence);
    if (done.failed != 0) std::printf("%zu timers were not reset\n", done.failed);
  }

  [[nodiscard]] std::size_t open() const {
    std::size_t count = 0;
    for (const auto& each : connections_) count += each->open ? std::size_t{1} : 0;
    return count;
  }

 private:
  static constexpr auto silence = 30s;

  struct connection {
    bool open = true;
    int messages = 0;
    foliot::timer idle;
  };

  void close(connection& silent) { silent.open = false; }

  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<foliot::timer_ref> touched_;  // keeps its memory from turn to turn
};

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  server chat(timers, 1000);
  // Connection k sends a message every k seconds, so those from the 31st on are silent for too long.
  for (std::size_t second = 1; second <= 1800; ++second) {
    clock.advance(1s);
    std::vector<std::size_t> ready;
    for (std::size_t k = 1; k < 1000; ++k) {
      if (second % k == 0) ready.push_back(k);
    }
    chat.handle(ready);
  }
  std::printf("%zu connections are open after half an hour\n", chat.open());
  clock.advance(1min);
  std::printf("%zu after a minute of silence\n", chat.open());
}

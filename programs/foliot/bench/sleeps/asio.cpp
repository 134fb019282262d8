// Asio: a steady_timer, and run_one until its handler has run.
#include <chrono>
#include <vector>

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "../trials/trial_contestants.hpp"
#include "sleep_log.hpp"

namespace foliot::program::bench {

void add_asio_sleeps(std::vector<trial_contestant>& to) {
  to.push_back({.name = "asio", .takes = all_sleeps, .run = [](const trial& asked) {
                  sleep_log sleeps(asked, early::counts_as_zero);
                  asio::io_context context(1);
                  asio::steady_timer timer(context);
                  while (sleeps.more()) {
                    sleeps.begin();
                    timer.expires_after(std::chrono::nanoseconds(sleeps.length().count()));
                    timer.async_wait([&sleeps](const asio::error_code&) { sleeps.end(); });
                    context.restart();
                    context.run();
                  }
                  return sleeps.found();
                }});
}

}  // namespace foliot::program::bench

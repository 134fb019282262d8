// foliot's timer in an Asio program: it has the interface of asio::steady_timer. A coroutine reads lines from a peer,
// and gives up after 300 ms without a line.
#include <foliot/adapters/asio_timer.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

asio::awaitable<void> peer(foliot::asio_timer& idle) {
  foliot::asio_timer pause(co_await asio::this_coro::executor);
  for (int i = 1; i <= 3; ++i) {
    pause.expires_after(10ms);
    co_await pause.async_wait(asio::use_awaitable);
    std::printf("line %d\n", i);
    idle.expires_after(300ms);  // ends the wait for the old expiry, for certain
  }
}

void watch(foliot::asio_timer& idle) {
  idle.async_wait([&idle](asio::error_code error) {
    if (error == asio::error::operation_aborted) return watch(idle);
    std::puts("good-bye");
  });
}

}  // namespace

int main() {
  asio::io_context context;
  foliot::asio_timer idle(context, 300ms);
  watch(idle);
  asio::co_spawn(context, peer(idle), asio::detached);
  context.run();
}

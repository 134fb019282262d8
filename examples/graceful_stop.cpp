// A server that ends in order: on SIGTERM it accepts no connection any more, lets the requests that run end, and after
// five seconds cancels the rest. Here the program sends the signal to itself.
//
// Three traps. A signal handler may hardly call anything; so a signal set reports the signal to a task. A server that
// waits for its requests without a limit is killed by its supervisor, and then all of them are lost. And a run that
// just ends destroys the tasks where they wait: here each is asked to stop and gets the time to leave, by an exception
// from its wait.
#include <foliot/runtime.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/signal_set.hpp>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

void report(std::string_view what) {
  const auto seconds = static_cast<int>(rt::now().nanoseconds() / 1'000'000'000);
  std::printf("at %d s: %.*s\n", seconds, static_cast<int>(what.size()), what.data());
}

struct server {
  rt::listener gate;
  rt::wait_group requests;
  std::stop_source rest;
};

/// One request: the client sends how many seconds it takes.
foliot::task<> serve(rt::stream client, rt::wait_group::member) {
  std::array<char, 8> text{};
  const auto got = co_await client.read_some(text);
  if (!got) co_return;
  const std::string seconds(text.data(), *got);
  try {
    co_await rt::sleep(std::chrono::seconds(std::stoi(seconds)));
    const auto sent = co_await client.write_all("done");
    if (sent) report("a request of " + seconds + " s is done");
  } catch (const rt::cancelled&) {
    report("a request of " + seconds + " s is cancelled");
    throw;
  }
}

foliot::task<> accept_all(server& self) {
  for (;;) {
    auto client = co_await self.gate.accept();
    if (client) {
      rt::spawn(serve(std::move(*client), self.requests.enter()), self.rest.get_token(), "request");
    } else if (client.error() == rt::io_errc::closed) {
      co_return;  // after any other error accept() may be called again
    }
  }
}

foliot::task<> drain(server& self) {
  auto drained = co_await rt::select(self.requests.wait(), rt::after(5s));
  if (drained.index() == 0) co_return;
  self.rest.request_stop();
  co_await self.requests.wait();
}

foliot::task<> run_until(const rt::signal_set& signals, server& self) {
  auto accepting = rt::spawn(accept_all(self), "accepts");
  const auto signalled = co_await signals.next();
  if (signalled) report("SIGTERM");
  self.gate.close();
  co_await accepting.join();  // so no request begins any more
  co_await drain(self);
  report("the end");
}

foliot::task<> ask(rt::address at, std::string seconds) {
  auto connected = co_await rt::stream::connect(at);
  if (!connected) co_return report("no connection for a request of " + seconds + " s");
  const auto sent = co_await connected->write_all(seconds);
  std::array<char, 8> answer{};
  if (sent) static_cast<void>(co_await connected->read_some(answer));
}

foliot::task<> clients(rt::address at) {
  for (const char* seconds : {"2", "4", "60"}) rt::spawn(ask(at, seconds), "client");
  co_await rt::sleep(1s);
  kill(getpid(), SIGTERM);
  co_await rt::sleep(1ms);
  co_await ask(at, "1");
}

foliot::task<> program() {
  const auto signals = rt::signal_set::watch({SIGTERM}).value();
  const auto at = rt::address::parse("unix:@graceful-stop-" + std::to_string(getpid())).value();
  server self{rt::listener::listen(at).value(), {}, {}};
  rt::spawn(clients(at), "clients");
  co_await run_until(signals, self);
}

int main() {
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(), options);
}

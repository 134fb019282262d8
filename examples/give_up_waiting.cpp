// A function that blocks for too long, such as a call of another library, and cannot be ended: the task that has called
// it goes on after a while without it. The call itself goes on, on its thread of blocking().
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

#include <foliot/runtime.hpp>

namespace rt = foliot::runtime;
using namespace std::chrono_literals;

namespace {

std::atomic<bool> server_answers{false};

/// Stands for a function of another library, which waits for a server.
std::string slow_lookup(std::string key) {
  server_answers.wait(false);
  return "the value of " + key;
}

/// In a task of its own. Parameters by value: this task may outlive the caller.
foliot::task<std::string> look_up(std::string key) {
  auto call = [&key] { return slow_lookup(key); };
  co_return co_await rt::blocking(call);
}

foliot::task<> wait_for(rt::join_handle<std::string>& running, std::string& value) { value = co_await running.join(); }

foliot::task<> program() {
  for (const foliot::duration limit : {foliot::duration(1ms), foliot::duration(1min)}) {
    auto running = rt::spawn(look_up("a"), "looks up");
    std::string value;
    auto waiting = wait_for(running, value);
    // The timeout ends the join, not the call.
    const auto in_time = co_await rt::with_timeout(std::move(waiting), limit);
    std::printf("%s\n", in_time ? value.c_str() : "too slow: go on without it");
    server_answers = true;
    server_answers.notify_all();
  }
}

}  // namespace

int main() { foliot::run(program()); }

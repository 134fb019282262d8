// A queue that delivers each message when it is due, in the order of their due times; messages with the same due time
// are delivered in the order in which they were sent. (Tokio's DelayQueue.)
//
// One task holds the messages, and one timer waits for the earliest of them. The trap is a message that is due before
// that one: the timer must be set again, and may have fired at the same moment. The select solves this: after a message
// or a fired timer, the task delivers all that is due, and sets the timer for the message that is now the first.
#include <foliot/runtime.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

struct message {
  message(foliot::instant when, std::string what) : due(when), text(std::move(what)) {}
  foliot::instant due;
  std::string text;
};

/// Returns when `incoming` is closed and all its messages have been delivered.
foliot::task<> deliver_when_due(rt::receive_end<message> incoming, rt::send_end<message> delivered) {
  std::multimap<foliot::instant, message> waiting;  // equal keys keep the order of their insertion
  rt::timer due{foliot::instant::never()};
  bool open = true;
  while (open || !waiting.empty()) {
    auto happens = co_await rt::select(rt::when(open, incoming.receive()), due.c());
    if (happens.index() == 0) {
      auto came = happens.get<0>();
      open = came.has_value();
      if (came) waiting.emplace(came->due, std::move(*came));
    }
    while (!waiting.empty() && waiting.begin()->first <= rt::now()) {
      auto first = waiting.extract(waiting.begin());
      co_await delivered.send(std::move(first.mapped()));
    }
    due.reset_at(waiting.empty() ? foliot::instant::never() : waiting.begin()->first);
  }
  delivered.close();
}

foliot::task<> send_some(rt::channel<message> to) {
  const foliot::instant start = rt::now();
  co_await to.send(message(start + 10s, "ten seconds"));
  co_await to.send(message(start + 3s, "three seconds"));
  co_await to.send(message(start + 10s, "ten seconds, sent later"));
  co_await rt::sleep(5s);
  co_await to.send(message(start + 7s, "seven seconds, sent after five"));  // due before the message that is waited for
  co_await to.send(message(start + 1s, "due already"));
  to.close();
}

foliot::task<> program() {
  const foliot::instant start = rt::now();
  rt::channel<message> sent;
  rt::channel<message> delivered;
  rt::spawn(deliver_when_due(sent, delivered), "queue");
  rt::spawn(send_some(sent), "sender");
  while (auto next = co_await delivered.receive()) {
    const auto seconds = static_cast<int>((rt::now() - start) / foliot::duration(1s));
    std::printf("at %2d s: %s\n", seconds, next->text.c_str());
  }
}

int main() {
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(), options);
}

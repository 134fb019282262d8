// Closes idle connections, as every server must: each connection has a timer, which every message resets, and which
// closes the connection after too long a silence. A ticker makes a client talk meanwhile.
//
// Callbacks run on the service's thread; what they share with other threads has its own lock.
#include <foliot/service.hpp>

#include <cstdio>
#include <list>
#include <mutex>
#include <string>

using namespace std::chrono_literals;

class server {
 public:
  explicit server(foliot::timer_service& timers) : timers_(timers) {}

  void connect(const std::string& name) {
    const std::lock_guard held(mutex_);
    connection& made = connections_.emplace_back(name);
    made.idle = foliot::timer(timers_, 100ms, [this, &made] { close(made); });
  }

  void message_from(const std::string& name) {
    const std::lock_guard held(mutex_);
    for (connection& each : connections_) {
      // One that is just being closed stays closed.
      if (each.name == name) each.idle.reset(100ms);
    }
  }

  std::size_t open() {
    const std::lock_guard held(mutex_);
    return connections_.size();
  }

 private:
  struct connection {
    explicit connection(std::string its_name) : name(std::move(its_name)) {}
    std::string name;
    foliot::timer idle;
  };

  void close(connection& silent) {
    const std::lock_guard held(mutex_);
    std::printf("%s was silent for 100 ms: closed\n", silent.name.c_str());
    // The timer dies with its connection, from inside its own callback: that is allowed.
    connections_.remove_if([&](const connection& each) { return &each == &silent; });
  }

  foliot::timer_service& timers_;
  std::mutex mutex_;
  std::list<connection> connections_;
};

int main() {
  foliot::timer_service timers;
  server chat(timers);
  chat.connect("alice");
  chat.connect("bob");
  {
    const foliot::ticker alice_talks(timers, 20ms, [&] { chat.message_from("alice"); });
    while (chat.open() == 2) foliot::sleep_for(timers, 10ms);
    std::printf("%zu connection left\n", chat.open());
  }  // alice falls silent
  while (chat.open() == 1) foliot::sleep_for(timers, 10ms);
  std::puts("all closed");
}

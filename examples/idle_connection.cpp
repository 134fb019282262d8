// Connections that close when they are silent, with the timer inside the connection: nothing is allocated for it, and
// the cache lines of the connection that a message touches anyway bring the timer along.
//
// The loop reads the clock once for all messages of a turn, and passes the time. A connection may be destroyed inside
// the callback of its own timer. Here everything happens on one thread, on virtual time.
//
// On real time the callback runs on the service's thread, and the table needs a lock. A thread must not destroy a
// connection under that lock: the destructor of the timer waits for the callback, and the callback for the lock. So
// each thread, and the callback, moves the connection out of the table under the lock and destroys it after the lock is
// released. The callback finds its connection in the table, by a number that is never used again, and not by a pointer:
// another thread may have removed it. Resets are made under the lock. docs/promises/lifetime.md has that form.
#include <foliot/service.hpp>

#include <cstdio>
#include <list>
#include <string>
#include <utility>

using namespace std::chrono_literals;

class connection_table;

class connection {
 public:
  connection(connection_table& table, foliot::timer_service& timers, std::string name)
      : name_(std::move(name)), idle_(timers, 30s, close_idle{&table, this}) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  /// A message has come in a turn of the loop that began at `now`.
  void received(foliot::instant now) { idle_.reset_at(now + 30s); }

 private:
  struct close_idle {
    connection_table* table;
    connection* self;
    void operator()() const;
  };

  std::string name_;
  foliot::pinned_timer<close_idle> idle_;  // last, so that it goes first
};

class connection_table {
 public:
  explicit connection_table(foliot::timer_service& timers) : timers_(timers) {}

  connection& open(std::string name) { return connections_.emplace_back(*this, timers_, std::move(name)); }
  void close(const connection& closed) {
    std::printf("%s was silent for 30 s: closed\n", closed.name().c_str());
    connections_.remove_if([&](const connection& each) { return &each == &closed; });
  }
  [[nodiscard]] std::size_t size() const { return connections_.size(); }

 private:
  foliot::timer_service& timers_;
  std::list<connection> connections_;
};

// The closure is on the stack while it runs, so it may destroy the connection that it belongs to.
void connection::close_idle::operator()() const { table->close(*self); }

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers{clock};
  connection_table table{timers};
  connection& alice = table.open("alice");
  table.open("bob");
  clock.advance(20s);
  alice.received(timers.now());
  clock.advance(20s);
  std::printf("%zu connection is open\n", table.size());
  clock.advance(10s);
  std::printf("%zu connections are open\n", table.size());
}

// The commands of one connection in a simulated world: chosen by the seed, written as bytes, and noted in the history
// with their answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace foliot::program::worlds {

/// One reply of the server.
struct reply {
  std::string line;
  std::string body;

  /// Takes the first whole reply off the bytes that have come, if there is one.
  [[nodiscard]] static std::optional<reply> of(std::string& received);
};

class requests {
 public:
  requests(world& in, std::size_t connection) : in_(in), connection_(connection) {}

  [[nodiscard]] std::size_t connection() const { return connection_; }
  /// The commands that choose the tubes.
  [[nodiscard]] std::string greeting();
  /// Any command.
  [[nodiscard]] std::string next();
  /// How long to wait before the next one.
  [[nodiscard]] duration pause();

  /// The first command that is not answered, or null.
  [[nodiscard]] event* front() const { return open_.empty() ? nullptr : open_.front(); }
  void answered(reply got);
  /// The client does not read the answers to the open commands at once.
  void is_slow();
  /// The answer to the first open command should have come.
  void misses();

 private:
  event& note(verb what);
  std::string expect(std::string command, std::string expected);
  std::string put();
  std::string extended_put();
  std::string reserve();
  std::string of_held_job();
  std::string of_job(verb what, std::string_view word, jobs::job_id id);
  std::string of_named_job();
  std::string other();
  std::string page();
  [[nodiscard]] jobs::job_id some_job();
  [[nodiscard]] std::string some_key();

  world& in_;
  const std::size_t connection_;
  std::string used_ = "default";
  std::set<std::string> watched_{"default"};
  std::deque<event*> open_;
  std::vector<jobs::job_id> held_;
  std::optional<jobs::due_job> last_listed_;
  bool aims_ = false;  ///< the next command is sent when a reservation ends
};

}  // namespace foliot::program::worlds

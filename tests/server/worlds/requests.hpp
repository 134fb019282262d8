// The commands of one connection in a simulated world: chosen by the seed, written as bytes, and noted in the history
// with their answers. What the protocols share; beanstalk_requests.hpp and http_requests.hpp have the rest.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client_world.hpp"

namespace foliot::program::worlds {

class requests {
 public:
  requests(client_world& in, std::size_t connection, protocol_of by, std::size_t node = 0)
      : in_(in), connection_(connection), node_(node), by_(by) {}
  requests(const requests&) = delete;
  requests& operator=(const requests&) = delete;
  virtual ~requests() = default;

  [[nodiscard]] std::size_t connection() const { return connection_; }
  /// What a connection begins with.
  [[nodiscard]] virtual std::string greeting() = 0;
  /// Any command.
  [[nodiscard]] virtual std::string next() = 0;
  /// Notes the first whole answer in the bytes that have come, and takes it off them. False: there is none.
  [[nodiscard]] virtual bool take_answer(std::string& received) = 0;
  /// Whether the server ends the connection behind the answers to what was sent.
  [[nodiscard]] virtual bool is_last() const { return false; }
  /// How long to wait before the next one.
  [[nodiscard]] duration pause();

  /// The first command that is not answered, or null.
  [[nodiscard]] event* front() const { return open_.empty() ? nullptr : open_.front(); }
  /// The client does not read the answers to the open commands at once.
  void is_slow();
  /// The answer to the first open command should have come.
  void misses();

 protected:
  /// A command that is being sent.
  event& note(verb what);
  /// The same for one that is sent again.
  event& note_again(const event& first);
  /// The commands that are not answered, the latest last.
  [[nodiscard]] const std::deque<event*>& open() const { return open_; }
  /// The first open commands, which one answer has answered now.
  std::vector<event*> take_answered(std::size_t count);
  /// What clients of the world learn from an answer that is noted.
  void learn(const event& from);

  [[nodiscard]] bool takes_aim() { return std::exchange(aims_, false); }
  [[nodiscard]] jobs::job_id some_job();
  [[nodiscard]] std::string some_key();
  [[nodiscard]] std::string new_body();
  /// Chooses the prefix, the size and the beginning of a page: behind the last one of this client, or anywhere.
  event& note_page();

  client_world& in_;
  std::string used_ = "default";
  std::optional<jobs::due_job> last_listed_;

 private:
  const std::size_t connection_;
  const std::size_t node_;
  const protocol_of by_;
  std::deque<event*> open_;
  bool aims_ = false;  // the next command is sent when a reservation ends
};

}  // namespace foliot::program::worlds

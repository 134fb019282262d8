// The commands of a connection that speaks beanstalk.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "requests.hpp"

namespace foliot::program::worlds {

class beanstalk_requests final : public requests {
 public:
  beanstalk_requests(client_world& in, std::size_t connection) : requests(in, connection, protocol_of::beanstalk) {}

  /// The commands that choose the tubes.
  [[nodiscard]] std::string greeting() override;
  [[nodiscard]] std::string next() override;
  [[nodiscard]] bool take_answer(std::string& received) override;

 private:
  std::string expect(std::string command, std::string expected);
  std::string put();
  std::string extended_put();
  std::string reserve();
  std::string of_held_job();
  std::string of_job(verb what, std::string_view word, jobs::job_id id);
  std::string of_named_job();
  std::string other();
  std::string page();
  void note_answer(event& it, const std::string& line, std::string body);

  std::set<std::string> watched_{"default"};
  std::vector<jobs::job_id> held_;
};

}  // namespace foliot::program::worlds

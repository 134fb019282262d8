#include "protocol.hpp"

#include <chrono>

#include <foliot/runtime/wall_time.hpp>

#include "load_limits.hpp"
#include "problem.hpp"
#include "writer.hpp"

namespace foliot::program::http {

task<> protocol::serve(byte_stream& peer) {
  session with(service_, memory_, peer, limits_, times_);
  co_await with.run();
}

std::string protocol::refusal(access_limit by) const {
  const response last =
      by == access_limit::of_address
          ? respond_too_many("this address has as many connections as it may", problem_outcome::connections_of_address)
          : respond(problem{503, "the server has as many connections as it may: try again"});
  std::string text;
  append_head(text, last, response_form{false, false, true},
              std::chrono::floor<std::chrono::seconds>(runtime::wall_now()));
  return text + last.body;
}

}  // namespace foliot::program::http

#include "protocol.hpp"

#include "session.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

task<> protocol::serve(byte_stream& peer) {
  session with(state_, peer);
  co_await with.run();
}

std::string_view protocol::refusal() const noexcept { return reply::out_of_memory; }

}  // namespace foliot::program::beanstalk

#include "protocol.hpp"

namespace foliot::program::http {

task<> protocol::serve(byte_stream& peer) {
  session with(service_, memory_, peer, limits_, times_);
  co_await with.run();
}

std::string_view protocol::refusal() const noexcept {
  return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
}

}  // namespace foliot::program::http

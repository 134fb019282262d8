#include "protocol.hpp"

#include "session.hpp"
#include "sign_in.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

task<> protocol::serve(byte_stream& peer) {
  if (tokens_ != nullptr) {
    co_await serve_signed_in(peer);
    co_return;
  }
  session with(state_, peer);
  co_await with.run();
}

task<> protocol::serve_signed_in(byte_stream& peer) {
  auto signing_in = sign_in(peer, *tokens_, *log_);
  const signed_in client = co_await signing_in;
  if (client.given == nullptr) co_return;
  const rights_holder holder(&tokens_->who(), client.given, [&peer] { peer.close(); });
  session with(state_, peer, holder, client.unread);
  co_await with.run();
}

std::string_view protocol::refusal() const noexcept { return reply::out_of_memory; }

}  // namespace foliot::program::beanstalk

#include "protocol.hpp"

#include <chrono>
#include <memory>
#include <string>

#include "server/core/access.hpp"
#include "server/core/wiping_allocator.hpp"
#include "session.hpp"
#include "sign_in.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

namespace {

constexpr duration time_for_refusal = std::chrono::seconds(1);
/// The time between two lines of the log about the limit.
constexpr duration between_refusals = std::chrono::minutes(1);

}  // namespace

task<> protocol::serve(byte_stream& peer) {
  if (tokens_ != nullptr) {
    co_await serve_signed_in(peer);
    co_return;
  }
  session with(state_, peer);
  co_await with.run();
}

task<> protocol::serve_signed_in(byte_stream& peer) {
  const std::shared_ptr<const rights> shown = rights_of_certificate(peer, tokens_->who());
  const std::string by_certificate = shown == nullptr ? std::string() : shown->id();
  keyed_places::place mine;  // a client with a certificate has one while it is silent, too
  if (!by_certificate.empty() && !enter_as(by_certificate, mine)) {
    auto refusing = refuse(peer, by_certificate);
    co_await refusing;
    co_return;
  }
  auto signing_in = sign_in(peer, shown, *tokens_, *log_);
  signed_in client = co_await signing_in;
  if (client.given == nullptr) co_return;
  const std::string& id = client.given->id();
  if (id != by_certificate && !enter_as(id, mine)) {
    auto refusing = refuse(peer, id);
    co_await refusing;
    co_return;
  }
  const rights_holder holder(&tokens_->who(), client.given, [&peer] { peer.close(); });
  session with(state_, peer, holder, client.unread);
  wipe(client.unread);  // the session has a copy, and wipes it
  co_await with.run();
}

bool protocol::enter_as(std::string_view id, keyed_places::place& mine) {
  if (state_.door == nullptr) return true;
  mine = state_.door->enter_as(id);
  return static_cast<bool>(mine);
}

task<> protocol::refuse(byte_stream& peer, std::string_view id) {
  log_->warning("an access token has too many connections",
                state_.door->why_refused(access_limit::of_token, peer.peer_address(), id), between_refusals);
  peer.set_write_deadline(time_for_refusal);
  const bool written = co_await write_all(peer, reply::out_of_memory);
  if (written) co_await drop_the_rest(peer);
}

std::string protocol::refusal(access_limit) const { return std::string(reply::out_of_memory); }

}  // namespace foliot::program::beanstalk

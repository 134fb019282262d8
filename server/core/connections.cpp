#include "connections.hpp"

#include <exception>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "process_end.hpp"

namespace foliot::program {

namespace {

using namespace std::chrono_literals;

/// How long a client may take to read why it is refused, or that no more comes.
constexpr duration time_for_last_words = 1s;
/// The time between two lines of the log about one limit.
constexpr duration between_refusals = 60s;
/// How long a handshake may take. The client has a place meanwhile.
constexpr duration time_for_opening = 10s;

task<> wait_for(runtime::wait_group& group) { co_await group.wait(); }

}  // namespace

/// A connection among all of them, until its task ends, however it ends.
class connections::listed {
 public:
  /// Throws std::bad_alloc.
  listed(connections& in, const shared_stream& peer) : in_(in), peer_(*peer) {
    const lock held(in_.lock_);
    if (in_.ending_) return;
    in_.all_.emplace(++in_.last_, peer);
    number_ = in_.last_;
  }
  ~listed() {
    peer_.close();
    const lock held(in_.lock_);
    in_.all_.erase(number_);
  }
  listed(const listed&) = delete;
  listed& operator=(const listed&) = delete;

  /// False if all of them are being ended already.
  [[nodiscard]] bool is_in() const noexcept { return number_ != 0; }

 private:
  connections& in_;
  byte_stream& peer_;  // owned by the task
  std::uint64_t number_ = 0;
};

task<> connections::accept_all(const listener& gate, duration round) {
  shortage lacking;
  for (bool goes_on = true; goes_on;) {
    rounds_.fetch_add(1, seam::relaxed);
    try {
      goes_on = co_await accept_one(gate, round);
      lacking.end();
    } catch (const std::bad_alloc&) {
      log_.warning("accept", "no memory for another connection");
      lacking.note();
    }
  }
  handshakes_.cancel();
  co_await refusals_.wait();
}

task<std::unique_ptr<byte_stream>> connections::open(const listener& gate, runtime::stream accepted) {
  auto in_time = runtime::with_timeout(gate.open(std::move(accepted)), time_for_opening);
  auto opening = runtime::run_in(handshakes_, std::move(in_time));
  auto opened = co_await opening;
  if (!opened || !*opened) co_return nullptr;
  co_return std::move(**opened);
}

task<bool> connections::accept_one(const listener& gate, duration round) {
  auto peer = co_await gate.accept(round);
  if (peer) {
    const runtime::address from = peer->peer_address().value_or(runtime::address());
    access::place place = access_.enter(protocol_.is_of_proxy(from) ? runtime::address() : from);
    if (place) {
      auto serving = serve_one(gate, std::move(*peer), std::move(place), sessions_.enter());
      static_cast<void>(runtime::spawn(std::move(serving), "serves a connection"));
    } else {
      say_refused(place.refused_by(), from);
      access::place last_words = refused_.enter();
      if (!last_words) co_return true;
      auto refusing = refuse(gate, std::move(*peer), place.refused_by(), std::move(last_words), refusals_.enter());
      static_cast<void>(runtime::spawn(std::move(refusing), "refuses a connection"));
    }
  } else if (peer.error() == runtime::io_errc::closed) {
    co_return false;
  } else if (peer.error() != runtime::io_errc::deadline_exceeded) {
    log_.warning("accept", fmt::format("cannot accept a connection: {}", peer.error().message()));
    co_await runtime::sleep(10ms);
  }
  co_return true;
}

task<> connections::refuse(const listener& gate, runtime::stream accepted, access_limit by, access::place place,
                           runtime::wait_group::member) {
  const access::place mine(std::move(place));
  auto opening = open(gate, std::move(accepted));
  const std::unique_ptr<byte_stream> peer = co_await opening;
  if (peer == nullptr) co_return;
  peer->set_write_deadline(time_for_last_words);
  const std::string reply = protocol_.refusal(by);
  const bool written = co_await write_all(*peer, reply);
  // What the client has sent must be read: it would end the connection before the client has the reply.
  if (written) co_await drop_the_rest(*peer);
}

task<> connections::serve_one(const listener& gate, runtime::stream accepted, access::place place,
                              runtime::wait_group::member) {
  const access::place mine(std::move(place));  // left before the member, for which the end waits
  try {
    auto opening = open(gate, std::move(accepted));
    const shared_stream peer = co_await opening;
    if (peer == nullptr) co_return;
    const listed here(*this, peer);
    if (!here.is_in()) co_return;
    co_await protocol_.serve(*peer);
    peer->set_write_deadline(time_for_last_words);
    co_await peer->close_write();
  } catch (const jobs::store_failure&) {
    // The server says so once, for all connections.
  } catch (const jobs::broker_closed&) {
    // The server ends.
  } catch (const runtime::cancelled& stopped) {
    say_closed(stopped.what());
  } catch (const std::bad_alloc&) {
    say_closed("there is not enough memory");
  } catch (const std::exception& other) {
    say_closed(other.what());
  }
}

void connections::say_refused(access_limit by, const runtime::address& from) const {
  if (by == access_limit::all) return log_.warning("accept", access_.why_refused(by, from));
  log_.warning("an address has too many connections", access_.why_refused(by, from), between_refusals);
}

void connections::say_closed(const char* why) const noexcept {
  try {
    log_.warning("close a connection", fmt::format("close a connection: {}", why));
  } catch (...) {
    log_.warning("close a connection", "close a connection: there is not enough memory");
  }
}

std::vector<connections::shared_stream> connections::all() {
  const lock held(lock_);
  std::vector<shared_stream> found;
  found.reserve(all_.size());
  for (const auto& [number, peer] : all_) found.push_back(peer);
  return found;
}

task<> connections::end(duration patience) {
  {
    const lock held(lock_);
    ending_ = true;
  }
  for (const shared_stream& each : all()) each->end_reading();
  const auto ended = co_await runtime::with_timeout(wait_for(sessions_), patience);
  if (ended) co_return;
  for (const shared_stream& each : all()) each->close();
  co_await sessions_.wait();
}

}  // namespace foliot::program

#include "connections.hpp"

#include <sys/socket.h>

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

/// How long a refused client may take to read why.
constexpr duration refusal_time = 1s;

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
  runtime::stream& peer_;  // owned by the task
  std::uint64_t number_ = 0;
};

task<> connections::accept_all(const runtime::listener& gate, duration round) {
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
  co_await refusals_.wait();
}

task<bool> connections::accept_one(const runtime::listener& gate, duration round) {
  if (round != duration::forever()) gate.set_read_deadline(round);
  auto peer = co_await gate.accept();
  if (peer) {
    if (sessions_.count() < most_) {
      begin(std::move(*peer));
    } else {
      static_cast<void>(runtime::spawn(refuse(std::move(*peer), refusals_.enter()), "refuses a connection"));
      log_.warning("accept", fmt::format("refuse connections: there are {}, the limit of --max-connections", most_));
    }
  } else if (peer.error() == runtime::io_errc::closed) {
    co_return false;
  } else if (peer.error() != runtime::io_errc::deadline_exceeded) {
    log_.warning("accept", fmt::format("cannot accept a connection: {}", peer.error().message()));
    co_await runtime::sleep(10ms);
  }
  co_return true;
}

void connections::begin(runtime::stream peer) {
  const int on = 1;  // so that a client whose machine has gone is noticed some day
  static_cast<void>(::setsockopt(peer.native_handle(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
  auto added = std::make_shared<runtime::stream>(std::move(peer));
  static_cast<void>(runtime::spawn(serve_one(std::move(added), sessions_.enter()), "serves a connection"));
}

task<> connections::refuse(runtime::stream peer, runtime::wait_group::member) {
  peer.set_deadline(refusal_time);
  static_cast<void>(co_await peer.write_all(refusal_));
  static_cast<void>(peer.close_write());
}

task<> connections::serve_one(shared_stream peer, runtime::wait_group::member) {
  const listed here(*this, peer);
  if (!here.is_in()) co_return;
  try {
    co_await serve_(*peer);
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
  for (const shared_stream& each : all()) static_cast<void>(each->close_read());
  const auto ended = co_await runtime::with_timeout(wait_for(sessions_), patience);
  if (ended) co_return;
  for (const shared_stream& each : all()) each->close();
  co_await sessions_.wait();
}

}  // namespace foliot::program

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

namespace foliot::program {

namespace {

using namespace std::chrono_literals;

/// How long a refused client may take to read why.
constexpr duration refusal_time = 1s;

task<> wait_for(runtime::wait_group& group) { co_await group.wait(); }

}  // namespace

task<> connections::accept_all(const runtime::listener& gate) {
  for (;;) {
    auto peer = co_await gate.accept();
    if (!peer && peer.error() == runtime::io_errc::closed) break;
    std::string problem;
    if (!peer) {
      problem = fmt::format("cannot accept a connection: {}", peer.error().message());
      co_await runtime::sleep(10ms);
    } else if (sessions_.count() >= most_) {
      problem = fmt::format("refuse connections: there are {}, the limit of --max-connections", most_);
      static_cast<void>(runtime::spawn(refuse(std::move(*peer), refusals_.enter()), "refuses a connection"));
    } else {
      problem = begin(std::move(*peer));
    }
    if (!problem.empty()) log_.warning("accept", problem);
  }
  co_await refusals_.wait();
}

std::string connections::begin(runtime::stream peer) {
  const int on = 1;  // so that a client whose machine has gone is noticed some day
  static_cast<void>(::setsockopt(peer.native_handle(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
  try {
    auto added = std::make_shared<runtime::stream>(std::move(peer));
    static_cast<void>(runtime::spawn(serve_one(std::move(added), sessions_.enter()), "serves a connection"));
  } catch (const std::bad_alloc&) {
    return "no memory for another connection";
  }
  return "";
}

task<> connections::refuse(runtime::stream peer, runtime::wait_group::member) {
  peer.set_deadline(refusal_time);
  static_cast<void>(co_await peer.write_all(refusal_));
  static_cast<void>(peer.close_write());
}

task<> connections::serve_one(shared_stream peer, runtime::wait_group::member) {
  std::uint64_t number = 0;
  {
    const lock held(lock_);
    if (ending_) co_return;
    number = ++last_;
    all_.emplace(number, peer);
  }
  std::string failure;
  try {
    co_await serve_(*peer);
  } catch (const jobs::store_failure&) {
    // The server says so once, for all connections.
  } catch (const jobs::broker_closed&) {
    // The server ends.
  } catch (const jobs::broker_full& full) {
    failure = full.what();
  } catch (const runtime::cancelled& stopped) {
    failure = stopped.what();
  } catch (const std::exception& other) {
    failure = other.what();
  }
  if (!failure.empty()) log_.warning("close a connection", fmt::format("close a connection: {}", failure));
  peer->close();
  const lock held(lock_);
  all_.erase(number);
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

// The simulated side of the poller seam: the test owns the descriptors and makes them ready.
//
// As in the system, each wait reports a level as long as it lasts, and an edge once. The descriptors take turns, from a
// random one on. Between the look at them and the sleep no other thread runs.
#include <foliot/core/seam/poller.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/core/seam/system.hpp>

#include "foliot_simulation/world.hpp"

namespace foliot::simulation {
namespace {

// For all worlds. Numbers are not reused, so the descriptors that failed worlds leave do no harm.
std::vector<descriptor*> descriptors;
std::vector<seam::poller*> all_pollers;
int next_number = 100;

readiness ready_of(int number);

}  // namespace
}  // namespace foliot::simulation

namespace foliot::inline core::seam {

class pollers {
 public:
  static polled look(poller& looks, std::span<poll_event> into) {
    polled result;
    auto& all = looks.watched_;
    const std::size_t first = all.empty() ? 0 : simulation::choose(all.size());
    for (std::size_t i = 0; i < all.size() && result.events < into.size(); ++i) {
      auto& each = all[(first + i) % all.size()];
      const readiness ready = simulation::ready_of(each.fd) & each.what.may_be_told();
      if (ready == readiness::none || each.told) continue;
      each.told = each.what.told() == trigger::edge;
      into[result.events++] = {each.token, ready};
    }
    result.woken = std::exchange(looks.rung_, false);
    result.rung = looks.bell_ != nullptr && simulation::tell_of_ring(*looks.bell_);
    return result;
  }

  static auto find(poller& in, int fd) { return std::ranges::find(in.watched_, fd, &poller::watched::fd); }

  /// Whether a wait would report an event: then its descriptor is readable.
  static bool would_report(const poller& at) {
    return std::ranges::any_of(at.watched_, [](const poller::watched& each) {
      return !each.told && (simulation::ready_of(each.fd) & each.what.may_be_told()) != readiness::none;
    });
  }

  /// Called after a change: wakes the sleeping threads, which then look again.
  static void stir(poller& at) {
    at.changes_.fetch_add(1);
    futex_wake(at.changes_, 1);
  }

  static void became_ready(poller& at, int fd) {
    const auto watched = find(at, fd);
    if (watched == at.watched_.end()) return;
    watched->told = false;
    const int number = at.epoll_;
    stir(at);
    tell_outer(number);
  }

  /// Other pollers may watch the descriptor of this one. While one is woken, another one may end.
  static void tell_outer(int number) {
    for (poller* each : std::vector(simulation::all_pollers)) {
      if (std::ranges::find(simulation::all_pollers, each) != simulation::all_pollers.end())
        became_ready(*each, number);
    }
  }
};

poller::poller() {
  epoll_ = simulation::next_number++;
  simulation::all_pollers.push_back(this);
}
poller::~poller() { std::erase(simulation::all_pollers, this); }

void poller::add(int fd, interest what, std::uint64_t token) {
  simulation::point();
  if (pollers::find(*this, fd) != watched_.end()) throw std::system_error(EEXIST, std::generic_category(), "simulated");
  watched_.push_back({fd, what, token});
  pollers::stir(*this);
  pollers::tell_outer(epoll_);
}

void poller::modify(int fd, interest what, std::uint64_t token) {
  simulation::point();
  const auto place = pollers::find(*this, fd);
  if (place == watched_.end()) throw std::system_error(ENOENT, std::generic_category(), "simulated");
  *place = {fd, what, token};
  pollers::stir(*this);
  pollers::tell_outer(epoll_);
}

void poller::remove(int fd) noexcept {
  simulation::point();
  const auto place = pollers::find(*this, fd);
  if (place != watched_.end()) watched_.erase(place);
}

void poller::listen_to(const alarm& bell) {
  simulation::point();
  bell_ = &bell;
  pollers::stir(*this);  // from now on its ring wakes sleeping threads
}

void poller::ring() noexcept {
  rung_ = true;
  pollers::stir(*this);
}

polled poller::wait_in_system(instant deadline, std::span<poll_event> into) noexcept {
  simulation::point();
  const std::uint32_t changes = changes_.load();
  polled result = pollers::look(*this, into);
  if (result.events > 0 || result.woken || result.rung) return result;
  const wait_status why = simulation::sleep_on(changes_, changes, deadline, bell_);
  result = pollers::look(*this, into);
  result.interrupted = why == wait_status::interrupted;
  return result;
}

}  // namespace foliot::inline core::seam

namespace foliot::simulation {

namespace {

readiness ready_of(int number) {
  const auto found = std::ranges::find(descriptors, number, &descriptor::number);
  if (found != descriptors.end()) return (*found)->ready();
  for (const seam::poller* each : all_pollers) {
    if (each->descriptor() == number && seam::pollers::would_report(*each)) return readiness::readable;
  }
  return readiness::none;
}

}  // namespace

descriptor::descriptor() noexcept : number_(next_number++) { descriptors.push_back(this); }
descriptor::~descriptor() { std::erase(descriptors, this); }

void descriptor::become(readiness ready) {
  point();
  ready_ = ready;
  if (ready == readiness::none) return;
  for (seam::poller* each : std::vector(all_pollers)) seam::pollers::became_ready(*each, number_);
}

}  // namespace foliot::simulation

namespace foliot::inline core::seam {

// The test owns the descriptors, so a close does nothing.
void close_descriptor(int) noexcept {}

readiness ready_now(int descriptor, readiness which) noexcept {
  simulation::point();
  return simulation::ready_of(descriptor) & which;
}

}  // namespace foliot::inline core::seam

#include "load_generator.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "interruption.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t events_at_once = 256;
constexpr std::size_t read_at_once = 64 * 1024;
/// Each client has a buffer, so those of many clients are smaller, with room for a record of TLS.
constexpr std::size_t read_at_once_of_many = 16 * 1024;
constexpr std::size_t many_clients = 1000;
constexpr std::int64_t nanoseconds_in_millisecond = 1'000'000;
// So long at most, since a signal that comes just before the wait does not end it.
constexpr std::int64_t longest_wait = 100;  // ms

/// What the server opens besides, and what it keeps free.
constexpr std::size_t other_descriptors = 1500;
/// Ports that others have, or had a moment ago.
constexpr std::size_t other_ports = 1000;

/// How many ports the system gives to clients.
std::size_t client_ports() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  std::size_t first = 32'768;
  std::size_t last = 60'999;
  range >> first >> last;
  return last < first ? 0 : last - first + 1;
}

int new_epoll() noexcept {
  return ::epoll_create1(EPOLL_CLOEXEC);  // tidy: allow(seam-system) foliot's own poller is under load
}

}  // namespace

struct load_generator::events {
  std::array<epoll_event, events_at_once> all{};
};

load_generator::load_generator(std::vector<server_place> servers, std::size_t clients)
    : servers_(std::move(servers)),
      client_number_(protocol().client_number()),
      epoll_(new_epoll()),
      read_at_once_(clients < many_clients ? read_at_once : read_at_once_of_many),
      events_(std::make_unique<events>()) {
  if (epoll_.get() < 0) throw system_failure("wait for", servers_.front().address.to_string(), errno);
  clients_.reserve(clients);
  for (std::size_t i = 0; i < clients; ++i) {
    throw_if_interrupted();
    clients_.emplace_back(protocol()).socket.connect(server_of(i));
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u64 = i;
    const int socket = clients_[i].socket.descriptor();
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &wanted);  // tidy: allow(seam-system) as above
  }
}

load_generator::~load_generator() = default;

void load_generator::note_more(std::size_t client) {
  clients_[client].has_more = true;
  with_more_.push_back(client);
}

/// Puts the number of the client where the protocol left room for it, from `begin` on.
void load_generator::write_number(std::size_t client, std::size_t begin) {
  std::string& text = clients_[client].unsent;
  const std::string number = fmt::format("{:0{}}", client, client_number_.size());
  while ((begin = text.find(client_number_, begin)) != std::string::npos) {
    text.replace(begin, number.size(), number);
    begin += number.size();
  }
}

void load_generator::flush_one(std::size_t client) {
  client_state& from = clients_[client];
  while (from.sent < from.unsent.size()) {
    const auto sent = from.socket.send(std::string_view(from.unsent).substr(from.sent));
    if (sent.what == client_socket::outcome::would_block) return watch_writes(client, true);
    if (sent.what == client_socket::outcome::closed) throw_closed(client);
    from.sent += sent.bytes;
  }
  from.unsent.clear();
  from.sent = 0;
  watch_writes(client, false);
}

void load_generator::watch_writes(std::size_t client, bool wanted) {
  client_state& of = clients_[client];
  if (of.wants_to_write == wanted) return;
  of.wants_to_write = wanted;
  epoll_event change{};
  change.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
  change.data.u64 = client;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, of.socket.descriptor(), &change);  // tidy: allow(seam-system) as above
}

std::size_t load_generator::wait(duration patience) {
  for (const std::size_t client : with_more_) {
    clients_[client].has_more = false;
    flush_one(client);
  }
  with_more_.clear();
  std::int64_t left = (patience.count() + nanoseconds_in_millisecond - 1) / nanoseconds_in_millisecond;
  epoll_event* const all = events_->all.data();
  for (;;) {
    throw_if_interrupted();
    const std::int64_t now = std::min(left, longest_wait);
    const auto time = static_cast<int>(now);
    const int ready = ::epoll_wait(epoll_.get(), all, events_at_once, time);  // tidy: allow(seam-system) as above
    if (ready > 0) return static_cast<std::size_t>(ready);
    if (ready < 0 && errno != EINTR) throw system_failure("wait for", servers_.front().address.to_string(), errno);
    left -= now;
    if (left <= 0) return 0;
  }
}

std::size_t load_generator::receive(std::size_t event) {
  const std::size_t client = events_->all[event].data.u64;
  if ((events_->all[event].events & ~std::uint32_t{EPOLLOUT}) == 0) return client;
  const auto got = clients_[client].socket.receive(clients_[client].replies.room(read_at_once_));
  if (got.what == client_socket::outcome::closed) throw_closed(client);
  clients_[client].replies.added(got.bytes);
  return client;
}

std::optional<reply> load_generator::next_reply(std::size_t client) {
  client_state& to = clients_[client];
  std::optional<reply> got = to.replies.next();
  if (!got) return got;
  if (to.awaited == 0) {
    throw failure(fmt::format("the server at {} sent a reply to no command: '{}'",
                              server_of(client).address.to_string(), got->line));
  }
  --to.awaited;
  --awaited_;
  return got;
}

void load_generator::expect(std::size_t client, std::string_view commands, std::size_t count, reply_kind kind) {
  send(client, commands, count);
  finish([&](std::size_t, const reply& got) { expect_reply(got, kind, commands.substr(0, commands.find('\r'))); });
}

void load_generator::throw_closed(std::size_t client) const {
  throw failure(fmt::format("the server at {} has closed a connection", server_of(client).address.to_string()));
}

void load_generator::throw_silent() const {
  throw failure(fmt::format("the server at {} has not answered for {} s", servers_.front().address.to_string(),
                            longest_silence.count() / (1000 * nanoseconds_in_millisecond)));
}

std::size_t clients_that_fit(std::size_t wanted, bool over_tcp) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur < now.rlim_max) {
    const rlimit all{now.rlim_max, now.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &all) == 0) now = all;
  }
  const auto descriptors = static_cast<std::size_t>(now.rlim_cur);
  std::size_t most = descriptors - std::min(descriptors, other_descriptors);
  if (over_tcp) most = std::min(most, client_ports() - std::min(client_ports(), other_ports));
  return std::min(wanted, std::max<std::size_t>(most, 1));
}

void throw_unexpected(const reply& got, std::string_view wanted) {
  throw failure(fmt::format("the server answered '{}' to '{}'", got.line, wanted));
}

}  // namespace foliot::program::bench

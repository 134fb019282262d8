#include "notification_listener.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/readiness.hpp>

#include "backoff.hpp"

namespace foliot::jobs::detail {

namespace {

using std::chrono::milliseconds;

/// How long an answer may take.
constexpr duration answer_patience{milliseconds(3000)};
/// The least time between two transactions that notify.
constexpr duration between_messages{milliseconds(5)};
/// The pauses between two attempts to connect: the shortest and the longest one.
constexpr duration first_wait{milliseconds(50)};
constexpr duration longest_wait{milliseconds(1000)};

instant now() noexcept { return monotonic_clock::instance().now(); }

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char each : bytes) {
    const auto value = static_cast<unsigned char>(each);
    out += digits[value >> 4];
    out += digits[value & 15U];
  }
  return out;
}

std::optional<unsigned> digit_of(char it) {
  if (it >= '0' && it <= '9') return static_cast<unsigned>(it - '0');
  if (it >= 'a' && it <= 'f') return static_cast<unsigned>(it - 'a') + 10U;
  return std::nullopt;
}

/// Nothing if these are no hexadecimal digits: another program may use the channel.
std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = digit_of(text[i]);
    const auto low = digit_of(text[i + 1]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high << 4 | *low);
  }
  return out;
}

/// A socket in a poller. It has a descriptor of its own: libpq closes its one where a connection is lost, and another
/// thread may have got that number before this object ends.
class polled_socket {
 public:
  polled_socket(seam::poller& by, int socket) : by_(by), mine_(::fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
    if (mine_ < 0)
      throw std::system_error(errno, std::generic_category(), "foliot: cannot duplicate a socket's descriptor");
    try {
      by_.add(mine_, readiness::readable, 0);
    } catch (...) {
      ::close(mine_);
      throw;
    }
  }
  ~polled_socket() {
    by_.remove(mine_);
    ::close(mine_);
  }
  polled_socket(const polled_socket&) = delete;
  polled_socket& operator=(const polled_socket&) = delete;

 private:
  seam::poller& by_;
  const int mine_;
};

}  // namespace

notification_listener::wake_pipe::wake_pipe() {
  if (::pipe2(ends_, O_NONBLOCK | O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "foliot: cannot make a pipe");
  }
}
notification_listener::wake_pipe::~wake_pipe() {
  ::close(ends_[0]);
  ::close(ends_[1]);
}
void notification_listener::wake_pipe::wake() noexcept {
  while (::write(ends_[1], "", 1) < 0 && errno == EINTR) {
  }
}
void notification_listener::wake_pipe::reset() noexcept {
  std::array<char, 64> bytes;
  for (;;) {
    const auto got = ::read(ends_[0], bytes.data(), bytes.size());
    if (got <= 0 && !(got < 0 && errno == EINTR)) return;
  }
}

void notification_listener::names::add(std::string tube) {
  if (any_tube) return;
  tubes.insert(std::move(tube));
  if (tubes.size() > most_names) add_any();
}
void notification_listener::names::add_any() {
  tubes.clear();
  any_tube = true;
}

notification_listener::notification_listener(const std::string& database, duration scan_every, duration silence)
    : scan_every_(scan_every), silence_(silence), target_(database) {
  thread_ = seam::thread("foliot-listener", [this] { run(); });
}

notification_listener::~notification_listener() {
  {
    const lock held(lock_);
    ending_ = true;
  }
  poller_.wake();
  thread_.join();
}

void notification_listener::connect_to(target database) {
  const lock held(lock_);
  new_target_ = std::move(database);
}

void notification_listener::take_new_target() {
  const lock held(lock_);
  if (!new_target_) return;
  target_ = *std::move(new_target_);
  new_target_.reset();
}

void notification_listener::tell(std::span<const std::string> tubes) noexcept {
  {
    const lock held(lock_);
    try {
      for (const std::string& each : tubes) to_tell_.add(each);
    } catch (...) {  // no memory for the names
      to_tell_.add_any();
    }
  }
  poller_.wake();
}

news notification_listener::take_news() {
  const lock held(lock_);
  news result;
  result.any_tube = heard_.any_tube;
  result.tubes.assign(heard_.tubes.begin(), heard_.tubes.end());  // throws before anything is lost
  heard_ = {};
  news_.reset();
  return result;
}

bool notification_listener::has_to_tell() const {
  const lock held(lock_);
  return !to_tell_.empty();
}

bool notification_listener::is_ending() const {
  const lock held(lock_);
  return ending_;
}

void notification_listener::hear(std::string_view message) {
  std::optional<std::string> tube = from_hex(message);
  if (!tube) return;
  const lock held(lock_);
  const bool was_empty = heard_.empty();
  if (tube->empty()) {
    heard_.add_any();
  } else {
    heard_.add(std::move(*tube));
  }
  if (was_empty) news_.wake();
}

std::optional<notification_listener::missing_connection> notification_listener::outage() const {
  const lock held(lock_);
  return missing_;
}

void notification_listener::note_failure(instant attempt, std::string_view why) noexcept {
  const lock held(lock_);
  if (!missing_) missing_ = missing_connection{now(), attempt, {}};
  missing_->attempt = attempt;
  try {
    missing_->why = why;
  } catch (...) {  // no memory: that of the attempt before is good enough
  }
}

void notification_listener::note_connection() noexcept {
  const lock held(lock_);
  missing_.reset();
}

void notification_listener::run() noexcept {
  backoff waits(first_wait, longest_wait);
  while (!is_ending()) {
    instant attempt = now();
    try {
      take_new_target();
      const primary_connection to = connect_to_primary(target_, no_step_);
      to.over->execute_text("SET synchronous_commit = off; LISTEN foliot", now() + answer_patience);
      waits.note_success();
      note_connection();
      talk(to);
      attempt = now();
      note_failure(attempt, "another server has replaced that of the last one");
    } catch (const std::exception& error) {  // connects again
      note_failure(attempt, error.what());
    }
    const instant until = now() + waits.pause();
    waits.note_failure();
    seam::poll_event unused{};
    while (!is_ending() && now() < until) static_cast<void>(poller_.wait(until, std::span(&unused, 1)));
  }
}

void notification_listener::talk(const primary_connection& to) {
  database_connection& over = *to.over;
  const polled_socket polled(poller_, over.socket());
  hear("");  // messages may have been lost before this connection
  instant next_message = now();
  instant last_heard = now();
  // The store may find a new primary while the old one still answers here.
  while (!is_ending() && !timelines::of_process().is_replaced(to.server)) {
    if (has_to_tell() && next_message <= now()) {
      send(over);
      last_heard = now();
      next_message = last_heard + between_messages;
    }
    if (last_heard + silence_ <= now()) {
      over.execute_text("SELECT 1", now() + answer_patience);
      last_heard = now();
    }
    for (const std::string& each : over.take_notifications()) {
      hear(each);
      last_heard = now();
    }
    const instant until = has_to_tell() ? next_message : last_heard + silence_;
    seam::poll_event unused{};
    static_cast<void>(poller_.wait(until, std::span(&unused, 1)));
  }
}

void notification_listener::send(database_connection& over) {
  names taken;
  {
    const lock held(lock_);
    taken = std::exchange(to_tell_, {});
  }
  try {
    std::string list = taken.any_tube ? "\"\"" : "";
    for (const std::string& each : taken.tubes) list += (list.empty() ? "" : ",") + to_hex(each);
    over.execute_text("SELECT pg_notify('foliot', n) FROM unnest('{" + list + "}'::text[]) n", now() + answer_patience);
  } catch (...) {  // it is not known whether the names were sent: the next connection sends that any tube has news
    const lock held(lock_);
    to_tell_.add_any();
    throw;
  }
}

}  // namespace foliot::jobs::detail

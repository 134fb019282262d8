#include "line_output.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace foliot::program {

namespace {

/// How long a line waits for a reader that has paused.
constexpr int longest_wait_ms = 100;

/// Writes what there is room for. A socket takes a part of it without waiting; a pipe that has room takes this many
/// bytes as a whole.
ssize_t write_some(int descriptor, std::string_view text) noexcept {
  const std::size_t size = text.size() < PIPE_BUF ? text.size() : PIPE_BUF;
  const ssize_t sent = ::send(descriptor, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? ::write(descriptor, text.data(), size) : sent;
}

}  // namespace

bool line_output::has_room() const noexcept {
  pollfd one{descriptor_, POLLOUT, 0};
  int found = 0;
  do {
    found = ::poll(&one, 1, is_full_ ? 0 : longest_wait_ms);
  } while (found < 0 && errno == EINTR);
  return found != 0;  // an error is room: the write finds the same one
}

line_output::outcome line_output::put(std::string_view text) const noexcept {
  outcome without_room = outcome::no_room;
  while (!text.empty()) {
    if (!has_room()) return without_room;
    const ssize_t written = write_some(descriptor_, text);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == ENOBUFS)) return without_room;
    if (written < 0) return outcome::written;  // nobody will read it
    text.remove_prefix(static_cast<std::size_t>(written));
    without_room = outcome::torn;
  }
  return outcome::written;
}

void line_output::say_lost() noexcept {
  if (is_torn_) {
    if (put("\n") != outcome::written) return;
    is_torn_ = false;
  }
  if (lost_ == 0) return;
  std::array<char, 100> text;
  const auto end = fmt::format_to_n(text.data(), text.size(), "foliot: {} line{} of the log found no reader in time\n",
                                    lost_, lost_ == 1 ? "" : "s");
  const outcome what = put(std::string_view(text.data(), end.size));
  if (what != outcome::no_room) lost_ = 0;
  is_torn_ = what == outcome::torn;
}

void line_output::write(std::string_view line) noexcept {
  const lock held(lock_);
  say_lost();
  const outcome what = is_torn_ || lost_ != 0 ? outcome::no_room : put(line);
  is_full_ = what != outcome::written;
  if (is_full_) ++lost_;
  is_torn_ = is_torn_ || what == outcome::torn;
}

}  // namespace foliot::program

// The real side of the local socket seam: Linux.
#include <foliot/core/seam/local_socket.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace foliot::inline core::seam {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), "foliot: " + what);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path) || path.find('\0') != std::string::npos) {
    throw std::invalid_argument("foliot: '" + path + "' cannot be the path of a socket: it must have 1 to " +
                                std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

class descriptor {
 public:
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

int make_socket(int flags = 0) {
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (made < 0) fail(errno, "cannot make a socket");
  return made;
}

const sockaddr* generic(const sockaddr_un& address) noexcept { return reinterpret_cast<const sockaddr*>(&address); }

/// Removes what a listener has left behind at the path; throws if it is anything else.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return;  // gone just now
    fail(errno, "cannot look at '" + path + "'");
  }
  if (!S_ISSOCK(found.st_mode)) fail(EEXIST, "'" + path + "' is there already, and is no socket");
  // Without O_NONBLOCK connect would wait for as long as the owner hangs with a full backlog; so that is EAGAIN.
  const descriptor probe(make_socket(SOCK_NONBLOCK));
  if (::connect(probe.number(), generic(address), sizeof(address)) == 0 || errno == EAGAIN) {
    fail(EADDRINUSE, "'" + path + "' is in use: somebody answers there");
  }
  if (errno != ECONNREFUSED) fail(errno, "cannot take over '" + path + "'");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    fail(errno, "cannot remove the socket left behind at '" + path + "'");
}

}  // namespace

local_listener::local_listener(std::string path) : path_(std::move(path)), maker_(::getpid()) {
  const sockaddr_un address = address_of(path_);
  file_ = socket_file(path_);
  descriptor made(make_socket());
  const auto bound = [&] { return ::bind(made.number(), generic(address), sizeof(address)) == 0; };
  if (!bound()) {
    if (errno == EADDRINUSE) {
      remove_stale(path_, address);
      if (!bound()) fail(errno, "cannot listen at '" + path_ + "'");
    } else {
      fail(errno, "cannot listen at '" + path_ + "'");
    }
  }
  if (const std::error_code lost = file_.claim()) fail(lost.value(), "cannot listen at '" + path_ + "'");
  if (::listen(made.number(), SOMAXCONN) != 0) {
    const int error = errno;
    file_.remove();
    fail(error, "cannot listen at '" + path_ + "'");
  }
  descriptor_ = made.release();
}

local_listener::~local_listener() {
  file_.remove();
  ::close(descriptor_);
}

bool local_listener::is_here() const noexcept { return ::getpid() == maker_; }

bool local_listener::accept() noexcept {
  while (!ended_.load(relaxed)) {  // relaxed: it publishes nothing
    connection_ = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection_ >= 0) return true;
    switch (errno) {
      case EINTR:
      case ECONNABORTED: continue;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        // There is no descriptor to spare. Whoever waits in the queue is answered when there is one.
        ::usleep(100'000);
        continue;
      default: return false;  // EINVAL: shut_down
    }
  }
  return false;
}

void local_listener::answer(std::string_view text) noexcept {
  const descriptor closed_at_end(std::exchange(connection_, -1));
  // A connection that is new has room for some 200 KiB. One that has not is cut short, rather than waited for.
  while (!text.empty()) {
    const ssize_t sent = ::send(closed_at_end.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void local_listener::shut_down() noexcept {
  ended_.store(true, relaxed);  // for one that has no descriptor to accept with, and tries again
  ::shutdown(descriptor_, SHUT_RDWR);
}

}  // namespace foliot::inline core::seam

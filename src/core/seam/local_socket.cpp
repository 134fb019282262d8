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

/// Removes the socket file that an ended listener has left at the path. Throws if the file is anything else.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return;  // it was removed meanwhile
    fail(errno, "cannot inspect '" + path + "'");
  }
  if (!S_ISSOCK(found.st_mode)) fail(EEXIST, "cannot listen at '" + path + "': the file there is not a socket");
  // SOCK_NONBLOCK: a blocking connect would wait as long as the owner does not accept and its backlog is full; so it
  // fails with EAGAIN instead.
  const descriptor probe(make_socket(SOCK_NONBLOCK));
  if (::connect(probe.number(), generic(address), sizeof(address)) == 0 || errno == EAGAIN) {
    fail(EADDRINUSE, "cannot listen at '" + path + "': another socket listens there");
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
        // No descriptor or memory is left. The connection stays in the backlog, and is accepted when there is.
        ::usleep(100'000);
        continue;
      default: return false;  // EINVAL after shut_down()
    }
  }
  return false;
}

void local_listener::answer(std::string_view text) noexcept {
  const descriptor closed_at_end(std::exchange(connection_, -1));
  // A new connection has room for some 200 KiB. A text that does not fit is cut short, so that no reader can block us.
  while (!text.empty()) {
    const ssize_t sent = ::send(closed_at_end.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void local_listener::shut_down() noexcept {
  // A client that is refused while the file is there takes the program for one that was killed.
  file_.remove();
  ended_.store(true, relaxed);  // for an accept() that has no descriptor and tries again
  ::shutdown(descriptor_, SHUT_RDWR);
}

}  // namespace foliot::inline core::seam

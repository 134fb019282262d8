#include "server_process.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interruption.hpp"
#include "owned_descriptor.hpp"
#include "reply_scanner.hpp"
#include "statistics_reply.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr duration longest_start = 10min;
constexpr duration longest_end = 10min;
/// Another process may take the port between its choice and the server's start.
constexpr int most_ports = 20;

instant now() noexcept { return monotonic_clock::instance().now(); }

void pause_briefly() noexcept {
  note nobody_wakes;
  static_cast<void>(nobody_wakes.sleep_until(now() + 1ms));
}

/// A port on 127.0.0.1 that no socket has at the moment.
std::uint16_t free_port() {
  const owned_descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    throw system_failure("find a free port on", "127.0.0.1", errno);
  }
  return ntohs(at.sin_port);
}

/// In the child: runs the program, which dies with its parent. Returns only on failure. All calls are safe after a
/// fork.
void become(char* const* words, int log, pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return;  // it has died already
  ::setpgid(0, 0);                    // Ctrl-C on a terminal is for the benchmark
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(words[0], words);
}

/// The value of a line `VmRSS:  1234 kB` of a status file, in bytes.
std::uint64_t bytes_of(std::string_view status, std::string_view name) {
  const std::size_t line = status.find(name);
  if (line == std::string_view::npos) return 0;
  const std::size_t digits = status.find_first_of("0123456789", line);
  std::uint64_t kibibytes = 0;
  if (digits != std::string_view::npos) {
    std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  }
  return 1024 * kibibytes;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

server_process::server_process(const server_kind& kind, const std::filesystem::path& folder,
                               const server_settings& settings)
    : kind_(kind), folder_(folder), settings_(settings) {
  std::filesystem::create_directories(folder_ / "data");
  try {
    for (int tries = 1;; ++tries) {
      address_ = choose_address();
      if (try_start()) return;
      if (settings_.way == transport::local || tries == most_ports) throw_ended();
    }
  } catch (...) {
    kill();
    throw;
  }
}

server_process::~server_process() { kill(); }

runtime::address server_process::choose_address() const {
  if (settings_.way == transport::tcp) return runtime::address::loopback(free_port());
  const std::string path = (folder_ / "socket").string();
  const auto at = runtime::address::parse("unix:" + path);
  if (!at) throw failure(fmt::format("'{}' is too long for a socket's path: name a folder with a short path", path));
  std::error_code ignored;
  std::filesystem::remove(path, ignored);  // of a server that was killed
  return *at;
}

bool server_process::try_start() {
  std::vector<std::string> words = command_of(kind_, address_.to_string(), folder_ / "data", settings_.max_body);
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  const std::string log_name = (folder_ / "log").string();
  const owned_descriptor log(::open(log_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (log.get() < 0) throw system_failure("write", log_name, errno);
  const pid_t parent = ::getpid();
  const instant begin = now();
  child_ = ::fork();
  if (child_ < 0) throw system_failure("start", words.front(), errno);
  if (child_ == 0) {
    become(pointers.data(), log.get(), parent);
    ::_exit(127);
  }
  while (!answers()) {
    if (has_ended()) return false;
    throw_if_interrupted();
    if (now() - begin > longest_start) throw failure(fmt::format("{} has not answered for 10 minutes", kind_.name));
    pause_briefly();
  }
  start_up_time_ = now() - begin;
  return true;
}

/// Whether a server answers, and it is this one: `stats` has the number of its process.
bool server_process::answers() const {
  const auto* const at = static_cast<const sockaddr*>(address_.system().data());
  const owned_descriptor probe(::socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), at, address_.system().size()) != 0) return false;
  constexpr std::string_view command = "stats\r\n";
  if (::send(probe.get(), command.data(), command.size(), MSG_NOSIGNAL) < 0) return false;
  reply_scanner scanner;
  for (;;) {
    if (const auto got = scanner.next()) {
      return number_in(got->body, "pid") == static_cast<std::uint64_t>(child_);
    }
    pollfd wanted{probe.get(), POLLIN, 0};
    if (::poll(&wanted, 1, 100) <= 0) return false;
    const auto room = scanner.room(4096);
    const ssize_t length = ::recv(probe.get(), room.data(), room.size(), 0);
    if (length <= 0) return false;
    scanner.added(static_cast<std::size_t>(length));
  }
}

bool server_process::has_ended() noexcept {
  if (child_ < 0) return true;
  if (::waitpid(child_, &status_, WNOHANG) != child_) return false;
  child_ = -1;
  return true;
}

void server_process::check_running() {
  if (has_ended()) throw_ended();
}

std::string server_process::last_message() const {
  std::string text = contents(folder_ / "log");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

void server_process::throw_ended() const {
  const std::string said = last_message();
  const std::string how = WIFSIGNALED(status_) ? fmt::format("signal {}", WTERMSIG(status_))
                                               : fmt::format("exit code {}", WEXITSTATUS(status_));
  throw failure(fmt::format("{} has ended by itself, with {}{}{}", kind_.name, how, said.empty() ? "" : ": ", said));
}

server_usage server_process::usage() const {
  const std::string status = contents(fmt::format("/proc/{}/status", child_));
  clockid_t times{};
  timespec used{};
  const bool running = ::clock_getcpuclockid(child_, &times) == 0 &&
                       ::clock_gettime(times, &used) == 0;  // tidy: allow(seam-clock) another process' time
  if (!running || status.empty()) throw failure(fmt::format("{} has ended", kind_.name));
  return {.resident_bytes = bytes_of(status, "VmRSS:"),
          .peak_resident_bytes = bytes_of(status, "VmHWM:"),
          .processor_time = std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec)};
}

void server_process::end_in_order() {
  check_running();
  ::kill(child_, SIGTERM);
  const instant begin = now();
  while (!has_ended()) {
    if (now() - begin > longest_end) {
      kill();
      throw failure(fmt::format("{} has not ended within 10 minutes of SIGTERM", kind_.name));
    }
    pause_briefly();
  }
  if (kind_.is_foliot && !(WIFEXITED(status_) && WEXITSTATUS(status_) == 0)) throw_ended();
}

void server_process::kill() noexcept {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

}  // namespace foliot::program::bench

#include "server_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beanstalk_protocol.hpp"
#include "bench/owners.hpp"
#include "bench/resident_memory.hpp"
#include "http_protocol.hpp"
#include "interruption.hpp"
#include "load_generator.hpp"
#include "nats_protocol.hpp"
#include "server/access/access_token.hpp"
#include "server/access/rights.hpp"
#include "server/access/token_file.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr duration longest_start = 10min;
constexpr duration longest_end = 10min;
/// Another process may take the port between its choice and the server's start.
constexpr int most_ports = 20;
/// Bytes that wait for a client of NATS.
constexpr std::size_t least_pending = std::size_t{64} << 20;

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

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What the server at `place` says of itself, which is of a server of NATS that has JetStream; or nothing yet.
std::string info_of_nats(const server_place& place) {
  load_generator probe(place, 1);
  const nats_protocol speaks;
  const auto ask = [&probe](const commands& what) {
    std::string body;
    probe.send(0, what);
    while (probe.awaited() > 0) {
      const auto note = [&body](std::size_t, const reply& got) {
        if (got.kind == reply_kind::ok) body = got.body;
      };
      if (!probe.turn(note, 1s)) return std::string();
    }
    return body;
  };
  std::string info = ask({speaks.sign_in().bytes});
  return ask(speaks.ask_about_itself()).empty() ? std::string() : info;
}

}  // namespace

server_process::server_process(const server_kind& kind, const std::filesystem::path& folder,
                               const server_settings& settings)
    : kind_(kind), folder_(folder), settings_(settings) {
  given_ = {.folder = folder,
            .max_body = settings.max_body,
            .connections = settings.connections,
            .program = program_of(kind, settings.old_program).value()};
  std::filesystem::create_directories(given_.data());
  try {
    make_files();
    for (int tries = 1;; ++tries) {
      choose_place();
      if (try_start()) return;
      if (settings_.way == transport::local || tries == most_ports) throw_ended();
    }
  } catch (...) {
    kill();
    throw;
  }
}

server_process::~server_process() { kill(); }

/// A name that no other server has, limits, no questions whether clients are there, and JetStream.
void server_process::write_settings_of_nats() const {
  std::ofstream file(given_.settings_of_nats(), std::ios::binary);
  file << fmt::format(
      "server_name: \"{}\"\nmax_payload: {}\nmax_pending: {}\nping_interval: \"24h\"\n"
      "jetstream {{ store_dir: \"{}\", sync_interval: {} }}\n",
      folder_.filename().string(), given_.max_body, std::max(given_.max_body, least_pending), given_.data().string(),
      settings_.nats_syncs ? "always" : "\"1h\"");
  file.close();
  if (!file) throw system_failure("write", given_.settings_of_nats().string(), errno);
}

void server_process::make_files() {
  if (kind_.speaks == spoken_protocol::nats) write_settings_of_nats();
  if (kind_.has_tls) {
    make_certificate(given_.certificate(), given_.key());
    tls_ = std::make_shared<const tls_client>(given_.certificate());
  }
  if (!kind_.has_token) return;
  token_ = access_token::make();
  const access_token made = access_token::parse(token_).value();
  const auto all = std::make_shared<const rights>(std::string(made.id()), "the benchmark", scope_set::all(),
                                                  std::vector<std::string>{""}, instant::never(), made.digest());
  std::ofstream file(given_.tokens(), std::ios::binary);
  file << text_of({.what = access_entry::kind::token, .given = all});
  file.close();
  if (!file) throw system_failure("write", given_.tokens().string(), errno);
  std::filesystem::permissions(given_.tokens(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

void server_process::choose_place() {
  const auto local = [](const std::filesystem::path& path) {
    const auto at = runtime::address::parse("unix:" + path.string());
    if (!at) {
      throw failure(
          fmt::format("'{}' is too long for a socket's path: name a folder with a short path", path.string()));
    }
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // of a server that was killed
    return *at;
  };
  const runtime::address at =
      settings_.way == transport::tcp ? runtime::address::loopback(free_port()) : local(folder_ / "socket");
  const auto beanstalk = std::make_shared<const beanstalk_protocol>(token_);
  if (kind_.speaks == spoken_protocol::nats) {
    place_ = control_ = {at, std::make_shared<const nats_protocol>(), nullptr};
  } else if (kind_.speaks == spoken_protocol::http) {
    place_ = {at, std::make_shared<const http_protocol>(token_), tls_};
    control_ = {local(given_.control()), beanstalk, tls_};
  } else {
    place_ = control_ = {at, beanstalk, tls_};
  }
  given_.address = at.to_string();
}

bool server_process::try_start() {
  std::vector<std::string> words = command_of(kind_, given_);
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

/// Whether a server answers, and it is this one: `stats` has the number of its process, and NATS its name.
bool server_process::answers() const {
  try {
    if (kind_.speaks == spoken_protocol::nats) {
      return info_of_nats(control_).contains(fmt::format("\"server_name\":\"{}\"", folder_.filename().string()));
    }
    load_generator probe(control_, 1);
    for (const opening& each : beanstalk_protocol(token_).sign_in()) probe.send(0, each.bytes);
    probe.send(0, "stats\r\n");
    std::uint64_t process = 0;
    while (probe.awaited() > 0) {
      const auto note = [&process](std::size_t, const reply& got) {
        if (got.kind == reply_kind::ok) process = number_in(got.body, "pid");
      };
      if (!probe.turn(note, 100ms)) return false;
    }
    return process == static_cast<std::uint64_t>(child_);
  } catch (const interrupted&) {
    throw;
  } catch (const failure&) {  // it does not listen yet, or has ended
    return false;
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
  clockid_t times{};
  timespec used{};
  const bool running = ::clock_getcpuclockid(child_, &times) == 0 &&
                       ::clock_gettime(times, &used) == 0;  // tidy: allow(seam-clock) another process' time
  const std::string kibibytes = field_of(fmt::format("/proc/{}/status", child_), "VmRSS:");
  if (!running || kibibytes.empty()) throw failure(fmt::format("{} has ended", kind_.name));
  return {.resident_bytes = 1024 * std::strtoull(kibibytes.c_str(), nullptr, 10),
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

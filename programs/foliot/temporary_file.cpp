#include "temporary_file.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::array deadly_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};

/// A file that the signal handler removes; the slot is free while the name is empty. It is written only while the fatal
/// signals are blocked, so that the handler never sees half a name.
struct removable {
  char name[PATH_MAX];
  ::pid_t maker;  // a forked child has the names too, and must not remove the files
};
std::array<removable, 8> files{};

extern "C" void remove_and_die(int signal_number) {
  for (const removable& each : files) {
    if (each.name[0] != '\0' && each.maker == ::getpid()) ::unlink(each.name);
  }
  // SA_RESETHAND has restored the default action, and SA_NODEFER has left the signal unblocked.
  ::raise(signal_number);
}

class deadly_signals_blocked {
 public:
  deadly_signals_blocked() noexcept {
    sigset_t deadly;
    sigemptyset(&deadly);
    for (const int each : deadly_signals) sigaddset(&deadly, each);
    ::sigprocmask(SIG_BLOCK, &deadly, &before_);
  }
  ~deadly_signals_blocked() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  deadly_signals_blocked(const deadly_signals_blocked&) = delete;
  deadly_signals_blocked& operator=(const deadly_signals_blocked&) = delete;

 private:
  sigset_t before_;
};

void catch_deadly_signals() noexcept {
  static bool caught = false;
  if (std::exchange(caught, true)) return;
  for (const int each : deadly_signals) {
    struct sigaction action{};
    if (::sigaction(each, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigaction(each, &action, nullptr);
  }
}

int free_slot() {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].name[0] == '\0') return static_cast<int>(i);
  }
  throw failure("too many files are being written at the same time");
}

std::string directory_of(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  return slash == std::string::npos ? std::string() : target.substr(0, slash + 1);
}

/// A new file, with a name of its own, in the directory of `target`. Returns -1 with errno.
int open_beside(const std::string& target, std::string& name) {
  const std::string stem = directory_of(target) + ".foliot-" + std::to_string(::getpid()) + "-";
  for (int i = 0;; ++i) {
    name = stem + std::to_string(i) + ".tmp";
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    // A process with the same number may have left its file here when it was killed.
    if (descriptor >= 0 || errno != EEXIST || i == 1000) return descriptor;
  }
}

}  // namespace

temporary_file::temporary_file(std::string target) : target_(std::move(target)) {
  catch_deadly_signals();
  const deadly_signals_blocked blocked;
  const int slot = free_slot();
  descriptor_ = open_beside(target_, name_);
  if (descriptor_ < 0) throw system_failure("write", target_, errno);
  struct stat replaced{};
  if (::stat(target_.c_str(), &replaced) == 0) {
    // Users who could read the old file can read the new one; where that is not possible, fewer can.
    static_cast<void>(::fchmod(descriptor_, replaced.st_mode & 0777));
  }
  if (name_.size() < sizeof(files[0].name)) {
    slot_ = slot;
    removable& mine = files[static_cast<std::size_t>(slot_)];
    std::memcpy(mine.name, name_.c_str(), name_.size() + 1);
    mine.maker = ::getpid();
  }
}

temporary_file::~temporary_file() {
  const deadly_signals_blocked blocked;
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!name_.empty()) ::unlink(name_.c_str());
  if (slot_ >= 0) files[static_cast<std::size_t>(slot_)].name[0] = '\0';
}

void temporary_file::close() {
  if (descriptor_ < 0) return;
  if (::close(std::exchange(descriptor_, -1)) != 0) throw system_failure("write", target_, errno);
}

void temporary_file::publish() {
  close();
  const deadly_signals_blocked blocked;
  if (std::rename(name_.c_str(), target_.c_str()) != 0) throw system_failure("write", target_, errno);
  name_.clear();
  if (slot_ >= 0) files[static_cast<std::size_t>(std::exchange(slot_, -1))].name[0] = '\0';
}

}  // namespace foliot::program

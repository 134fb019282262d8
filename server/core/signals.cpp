#include "signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace foliot::program {

signals::signals() {
  sigset_t all;
  ::sigemptyset(&all);
  for (const int each : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) ::sigaddset(&all, each);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  fd_ = ::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot wait for signals");
  std::signal(SIGPIPE, SIG_IGN);  // the log may go to a pipe whose reader ends
  std::signal(SIGXFSZ, SIG_IGN);  // a file at the limit of its length fails the write, and that is told
}

signals::~signals() { ::close(fd_); }

int signals::next() const noexcept {
  signalfd_siginfo one{};
  return ::read(fd_, &one, sizeof(one)) == sizeof(one) ? static_cast<int>(one.ssi_signo) : 0;
}

}  // namespace foliot::program

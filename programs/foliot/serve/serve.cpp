// The server: it opens the store, starts the listeners, and ends in order when a signal or a failure ends it.
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/statistics_socket.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/version.hpp>

#include "../failure.hpp"
#include "beanstalk/server_state.hpp"
#include "beanstalk/session.hpp"
#include "connections.hpp"
#include "open_store.hpp"
#include "opened_stores.hpp"
#include "running_brokers.hpp"
#include "serve_options.hpp"
#include "server_log.hpp"
#include "service_manager.hpp"

namespace foliot::program {

namespace {

/// What a failure of the library says, without its name, which the program's messages begin with.
std::string_view sentence(const std::exception& error) noexcept {
  std::string_view what = error.what();
  if (what.starts_with("foliot: ")) what.remove_prefix(8);
  return what;
}

using namespace std::chrono_literals;

/// How long the sessions have to finish what they have begun, when the server ends.
constexpr duration end_of_sessions = 5s;
/// Descriptors beyond those of the connections: the store's files, the listeners, the runtime.
constexpr rlim_t other_descriptors = 1200;

/// A descriptor that is readable when one of the server's signals has come. They stay blocked for the rest of the
/// process: one that comes while the server ends must not keep it from saying what failed.
class signals {
 public:
  signals() {
    sigset_t all;
    ::sigemptyset(&all);
    for (const int each : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) ::sigaddset(&all, each);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    fd_ = ::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot wait for signals");
  }
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;
  ~signals() { ::close(fd_); }

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  /// The next signal that has come, or 0.
  [[nodiscard]] int next() const noexcept {
    signalfd_siginfo one{};
    return ::read(fd_, &one, sizeof(one)) == sizeof(one) ? static_cast<int>(one.ssi_signo) : 0;
  }

 private:
  int fd_ = -1;
};

/// Allows as many descriptors as the connections need, if the system lets it. Returns how many connections there may
/// be: more would leave the store without descriptors, and a store that cannot open a file ends the server.
std::size_t allow_descriptors(std::size_t connections, const server_log& log) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return connections;
  const rlim_t wanted = connections + other_descriptors;
  if (now.rlim_cur >= wanted) return connections;
  const rlimit more{std::min(wanted, now.rlim_max), now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &more) == 0) now = more;
  if (now.rlim_cur >= wanted) return connections;
  const rlim_t left = now.rlim_cur > other_descriptors ? now.rlim_cur - other_descriptors : now.rlim_cur / 2;
  log.warning(
      fmt::format("the system allows {} open files, too few for {} connections: accept {}; raise its limit "
                  "(ulimit -n, LimitNOFILE) or lower --max-connections",
                  now.rlim_cur, connections, left));
  return left;
}

/// The limits of each of so many brokers.
jobs::broker_limits limits_of(const serve_options& options, std::size_t count) {
  jobs::broker_limits limits;
  limits.clients = options.max_connections;
  limits.waiting = options.max_connections;
  limits.tubes = options.max_tubes;
  limits.operations /= count;
  limits.queued_bytes /= count;
  limits.job.max_body = options.max_job_size;
  return limits;
}

/// What the user can do about an address that is in use.
std::string advice_for(const runtime::address& at) {
  const std::string path = at.system().path();
  std::error_code failed;
  const bool is_file = at.is_local() && !path.starts_with('@');
  if (is_file && !std::filesystem::is_socket(path, failed)) return ": it is a file, and no socket; name another path";
  return ": another server has it; name another address";
}

/// Removes the socket file of a server that was killed: there is a file, and no server listens behind it. If two
/// servers do this for one path at the same instant, both may go on, and only the second one has clients then.
task<bool> remove_left_file(const runtime::address& at) {
  const std::string path = at.system().path();
  std::error_code failed;
  if (!at.is_local() || path.starts_with('@') || !std::filesystem::is_socket(path, failed)) co_return false;
  const auto server = co_await runtime::stream::connect(at);
  if (server || server.error() != std::errc::connection_refused) co_return false;
  co_return std::filesystem::remove(path, failed);
}

task<runtime::listener> listen(const runtime::address& at) {
  auto gate = runtime::listener::listen(at);
  if (!gate && gate.error() == std::errc::address_in_use) {
    const bool is_free = co_await remove_left_file(at);
    if (is_free) gate = runtime::listener::listen(at);
  }
  if (!gate) {
    const std::string advice = gate.error() == std::errc::address_in_use ? advice_for(at) : "";
    throw failure(fmt::format("cannot listen at {}: {}{}", at.to_string(), gate.error().message(), advice));
  }
  co_return std::move(*gate);
}

/// Throws failure if the server cannot listen there. Asked before this node becomes known to the database: a server
/// that is started a second time by mistake must not end the reservations of the first one, whose name it has.
task<> expect_free(const runtime::address& at) {
  runtime::listener gate = co_await listen(at);
  gate.close();
}

/// Makes backups of the store, one at a time, on threads of their own. Outlives the runtime, which at its end waits for
/// the backup that is under way.
class backups {
 public:
  backups(jobs::job_store& of, const serve_options& options, const server_log& log)
      : store_(of), options_(options), log_(log) {}

  /// Begins one, unless one is under way.
  void begin() {
    if (busy_.exchange(true, seam::relaxed)) {  // it orders nothing
      log_.warning("a backup is under way already: ask for the next one when it has been made (SIGUSR2)");
      return;
    }
    static_cast<void>(runtime::spawn(make(), "makes a backup"));
  }

 private:
  task<> make() {
    auto work = [this] { make_one(); };
    co_await runtime::blocking(work);
  }
  void make_one() {
    log_.info("make a backup (SIGUSR2)");
    try {
      log_.info(fmt::format("the backup {} has been made", back_up_store(store_, options_)));
    } catch (const std::exception& error) {
      log_.warning(sentence(error));
    }
    busy_.store(false, seam::relaxed);
  }

  jobs::job_store& store_;
  const serve_options& options_;
  const server_log& log_;
  seam::atomic<bool> busy_{false};
};

/// Tells the service manager that the server is ready, again and again until that was possible.
class readiness_notice {
 public:
  /// When to call try_to_tell() for the next time; never(): it is told.
  [[nodiscard]] instant next() const noexcept { return next_; }
  void try_to_tell() noexcept {
    if (runtime::now() < next_) return;
    next_ = tell_service_manager("READY=1") ? instant::never() : runtime::now() + pause_;
    pause_ = std::min<duration>(pause_ + pause_, 1s);
  }

 private:
  instant next_ = instant::earliest();
  duration pause_ = 100ms;
};

/// Handles signals until one of them, or a failure of the store, ends the server. Tells the service manager that the
/// server is ready, and then that it works, if it wants to know: but not while a batch of the store takes longer than
/// its patience.
task<> until_the_end(const signals& come, const opened_stores& stores, const running_brokers& running,
                     beanstalk::server_state& state, backups& copies, const server_log& log) {
  auto watched = runtime::watched_descriptor::watch(come.descriptor());
  if (!watched) throw failure(fmt::format("cannot wait for signals: {}", watched.error().message()));
  const duration patience = watchdog_time();
  const bool has_watchdog = patience > duration::zero();
  const duration between = duration::nanoseconds(patience.count() / 2);
  readiness_notice ready;
  for (;;) {
    ready.try_to_tell();
    const bool tells_again = ready.next() != instant::never();
    const duration until_next = ready.next() - runtime::now();
    auto what = co_await runtime::select(watched->readable(), running.one_ended(),
                                         runtime::when(has_watchdog, runtime::after(between)),
                                         runtime::when(tells_again, runtime::after(until_next)));
    if (what.index() == 1) co_return;
    if (has_watchdog && stores.busy_for() < patience) static_cast<void>(tell_service_manager("WATCHDOG=1"));
    while (const int signal = come.next()) {
      switch (signal) {
        case SIGUSR1:
          state.draining = true;
          log.info("drain: new jobs are refused until the server is started again (SIGUSR1)");
          break;
        case SIGUSR2: copies.begin(); break;
        case SIGHUP: log.info("SIGHUP: there is no file of settings to read again"); break;
        default: log.info(fmt::format("end, because of {}", signal == SIGINT ? "SIGINT" : "SIGTERM")); co_return;
      }
    }
  }
}

/// Serves the clients of the listener until the end.
task<> serve_clients(const serve_options& options, const opened_stores& stores, const running_brokers& running,
                     runtime::listener& gate, const signals& come, backups& copies, const server_log& log) {
  beanstalk::server_state state(running.all(), options.max_job_size, options.max_tubes);
  if (!state.brokers.has_other_nodes()) {
    auto listing = running.first().execute(jobs::list_tubes{});
    const jobs::tubes_answer known = co_await listing;
    for (const std::string& each : known.tubes) static_cast<void>(state.tubes.obtain(each));
  }
  const auto protocol = [&state](const runtime::stream& peer) -> task<> {
    beanstalk::session with(state, peer);
    co_await with.run();
  };
  connections clients(protocol, options.max_connections, std::string(beanstalk::reply::out_of_memory), log);
  runtime::join_handle<> accepting;
  if (options.beanstalk) {
    accepting = runtime::spawn(clients.accept_all(gate), "accepts connections");
    log.info(fmt::format("beanstalk clients connect to {}", gate.local_address().value().to_string()));
  }
  std::exception_ptr failure;
  try {
    co_await until_the_end(come, stores, running, state, copies, log);
  } catch (...) {
    failure = std::current_exception();
  }
  static_cast<void>(tell_service_manager("STOPPING=1"));
  gate.close();
  if (accepting) co_await accepting.join();
  co_await clients.end(end_of_sessions);
  if (failure != nullptr) std::rethrow_exception(failure);
}

void show_runtime(std::optional<runtime::runtime_statistics_socket>& shown, const std::string& path) {
  try {
    shown.emplace(runtime::this_runtime(), path);
  } catch (const std::exception& error) {
    throw failure(fmt::format("cannot show the statistics: {}", sentence(error)));
  }
}

task<> serve_until_the_end(const serve_options& options, const opened_stores& stores, const signals& come,
                           backups& copies, const server_log& log) {
  runtime::listener gate;
  if (options.beanstalk) gate = co_await listen(*options.beanstalk);
  std::optional<runtime::runtime_statistics_socket> shown;
  if (!options.statistics.empty()) show_runtime(shown, options.statistics);
  const std::vector<jobs::job_store*> every_store = stores.all();
  running_brokers running(every_store, limits_of(options, every_store.size()));
  std::exception_ptr failure;
  try {
    running.start();
    co_await serve_clients(options, stores, running, gate, come, copies, log);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await running.end();  // throws what became of the stores
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace

void serve(const serve_options& asked) {
  const server_log log(asked.quiet);
  const signals come;             // before there are threads, which inherit the mask
  std::signal(SIGPIPE, SIG_IGN);  // the log may go to a pipe whose reader ends
  serve_options options = asked;
  options.max_connections = allow_descriptors(asked.max_connections, log);
  log.info("foliot " FOLIOT_VERSION);
  const bool has_database = !options.database.empty();
  if (has_database && options.beanstalk) runtime::run(expect_free(*options.beanstalk));
  opened_stores stores(options, log);
  backups copies(stores.first(), options, log);
  runtime::run_options how;
  how.measure = !options.statistics.empty();
  how.on_failure = [&log](std::string_view task, const std::exception_ptr& what) {
    try {
      std::rethrow_exception(what);
    } catch (const std::exception& error) {
      log.failure(fmt::format("{}: {}", task, error.what()));
    } catch (...) {
      log.failure(fmt::format("{}: unknown", task));
    }
  };
  try {
    runtime::run(serve_until_the_end(options, stores, come, copies, log), how);
  } catch (const jobs::store_failure& error) {
    if (has_database) throw failure(error.what());
    const bool is_damaged = std::string_view(error.what()).find("restore a backup") != std::string_view::npos;
    throw failure(fmt::format("{}; nothing was acknowledged since{}", error.what(),
                              is_damaged ? "" : ": start the server again"));
  }
  try {
    stores.close();
  } catch (const std::exception& error) {
    if (has_database) {
      log.warning(fmt::format("{}; what it has reserved is ready again within {}", error.what(),
                              to_string(options.node_timeout)));
      return;
    }
    throw failure(fmt::format("{}; a crash of the machine may lose what was acknowledged in the last {}", error.what(),
                              to_string(*options.sync_every)));
  }
}

}  // namespace foliot::program

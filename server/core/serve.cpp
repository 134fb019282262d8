// The server: it opens the store, starts the listeners, and ends in order when a signal or a failure ends it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
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
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/version.hpp>

#include "backups.hpp"
#include "connections.hpp"
#include "held_memory.hpp"
#include "machine_memory.hpp"
#include "memory_return.hpp"
#include "opened_stores.hpp"
#include "process_end.hpp"
#include "running_brokers.hpp"
#include "serve_options.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/beanstalk/session.hpp"
#include "server_log.hpp"
#include "service_manager.hpp"
#include "shown_server.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

using namespace std::chrono_literals;

/// While no one reads standard error, the sentence that says why the server ends must not keep it from ending: it is
/// lost then, as lines of the log are.
class unread_sentence {
 public:
  unread_sentence() = default;
  unread_sentence(const unread_sentence&) = delete;
  unread_sentence& operator=(const unread_sentence&) = delete;
  ~unread_sentence() {
    constexpr int patience_ms = 1000;
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (std::uncaught_exceptions() == 0 || ::poll(&room, 1, patience_ms) != 0) return;
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  }
};

/// How long the sessions have to finish what they have begun, when the server ends.
constexpr duration end_of_sessions = 5s;
constexpr std::string_view lacks_memory_to_end = "there is not enough memory to end in order; start the server again";
/// Descriptors beyond those of the connections: the store's files, the listeners, the runtime.
constexpr rlim_t other_descriptors = 1200;
/// So many must be left for the store when the connections have theirs.
constexpr std::size_t spare_descriptors = 16;

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

/// How many descriptors the process has: 0 where the system does not show them, and the most if it has none left to
/// look.
std::size_t open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  if (error == std::errc::too_many_files_open) return std::numeric_limits<std::size_t>::max();
  const auto count = static_cast<std::size_t>(std::distance(begin(all), end(all)));
  return count == 0 ? 0 : count - 1;  // without that of the folder itself
}

/// How many of so many connections there may be, now that the store and the listener are open. Throws failure if there
/// may be none: such a server would live and serve nobody.
std::size_t connections_that_fit(std::size_t connections, const server_log& log) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= connections + other_descriptors) return connections;
  const std::size_t wanted = connections + spare_descriptors;
  const std::size_t available = now.rlim_cur - std::min<rlim_t>(now.rlim_cur, open_descriptors());
  if (available <= spare_descriptors) {
    throw failure(
        fmt::format("the system allows {} open files, too few to serve clients: raise its limit (ulimit -n, "
                    "LimitNOFILE)",
                    now.rlim_cur));
  }
  if (available >= wanted) return connections;
  const std::size_t left = available - spare_descriptors;
  log.warning(fmt::format("of the {} open files that the system allows, {} are left: accept {} connections",
                          now.rlim_cur, available, left));
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

/// Tells the service manager that the server is ready, again and again until that was possible.
class readiness_notice {
 public:
  /// When to call try_to_tell() for the next time; never(): it is told.
  explicit readiness_notice(const service_manager& to) noexcept : to_(to) {}

  [[nodiscard]] instant next() const noexcept { return next_; }
  void try_to_tell() noexcept {
    if (runtime::now() < next_) return;
    next_ = to_.tell("READY=1") ? instant::never() : runtime::now() + pause_;
    pause_ = std::min<duration>(pause_ + pause_, 1s);
  }

 private:
  const service_manager& to_;
  instant next_ = instant::earliest();
  duration pause_ = 100ms;
};

/// What lives as long as the server. It outlives the runtime, and with it every task: the end of a run may destroy
/// tasks where they wait, in any order.
struct serving {
  serving(const serve_options& asked, const opened_stores& opened, jobs::broker_limits limits, const signals& asks,
          backups& makes, const server_log& to)
      : options(asked), stores(opened), come(asks), copies(makes), log(to), running(opened.all(), limits) {}

  const serve_options& options;
  const opened_stores& stores;
  const signals& come;
  backups& copies;
  const server_log& log;
  running_brokers running;
  const service_manager manager;
  memory_return gives_back;
  held_memory memory{options.max_buffered > 0 ? options.max_buffered : default_max_buffered(usable_memory()),
                     [this](const std::string& sentence) { log.warning("--max-buffered", sentence); },
                     [this] { gives_back.begin(); }};
  std::optional<beanstalk::server_state> state;
  std::optional<connections> clients;
  /// How many rounds the task that handles signals has begun. Publishes nothing.
  seam::atomic<std::uint64_t> rounds_of_signals{0};
  /// Within which time the service manager wants to hear that the server works; zero: it does not.
  duration patience = watchdog_time();
  bool ends = false;  // of the task that handles signals

  [[nodiscard]] bool has_watchdog() const noexcept { return patience > duration::zero(); }
};

/// Does what the signals that have come ask for. The end comes first: nothing behind it may keep it.
void obey(serving& all) {
  while (const int signal = all.come.next()) {
    switch (signal) {
      case SIGUSR1:
        all.state->draining = true;
        all.log.info("drain: new jobs are refused until the server is started again (SIGUSR1)");
        break;
      case SIGUSR2: all.copies.begin(); break;
      case SIGHUP: all.log.info("SIGHUP: there is no file of settings to read again"); break;
      default:
        all.ends = true;
        all.log.info(signal == SIGINT ? "end, because of SIGINT" : "end, because of SIGTERM");
        return;
    }
  }
}

/// Handles signals until one of them, or a failure of the store, ends the server, and tells the service manager that
/// the server is ready. Goes on where memory is missing, or ends the process.
task<> until_the_end(serving& all) {
  auto watched = runtime::watched_descriptor::watch(all.come.descriptor());
  if (!watched) throw failure(fmt::format("cannot wait for signals: {}", watched.error().message()));
  const duration round = duration::nanoseconds(all.patience.count() / 4);
  readiness_notice ready(all.manager);
  shortage lacking;
  while (!all.ends) {
    all.rounds_of_signals.fetch_add(1, seam::relaxed);
    try {
      ready.try_to_tell();
      const bool tells_again = ready.next() != instant::never();
      const duration until_next = ready.next() - runtime::now();
      auto what = co_await runtime::select(watched->readable(), all.running.one_ended(),
                                           runtime::when(all.has_watchdog(), runtime::after(round)),
                                           runtime::when(tells_again, runtime::after(until_next)));
      if (what.index() == 1) co_return;
      obey(all);
      lacking.end();
    } catch (const std::bad_alloc&) {
      lacking.note();
    }
  }
}

/// Tells the service manager that the server works, twice in its time: if since the last time the task that accepts
/// connections and the one that handles signals have gone on, and each broker has executed an operation. So the server
/// is started again when one of them does not go on, or when a batch of the store takes longer than this time.
task<> feed_watchdog(serving& all) {
  std::uint64_t accepted = 0;
  std::uint64_t handled = 0;
  for (;;) {
    try {
      const duration pause = duration::nanoseconds(all.patience.count() / 2);
      co_await runtime::sleep(pause);
      bool works = co_await all.running.all_work();
      const std::uint64_t accepts = all.clients->rounds();
      const std::uint64_t handles = all.rounds_of_signals.load(seam::relaxed);
      works = works && (accepts != accepted || !all.options.beanstalk) && handles != handled;
      accepted = accepts;
      handled = handles;
      if (works && all.stores.busy_for() < all.patience) static_cast<void>(all.manager.tell("WATCHDOG=1"));
    } catch (const std::bad_alloc&) {
      shortage().note();  // it is not told
    } catch (const std::exception&) {
      co_return;  // a broker is closed or has failed: the server ends
    }
  }
}

/// Serves the clients of the listener until the end. Each step of the way out is taken, whatever an earlier one throws;
/// where there is no memory for one, the process ends.
task<> serve_clients(serving& all, runtime::listener& gate) {
  const serve_options& options = all.options;
  beanstalk::server_state& state =
      all.state.emplace(all.running.all(), options.max_job_size, options.max_tubes, all.memory);
  if (!state.brokers.has_other_nodes()) {
    auto listing = all.running.first().execute(jobs::list_tubes{});
    const jobs::tubes_answer known = co_await listing;
    for (const std::string& each : known.tubes) static_cast<void>(state.tubes.obtain(each));
  }
  const auto protocol = [&state](const runtime::stream& peer) -> task<> {
    beanstalk::session with(state, peer);
    co_await with.run();
  };
  const std::size_t most = connections_that_fit(options.max_connections, all.log);
  all.clients.emplace(protocol, most, std::string(beanstalk::reply::out_of_memory), all.log);
  connections& clients = *all.clients;
  runtime::join_handle<> accepting;
  std::exception_ptr failure;
  try {
    if (options.beanstalk) {
      const duration round = all.has_watchdog() ? duration::nanoseconds(all.patience.count() / 4) : duration::forever();
      accepting = runtime::spawn(clients.accept_all(gate, round), "accepts connections");
      all.log.info(fmt::format("beanstalk clients connect to {}", gate.local_address().value().to_string()));
    }
    if (all.has_watchdog()) static_cast<void>(runtime::spawn(feed_watchdog(all), "feeds the watchdog"));
    co_await until_the_end(all);
  } catch (...) {
    failure = std::current_exception();
  }
  static_cast<void>(all.manager.tell("STOPPING=1"));
  gate.close();
  try {
    if (accepting) co_await accepting.join();
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  try {
    co_await clients.end(end_of_sessions);
  } catch (const std::bad_alloc&) {
    end_process(lacks_memory_to_end);
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

/// Nothing if nobody wants to see the server.
std::unique_ptr<shown_server> show(const serve_options& options, const running_brokers& running,
                                   const opened_stores& stores) {
  if (options.statistics.empty()) return nullptr;
  try {
    return std::make_unique<shown_server>(running.first(), stores.first_watched(), options.statistics);
  } catch (const std::exception& error) {
    throw failure(fmt::format("cannot show the statistics: {}", without_name(error.what())));
  }
}

task<> serve_until_the_end(serving& all) {
  runtime::listener gate;
  if (all.options.beanstalk) gate = co_await listen(*all.options.beanstalk);
  const std::unique_ptr<shown_server> shown = show(all.options, all.running, all.stores);
  if (!all.options.database.empty()) {
    auto nothing = [] {};
    co_await runtime::blocking(nothing);  // starts the thread without which no batch is executed
  }
  std::exception_ptr failure;
  try {
    all.running.start();
    if (shown != nullptr) shown->begin();
    co_await serve_clients(all, gate);
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    if (shown != nullptr) co_await shown->end();
  } catch (const std::bad_alloc&) {
    end_process(lacks_memory_to_end);
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  try {
    std::exception_ptr of_store = co_await all.running.end();
    if (of_store != nullptr) failure = std::move(of_store);
  } catch (const std::bad_alloc&) {
    end_process(lacks_memory_to_end);
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace

void serve(const serve_options& asked) {
  const unread_sentence at_the_end;
  end_process_on_terminate();
  const server_log log(asked.quiet);
  const signals come;             // before there are threads, which inherit the mask
  std::signal(SIGPIPE, SIG_IGN);  // the log may go to a pipe whose reader ends
  std::signal(SIGXFSZ, SIG_IGN);  // a file at the limit of its length fails the write, and that is told
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
      log.failure(task, fmt::format("{}: {}", task, error.what()));
    } catch (...) {
      log.failure(task, fmt::format("{}: unknown", task));
    }
  };
  serving all(options, stores, limits_of(options, stores.all().size()), come, copies, log);
  try {
    runtime::run(serve_until_the_end(all), how);
  } catch (const jobs::store_failure& error) {
    if (has_database) throw failure(error.what());
    const bool is_damaged = std::string_view(error.what()).find("restore a backup") != std::string_view::npos;
    throw failure(fmt::format("{}; nothing was acknowledged since{}", error.what(),
                              is_damaged ? "" : ": start the server again"));
  }
  try {
    stores.close();
  } catch (const std::bad_alloc&) {
    end_process(lacks_memory_to_end);
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

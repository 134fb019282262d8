// Workers over a PostgreSQL database: start this program as often as you like, on as many machines, and end it whenever
// you like. Each mail is sent by one of them, at least once; one that cannot be sent is tried again later.
//
//   database_workers DATABASE put 100      # puts 100 mails
//   database_workers DATABASE work         # sends them, until SIGTERM or SIGINT
//
// DATABASE is a connection string of libpq, such as postgresql://db1,db2/jobs. Programs in other languages put mails
// into the same tube by SQL, in the transaction that makes the order (docs/serve/sql.md), or through `foliot serve`.
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/runtime.hpp>
#include <foliot/runtime/signal_set.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

using namespace std::chrono_literals;
namespace jobs = foliot::jobs;
namespace rt = foliot::runtime;

constexpr const char* tube = "mails";
constexpr int workers = 10;
constexpr unsigned most_tries = 3;

/// All puts are queued before the first is awaited, so they become one batch. Each has a key: if it is not known
/// whether they were put, because the database went away meanwhile, put them again.
foliot::task<> put(jobs::broker& broker, int count) {
  std::deque<jobs::in_flight<jobs::put>> all;
  for (int i = 1; i <= count; ++i) {
    const std::string number = std::to_string(i);
    jobs::put one{.tube = tube, .key = number, .body = "mail " + number};
    all.emplace_back(broker, std::move(one));
  }
  for (auto& each : all) static_cast<void>(co_await each);
}

/// The work. Each seventh mail cannot be sent at the first try, and each twentieth never.
bool send(const jobs::job& mail) {
  const int number = std::atoi(mail.key.c_str());
  const bool fails = number % 20 == 0 || (number % 7 == 0 && mail.counters.reserves == 1);
  if (!fails) std::printf("sent %s\n", mail.body.c_str());
  return !fails;
}

foliot::task<> send_mails(jobs::broker& broker) {
  jobs::client self(broker);
  self.watch(tube);
  for (;;) {
    const jobs::reserve_answer got = co_await self.reserve();  // waits without polling
    const jobs::job& mail = got.job->job;
    if (send(mail)) {
      co_await self.finish(mail.id);
    } else if (mail.counters.reserves < most_tries) {
      co_await self.release(mail.id, std::nullopt, 100ms * mail.counters.reserves);
    } else {
      co_await self.bury(mail.id);  // stays until somebody looks at it, and kicks it
    }
  }
}

foliot::task<> work(jobs::broker& broker) {
  for (;;) {
    try {
      co_await send_mails(broker);
    } catch (const jobs::store_unavailable& gone) {
      // It is not known whether the mail was finished. Its client is gone, so if it was not, a worker gets it again.
      std::fprintf(stderr, "database_workers: %s\n", gone.what());
    } catch (const jobs::broker_closed&) {
      co_return;
    }
  }
}

foliot::task<> work_until_signal(jobs::broker& broker) {
  const auto signals = rt::signal_set::watch({SIGTERM, SIGINT}).value();
  std::deque<rt::join_handle<>> all;
  for (int i = 0; i < workers; ++i) all.push_back(rt::spawn(work(broker), "worker"));
  static_cast<void>(co_await signals.next());
  broker.close();  // workers end their jobs, and get no others
  for (auto& each : all) co_await each.join();
}

foliot::task<> run(jobs::broker& broker, int puts) {
  auto running = rt::spawn(broker.run(), "broker");
  if (puts > 0) {
    co_await put(broker, puts);
  } else {
    co_await work_until_signal(broker);
  }
  broker.close();
  co_await running.join();
}

int main(int count, char** words) {
  const std::string_view what = count > 2 ? words[2] : "";
  const int puts = what == "put" && count == 4 ? std::atoi(words[3]) : 0;
  if (puts <= 0 && !(what == "work" && count == 3)) {
    std::fprintf(stderr, "usage: database_workers DATABASE put COUNT | database_workers DATABASE work\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    jobs::postgresql_store::migrate(words[1]);  // makes the schema if it is not there
    std::string machine(256, '\0');
    gethostname(machine.data(), machine.size() - 1);
    const std::string node = machine.c_str() + (" " + std::to_string(getpid()));  // unique among all nodes
    jobs::postgresql_store store({.database = words[1], .node = node});
    jobs::broker broker(store);
    foliot::run(run(broker, puts));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "database_workers: %s\n", error.what());
    return 1;
  }
}

// A server that shows itself before its brokers run, and whose brokers never run. On the system's clocks.
#include "server/core/shown_server.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "server/core/watched_store.hpp"

namespace foliot::program {
namespace {

/// The whole answer of the socket at this path.
std::string look_at(const std::string& path) {
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; (got = ::read(connection, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(connection);
  return text;
}

task<std::string> look(std::string path) {
  auto looking = [&path] { return look_at(path); };
  std::string text = co_await runtime::blocking(looking);
  co_return text;
}

task<> look_before_and_after(jobs::broker& broker, const watched_store& store, std::string path) {
  shown_server shown(broker, store, path);
  const std::string before = co_await look(path);
  EXPECT_NE(before.find("foliot-jobs 1\n"), std::string::npos);
  EXPECT_EQ(before.find("\njobs_ready"), std::string::npos);
  co_await shown.end();  // no operation waits for the broker, which does not run
  auto running = runtime::spawn(broker.run(), "the broker");
  shown.begin();
  std::string after;
  while (after.find("\njobs_ready 0\n") == std::string::npos) after = co_await look(path);  // a look may come too early
  co_await shown.end();
  broker.close();
  co_await running.join();
}

TEST(ShownServer, ALookAsksForTheJobsOnlyWhileTheBrokerRuns) {
  const foliot_test::temporary_folder folder;
  test::broker_world world({}, test::shared::yes);
  watched_store watched(world.store, [](const std::string&) {});
  runtime::run(look_before_and_after(world.jobs, watched, folder.path() + "/top"));
}

}  // namespace
}  // namespace foliot::program

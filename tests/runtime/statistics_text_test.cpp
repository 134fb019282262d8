// A runtime's statistics as text, in Prometheus' format, and from a socket.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime.hpp>

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

wait_kinds of(std::initializer_list<wait_kind> all) {
  wait_kinds set;
  for (const wait_kind each : all) set.add(each);
  return set;
}

runtime_snapshot some(bool measured) {
  runtime_snapshot now;
  now.statistics.counters = {.spawned = 18'446'744'073'709'551'615u,
                             .turns = 2,
                             .spent_turns = 3,
                             .fired = 4,
                             .steals = 5,
                             .stolen = 6,
                             .parks = 7,
                             .polls = 8,
                             .rounds = 9,
                             .rescues = 10,
                             .tasks = 110,
                             .running = 12,
                             .ready = 13,
                             .descriptor_waits = 14,
                             .timers = 15,
                             .blocking_calls = 16,
                             .blocking_threads = 17,
                             .processors = 18,
                             .idle = 19};
  now.statistics.measured = measured;
  if (measured) {
    for (int i = 0; i < 40; ++i) now.statistics.lateness.add(duration::nanoseconds(std::int64_t{1} << i), 3);
    now.statistics.queue_time.add(duration::nanoseconds(5));
    now.statistics.turn_time.add(duration::nanoseconds(6));
  }
  now.tasks = {
      {.name = "session",
       .phase = task_phase::waiting,
       .waits_for = {wait_kind::select, of({wait_kind::receive, wait_kind::wait_group})},
       .where = "a.cpp:31",
       .tasks = 80,
       .for_so_long = 12s},
      {.name = "", .phase = task_phase::ready, .tasks = 1},
      {.name = "it's \\ \"\n\x1b[31m \xc3\xa4", .phase = task_phase::running, .where = "my file.cpp:2", .tasks = 1}};
  return now;
}

TEST(RuntimeStatisticsText, ComesBackAsItWas) {
  for (const bool measured : {false, true}) {
    const runtime_snapshot now = some(measured);
    const auto back = parse_runtime_statistics(statistics_text(now));
    ASSERT_TRUE(back) << back.error();
    EXPECT_TRUE(*back == now) << statistics_text(now);
  }
}

TEST(RuntimeStatisticsText, NamesOfAnyBytesComeBack) {
  const std::uint64_t seed = random_stream::entropy();
  SCOPED_TRACE(seed);
  random_stream random(seed);
  for (int round = 0; round < 1'000; ++round) {
    runtime_snapshot now;
    task_group& group = now.tasks.emplace_back();
    group.where = "x";
    const auto any_kind = [&] { return wait_kind(random.below(std::uint64_t(wait_kind::context) + 1)); };
    group.waits_for = any_kind();
    if (group.waits_for == wait_kind::select) group.waits_for = {wait_kind::select, of({any_kind(), any_kind()})};
    for (std::uint64_t length = random.below(20); length > 0; --length) {
      group.name += static_cast<char>(random.next());
      group.where += static_cast<char>(random.next());
    }
    const auto back = parse_runtime_statistics(statistics_text(now));
    ASSERT_TRUE(back) << back.error();
    ASSERT_TRUE(*back == now) << statistics_text(now);
  }
}

TEST(RuntimeStatisticsText, CutShortAnywhereItIsRefused) {
  const std::string text = statistics_text(some(true));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_runtime_statistics(text.substr(0, length))) << length;
  }
}

TEST(RuntimeStatisticsText, WithAnyByteChangedItIsRefusedOrSaysSomethingElse) {
  const runtime_snapshot now = some(true);
  const std::string text = statistics_text(now);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '?' ? '!' : '?';
    const auto back = parse_runtime_statistics(changed);
    EXPECT_FALSE(back && *back == now) << at;
  }
}

TEST(RuntimeStatisticsText, SaysWhatIsWrong) {
  EXPECT_EQ(parse_runtime_statistics("").error(), "the text does not begin with 'foliot-runtime'");
  EXPECT_EQ(parse_runtime_statistics("foliot-runtime 2\nend\n").error(),
            "these statistics are of another version of foliot");
  std::string text = statistics_text(some(false));
  text.replace(text.find("task 80 waiting"), 15, "task 80 dancing");
  EXPECT_EQ(parse_runtime_statistics(text).error(),
            "the statistics have a malformed line: 'dancing select(receive,wait_group) 12000000000 a.cpp:31 'ses'...");
}

// Of a later version, say.
TEST(RuntimeStatisticsText, AKindOfWaitThatIsNotKnownIsAnother) {
  std::string text = statistics_text(some(false));
  text.replace(text.find("wait_group"), 10, "a_miracle");
  text.replace(text.find("'session'"), 9, "'more'\ntask 1 waiting at_peace - b.cpp:2 'session'");
  const auto back = parse_runtime_statistics(text);
  ASSERT_TRUE(back) << back.error();
  runtime_snapshot expected = some(false);
  expected.tasks[0].waits_for = {wait_kind::select, of({wait_kind::receive, wait_kind::other})};
  expected.tasks[0].name = "more";
  expected.tasks.insert(expected.tasks.begin() + 1, {.name = "session", .where = "b.cpp:2", .tasks = 1});
  EXPECT_TRUE(*back == expected);
}

TEST(WaitKind, EachHasAName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= int(wait_kind::context); ++i) names.insert(to_string(wait_kind(i)));
  EXPECT_EQ(names.size(), std::size_t(wait_kind::context) + 1);
  EXPECT_TRUE(names.contains("wait_group"));
  EXPECT_EQ(to_string(wait_kind(200)), "other");
  EXPECT_EQ(to_string(wait_reason(wait_kind::read)), "read");
  EXPECT_EQ(to_string(wait_reason(wait_kind::select, of({wait_kind::timer, wait_kind::receive}))),
            "select(receive,timer)");
}

TEST(RuntimePrometheus, HasEachCounterAndGauge) {
  const std::string text = prometheus_text(some(true).statistics);
  for (const char* line : {"foliot_runtime_tasks{state=\"running\"} 12",
                           "foliot_runtime_tasks{state=\"ready\"} 13",
                           "foliot_runtime_tasks{state=\"waiting\"} 85",
                           "foliot_runtime_descriptor_waits 14",
                           "foliot_runtime_timers_pending 15",
                           "foliot_runtime_processors 18",
                           "foliot_runtime_processors_idle 19",
                           "foliot_runtime_blocking_calls 16",
                           "foliot_runtime_blocking_threads 17",
                           "foliot_runtime_tasks_spawned_total 18446744073709551615",
                           "foliot_runtime_turns_total 2",
                           "foliot_runtime_spent_turns_total 3",
                           "foliot_runtime_timers_fired_total 4",
                           "foliot_runtime_steals_total 5",
                           "foliot_runtime_tasks_stolen_total 6",
                           "foliot_runtime_parks_total 7",
                           "foliot_runtime_polls_total 8",
                           "foliot_runtime_rounds_total 9",
                           "foliot_runtime_rescues_total 10",
                           "# TYPE foliot_runtime_tasks gauge",
                           "foliot_runtime_lateness_seconds_count 120",
                           "foliot_runtime_queue_seconds_sum 0.000000005",
                           "foliot_runtime_turn_seconds_sum 0.000000006"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
  EXPECT_TRUE(has_line(prometheus_text(some(false).statistics, "p", {{"node", "a"}}),
                       "p_tasks{node=\"a\",state=\"ready\"} 13"));
  EXPECT_EQ(prometheus_text(some(false).statistics).find("_seconds"), std::string::npos);
}

/// The whole answer of the socket at `path`.
std::string ask(const std::string& path) {
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << path;
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(connection, piece, sizeof(piece))) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  ::close(connection);
  return text;
}

TEST(RuntimeStatisticsSocket, AnswersWithWhatTheRuntimeDoes) {
  const std::string path = testing::TempDir() + "runtime-" + std::to_string(::getpid());
  background_runtime background({.processors = 1});
  const runtime_statistics_socket shown(background.handle(), path);
  background.handle().spawn([]() -> task<> { co_await sleep(1h); }, "sleeper");
  for (;;) {
    const auto now = parse_runtime_statistics(ask(path));
    ASSERT_TRUE(now) << now.error();
    EXPECT_GE(now->statistics.counters.tasks, 1U);
    const auto sleeper = std::ranges::find(now->tasks, "sleeper", &task_group::name);
    ASSERT_NE(sleeper, now->tasks.end());
    if (sleeper->phase == task_phase::waiting) break;  // else its first turn is still to come
  }
  EXPECT_THROW(runtime_statistics_socket(runtime_handle(), path + "-2"), std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(path + "-2"));
}

TEST(RuntimeStatisticsSocket, OutlivesItsRuntime) {
  const std::string path = testing::TempDir() + "ended-" + std::to_string(::getpid());
  std::unique_ptr<runtime_statistics_socket> shown;
  run([&]() -> task<> {
    shown = std::make_unique<runtime_statistics_socket>(this_runtime(), path);
    co_return;
  });
  EXPECT_EQ(ask(path), "");
}

// Other threads could spawn by a handle, but not by a socket.
TEST(RuntimeStatisticsSocket, DoesNotKeepVirtualTimeFromADeadlock) {
  const std::string path = testing::TempDir() + "virtual-" + std::to_string(::getpid());
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  const auto waits = [&]() -> task<> {
    const runtime_statistics_socket shown(this_runtime(), path);
    co_await sleep(duration::forever());
  };
  EXPECT_THROW(run(waits, options), deadlock);
}

}  // namespace
}  // namespace foliot::runtime

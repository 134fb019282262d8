// Names of hosts: the system's getaddrinfo is replaced by the linker, so that no test needs a network.
#include <foliot/runtime/net/names.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/seam/names.hpp>
#include <foliot/runtime/cancelled.hpp>

#include "peers.hpp"
#include "support/allocations.hpp"

namespace {

/// What the replaced getaddrinfo does for names; numbers go to the system.
struct resolver {
  std::vector<std::string> answer;  // IP addresses
  int failure = 0;
  int error = 0;                   // errno
  std::atomic<bool> holds{false};  // it does not return while this is true
  std::atomic<int> calls{0};
};
resolver& fake() {
  static resolver one;
  return one;
}

}  // namespace

extern "C" {
int __real_getaddrinfo(const char* host, const char* port, const addrinfo* wanted, addrinfo** list);
int __wrap_getaddrinfo(const char* host, const char* port, const addrinfo* wanted, addrinfo** list);

int __wrap_getaddrinfo(const char* host, const char* port, const addrinfo* wanted, addrinfo** list) {
  if (std::string_view(host).find_first_not_of("0123456789.:") == std::string_view::npos) {
    return __real_getaddrinfo(host, port, wanted, list);
  }
  ++fake().calls;
  fake().holds.wait(true);
  if (fake().failure != 0) {
    errno = fake().error;
    return fake().failure;
  }
  *list = nullptr;
  for (const std::string& each : fake().answer) {
    addrinfo* one = nullptr;
    EXPECT_EQ(__real_getaddrinfo(each.c_str(), port, wanted, &one), 0);
    while (*list != nullptr) list = &(*list)->ai_next;
    *list = one;
  }
  return 0;
}
}

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::in_virtual_worlds;
using test::on_real_processors;

class Names : public testing::Test {
 protected:
  ~Names() override {
    fake().answer.clear();
    fake().failure = 0;
    fake().holds = false;
  }
};

std::string shown(const or_error<std::vector<address>>& found) {
  if (!found) return found.error().message();
  std::string text;
  for (const address& each : *found) text += each.to_string() + " ";
  return text;
}

template <class Value>
std::error_code error_of(const or_error<Value>& got) {
  return got ? std::error_code() : got.error();
}

TEST_F(Names, NumbersTakeNoThread) {
  everywhere([]() -> task<> {
    const auto four = co_await resolve("127.0.0.1", 80);
    EXPECT_EQ(shown(four), "127.0.0.1:80 ");
    const auto six = co_await resolve("::1", 65'535);
    EXPECT_EQ(shown(six), "[::1]:65535 ");
    EXPECT_EQ(counters().blocking_threads, 0U);
  });
}

TEST_F(Names, AreResolvedInTheSystemsOrder) {
  fake().answer = {"::1", "127.0.0.3", "127.0.0.1"};
  everywhere([]() -> task<> {
    const auto found = co_await resolve("host.example", 8080);
    EXPECT_EQ(shown(found), "[::1]:8080 127.0.0.3:8080 127.0.0.1:8080 ");
    const auto short_form = co_await resolve("127.1", 1);  // the system's own parser
    EXPECT_EQ(shown(short_form), "127.0.0.1:1 ");
  });
}

TEST_F(Names, FailWithTheSystemsWords) {
  in_virtual_worlds([]() -> task<> {
    for (const int failure : {EAI_NONAME, EAI_AGAIN, EAI_FAIL}) {
      fake().failure = failure;
      const auto found = co_await resolve("host.example", 1);
      EXPECT_EQ(error_of(found), std::error_code(failure, seam::name_category()));
      EXPECT_EQ(shown(found), ::gai_strerror(failure));
    }
    for (const auto& [failure, known] : {std::pair(EAI_NONAME, name_errc::not_found),
                                         {EAI_AGAIN, name_errc::try_again},
                                         {EAI_FAIL, name_errc::failed},
                                         {EAI_NODATA, name_errc::no_address}}) {
      fake().failure = failure;
      const auto found = co_await resolve("host.example", 1);
      EXPECT_EQ(error_of(found), known);
    }
    fake().failure = EAI_SYSTEM;
    fake().error = EMFILE;
    const auto system = co_await resolve("host.example", 1);
    EXPECT_EQ(error_of(system), std::errc::too_many_files_open);
    // So glibc does where it cannot open /etc/hosts.
    for (const int failure : {EAI_NONAME, EAI_AGAIN, EAI_NODATA}) {
      fake().failure = failure;
      for (const int lack : {EMFILE, ENFILE, ENOMEM, ENOBUFS}) {
        fake().error = lack;
        const auto unknown = co_await resolve("host.example", 1);
        EXPECT_EQ(error_of(unknown), std::error_code(lack, std::generic_category()));
      }
      fake().error = ENOENT;
      const auto known = co_await resolve("host.example", 1);
      EXPECT_EQ(error_of(known), std::error_code(failure, seam::name_category()));
    }
    fake().failure = EAI_MEMORY;
    const auto memory = co_await connect_to_host("host.example", 1);
    EXPECT_EQ(error_of(memory), std::errc::not_enough_memory);
    fake().failure = 0;
    const auto none = co_await resolve("host.example", 1);
    EXPECT_EQ(shown(none), ::gai_strerror(EAI_NONAME));
    for (const std::string& bad : {std::string(), std::string("a\0b", 3)}) {
      const auto refused = co_await resolve(bad, 1);
      EXPECT_EQ(error_of(refused), std::errc::invalid_argument);
    }
  });
}

TEST_F(Names, ALookupThatHangsIsLeftAtTheDeadline) {
  fake().answer = {"127.0.0.1"};
  on_real_processors([]() -> task<> {
    fake().holds = true;
    const auto late = co_await resolve("host.example", 1, now() + 1ms);
    EXPECT_EQ(error_of(late), io_errc::deadline_exceeded);
    const auto late_connection = co_await connect_to_host("host.example", 1, now() + 1ms);
    EXPECT_EQ(error_of(late_connection), io_errc::deadline_exceeded);
    fake().holds = false;
    fake().holds.notify_all();
    const auto found = co_await resolve("host.example", 1);
    EXPECT_EQ(shown(found), "127.0.0.1:1 ");
  });
}

TEST_F(Names, AfterTheDeadlineNothingIsLookedUp) {
  fake().answer = {"127.0.0.1"};
  fake().calls = 0;
  everywhere([]() -> task<> {
    const auto found = co_await resolve("host.example", 80, now());
    EXPECT_EQ(error_of(found), io_errc::deadline_exceeded);
    const auto connected = co_await connect_to_host("host.example", 80, instant::earliest());
    EXPECT_EQ(error_of(connected), io_errc::deadline_exceeded);
    const auto number = co_await resolve("127.0.0.1", 80, now());
    EXPECT_EQ(shown(number), "127.0.0.1:80 ");  // there is no wait
    co_await sleep(1ms);                        // a lookup would begin
    EXPECT_EQ(counters().blocking_threads, 0U);
  });
  EXPECT_EQ(fake().calls, 0);
}

TEST_F(Names, ALookupThatHangsIsLeftByAStop) {
  on_real_processors([]() -> task<> {
    fake().holds = true;
    const int before = fake().calls;
    auto waits = spawn([]() -> task<> { static_cast<void>(co_await resolve("host.example", 1)); });
    while (fake().calls == before) co_await sleep(1ms);
    waits.request_stop();
    bool was_cancelled = false;
    try {
      co_await waits.join();
    } catch (const cancelled&) {
      was_cancelled = true;
    }
    EXPECT_TRUE(was_cancelled);
    fake().holds = false;
    fake().holds.notify_all();
  });
}

TEST_F(Names, TheFirstAddressThatAnswersIsTaken) {
  everywhere([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    EXPECT_TRUE(gate.has_value());
    const std::uint16_t port = gate->local_address().value().port();
    fake().answer = {"127.0.0.2", "127.0.0.1"};  // nobody listens at the first
    const auto made = co_await connect_to_host("host.example", port);
    EXPECT_TRUE(made.has_value());
    if (made) {
      EXPECT_EQ(made->peer_address().value(), gate->local_address().value());
    }
    fake().answer = {"127.0.0.2", "127.0.0.3"};
    const auto refused = co_await connect_to_host("host.example", port);
    EXPECT_EQ(error_of(refused), std::errc::connection_refused);
    const std::vector<address> none;
    const auto nowhere = co_await connect_to_any(none);
    EXPECT_EQ(error_of(nowhere), std::errc::invalid_argument);
  });
}

// The second address listens, and so does the third one, which is of the other family and is tried before it.
TEST_F(Names, TheFamiliesOfAHostAreTriedInTurn) {
  std::string without;
  on_real_processors([&without]() -> task<> {
    or_error<listener> four = std::unexpected(std::error_code());
    or_error<listener> six = std::unexpected(std::error_code());
    for (int i = 0; i < 100 && !six; ++i) {  // the port may be taken in the other family
      four = listener::listen(address::parse("127.0.0.2:0").value());
      EXPECT_TRUE(four.has_value());
      if (!four) co_return;
      six = listener::listen(address::loopback6(four->local_address().value().port()));
      if (!six && six.error() == std::errc::address_not_available) break;
      if (!six && six.error() == std::errc::address_family_not_supported) break;
    }
    if (!six) {
      without = six.error().message();
      co_return;
    }
    fake().answer = {"127.0.0.3", "127.0.0.2", "::1"};
    const std::uint16_t port = four->local_address().value().port();
    const auto made = co_await connect_to_host("host.example", port);
    EXPECT_TRUE(made.has_value());
    if (made) {
      EXPECT_EQ(made->peer_address().value(), six->local_address().value());
    }
    std::vector<address> in_order;
    for (const char* const host : {"127.0.0.3", "127.0.0.2", "[::1]"}) {
      in_order.push_back(address::parse(std::string(host) + ":" + std::to_string(port)).value());
    }
    const auto direct = co_await connect_to_any(in_order);
    EXPECT_TRUE(direct.has_value());
    if (direct) {
      EXPECT_EQ(direct->peer_address().value(), four->local_address().value());
    }
  });
  if (!without.empty()) GTEST_SKIP() << "there is no IPv6 loopback: " << without;
}

/// Connects while the n-th allocation fails, on a thread of its own. (With a sanitizer each frame is an allocation;
/// otherwise most come from a pool.) Returns the error, and whether an allocation has failed.
std::pair<std::error_code, bool> connect_without_memory(std::size_t n) {
  std::pair<std::error_code, bool> result;
  std::thread apart([&] {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.processors = 1;
    options.on_failure = [](std::string_view, const std::exception_ptr&) {};
    const auto body = [&]() -> task<> {
      auto gate = listener::listen(address::loopback(0));
      const std::uint16_t port = gate->local_address().value().port();
      const std::string name = "host.example";
      const test::failing_allocations failing(n, 1);
      try {
        const auto made = co_await connect_to_host(name, port);
        result.first = error_of(made);
      } catch (const std::bad_alloc&) {
        result.first = std::make_error_code(std::errc::not_enough_memory);
      }
      result.second = failing.failed();
    };
    try {
      run(body, options);
    } catch (const deadlock& error) {
      ADD_FAILURE() << n << ": " << error.what();
    }
  });
  apart.join();
  return result;
}

// The n-th allocation fails, for n = 0, 1, 2, … until none does: nothing hangs, and the caller learns of it.
TEST_F(Names, WithoutMemoryNothingHangs) {
  fake().answer = {"127.0.0.2", "127.0.0.1"};
  std::size_t refused = 0;
  for (std::size_t n = 0;; ++n) {
    const auto [error, failed] = connect_without_memory(n);
    if (HasFailure() || !failed) break;
    // The first address refuses; if the attempt at the second one has no memory, the first failure is told.
    EXPECT_TRUE(!error || error == std::errc::not_enough_memory || error == std::errc::connection_refused)
        << n << ": " << error.message();
    if (error) ++refused;
  }
  EXPECT_GT(refused, 5U);
}

// A local listener whose queue is full never answers.
TEST_F(Names, AnAddressThatDoesNotAnswerIsPassedAfterAQuarterOfASecond) {
  in_virtual_worlds([]() -> task<> {
    auto silent = listener::listen(test::fresh_name(), 0);
    EXPECT_TRUE(silent.has_value());
    const address full = silent->local_address().value();
    std::vector<stream> waiting;
    for (;;) {
      auto more = co_await stream::connect(full, now() + 1ms);
      if (!more) break;
      waiting.push_back(std::move(*more));
    }
    auto gate = listener::listen(test::fresh_name());
    EXPECT_TRUE(gate.has_value());
    const address good = gate->local_address().value();

    instant begin = now();
    const std::vector<address> three{full, full, good};
    auto made = co_await connect_to_any(three);
    EXPECT_TRUE(made.has_value());
    EXPECT_EQ(now() - begin, 500ms);
    begin = now();
    const std::vector<address> two{full, full};
    auto late = co_await connect_to_any(two, now() + 1s);
    EXPECT_EQ(error_of(late), io_errc::deadline_exceeded);
    EXPECT_EQ(now() - begin, 1s);
    EXPECT_LE(counters().tasks, 3U) << "the attempts have been given up";
  });
}

}  // namespace
}  // namespace foliot::runtime

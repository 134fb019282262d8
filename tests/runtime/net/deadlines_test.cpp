// Deadlines of reads, writes, accepts and connects. The names are those of Go's tests in net (timeout_test.go); times
// are exact, because virtual.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <foliot/runtime/cancelled.hpp>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::fill;
using test::in_virtual_worlds;
using test::local_pair;

/// Waits for a byte. Returns the result, and its time.
task<or_error<std::size_t>> read_one(stream& from) {
  std::array<char, 1> byte{};
  const auto got = co_await from.read_some(byte);
  co_return got;
}

void expect_deadline(const or_error<std::size_t>& got) {
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error(), io_errc::deadline_exceeded);
  EXPECT_EQ(got.error(), std::errc::timed_out);
}

TEST(NetDeadlines, ReadTimeout) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    for (const duration timeout : {duration(-5ns), duration(0ns), duration(1ns), duration(50ms), duration(1h)}) {
      const instant begin = now();
      here.set_read_deadline(timeout);
      for (int i = 0; i < 2; ++i) {
        const auto got = co_await read_one(here);
        expect_deadline(got);
        EXPECT_EQ(now(), begin + std::max(timeout, duration::zero()));
      }
    }
  });
}

TEST(NetDeadlines, ReadTimeoutMustNotReturn) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    here.set_write_deadline(-1ns);
    here.set_read_deadline(instant::never());
    auto reading = spawn(read_one(here), "reads");
    co_await sleep(1h);
    EXPECT_FALSE(reading.done());
    reading.request_stop();
    bool stopped = false;
    try {
      co_await reading.join();
    } catch (const cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
  });
}

TEST(NetDeadlines, ReadTimeoutUnblocksRead) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    auto reading = spawn(read_one(here), "reads");
    co_await sleep(1ms);
    here.set_read_deadline(-1ns);
    const auto got = co_await reading.join();
    expect_deadline(got);
  });
}

TEST(NetDeadlines, WriteTimeout) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    EXPECT_GT(fill(here), 0U);
    for (const duration timeout : {duration(-5ns), duration(0ns), duration(1ns), duration(50ms)}) {
      const instant begin = now();
      here.set_write_deadline(timeout);
      for (int i = 0; i < 2; ++i) {
        const auto sent = co_await here.write_all(std::string_view("more"));
        expect_deadline(sent);
        EXPECT_EQ(now(), begin + std::max(timeout, duration::zero()));
      }
    }
  });
}

TEST(NetDeadlines, WriteTimeoutMustNotReturn) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    here.set_read_deadline(-1ns);
    const std::size_t filled = fill(here);
    EXPECT_GT(filled, 0U);
    auto writing = spawn(here.write_all(std::string_view("more")), "writes");
    co_await sleep(1ms);
    EXPECT_FALSE(writing.done());
    // By count: a reader that stops when the writer is done may wait for bytes that never come, because the bytes can
    // be read before the writer is done.
    std::vector<char> sink(1 << 20);
    for (std::size_t left = filled + 4; left > 0;) {
      const auto got = co_await there.read_some(std::span(sink).first(std::min(left, sink.size())));
      EXPECT_TRUE(got.has_value());
      if (!got || *got == 0) {
        writing.request_stop();  // or nothing would end it
        break;
      }
      left -= *got;
    }
    const auto sent = co_await writing.join();
    EXPECT_EQ(sent.value_or(0), 4U);
  });
}

TEST(NetDeadlines, AcceptTimeout) {
  in_virtual_worlds([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    EXPECT_TRUE(gate.has_value());
    for (const duration timeout : {duration(-5ns), duration(0ns), duration(50ms)}) {
      const instant begin = now();
      gate->set_read_deadline(timeout);
      for (int i = 0; i < 2; ++i) {
        const auto got = co_await gate->accept();
        EXPECT_FALSE(got.has_value());
        if (!got) {
          EXPECT_EQ(got.error(), io_errc::deadline_exceeded);
        }
        EXPECT_EQ(now(), begin + std::max(timeout, duration::zero()));
      }
    }
  });
}

TEST(NetDeadlines, AcceptTimeoutMustReturn) {
  everywhere([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    gate->set_read_deadline(1h);
    auto accepting = spawn(gate->accept(), "accepts");
    co_await sleep(1ms);
    gate->set_read_deadline(10ms);
    const auto got = co_await accepting.join();
    EXPECT_FALSE(got.has_value());
  });
}

TEST(NetDeadlines, AcceptTimeoutMustNotReturn) {
  in_virtual_worlds([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    gate->set_read_deadline(1s);
    auto accepting = spawn(gate->accept(), "accepts");
    co_await sleep(999ms);
    gate->set_read_deadline(instant::never());
    co_await sleep(1h);
    EXPECT_FALSE(accepting.done());
  });
}

// A connect to a local listener without room waits, on virtual time until the deadline.
TEST(NetDeadlines, DialTimeout) {
  in_virtual_worlds([]() -> task<> {
    const address at = test::fresh_name();
    auto gate = listener::listen(at, 0);
    EXPECT_TRUE(gate.has_value());
    const auto first = co_await stream::connect(at);
    EXPECT_TRUE(first.has_value());
    for (const duration timeout : {duration(-5ns), duration(0ns), duration(1ns), duration(50ms)}) {
      const instant begin = now();
      const auto more = co_await stream::connect(at, begin + timeout);
      EXPECT_FALSE(more.has_value());
      if (!more) {
        EXPECT_EQ(more.error(), io_errc::deadline_exceeded);
      }
      EXPECT_EQ(now(), begin + std::max(timeout, duration::zero()));
    }
    auto waiting = spawn(stream::connect(at, now() + 1s), "connects");
    co_await sleep(20ms);
    const auto accepted = co_await gate->accept();
    EXPECT_TRUE(accepted.has_value());
    const auto let_in = co_await waiting.join();
    EXPECT_TRUE(let_in.has_value());
  });
}

TEST(NetDeadlines, DialTimeoutMaxDuration) {
  everywhere([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    const instant far = deadline_after(now(), duration::nanoseconds(INT64_MAX));
    const auto peer = co_await stream::connect(gate->local_address().value(), far);
    EXPECT_TRUE(peer.has_value());
  });
}

// The deadline is postponed repeatedly while a read waits, and only the last one ends the wait.
TEST(NetDeadlines, ReadTimeoutFluctuation) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    const instant begin = now();
    here.set_read_deadline(10ms);
    auto reading = spawn(read_one(here), "reads");
    for (int i = 0; i < 100; ++i) {
      co_await sleep(9ms);
      here.set_read_deadline(i % 2 == 0 ? 1h : 10ms);  // far, near, far, near
    }
    EXPECT_FALSE(reading.done());
    const auto got = co_await reading.join();
    expect_deadline(got);
    EXPECT_EQ(now(), begin + 100 * 9ms + 10ms);
  });
}

TEST(NetDeadlines, WriteTimeoutFluctuation) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    EXPECT_GT(fill(here), 0U);
    const instant begin = now();
    here.set_write_deadline(1h);
    auto writing = spawn(here.write_all(std::string_view("more")), "writes");
    for (int i = 0; i < 10; ++i) {
      co_await sleep(9ms);
      here.set_write_deadline(i % 2 == 0 ? 10ms : 1h);
    }
    here.set_write_deadline(begin + 1s);
    const auto sent = co_await writing.join();
    expect_deadline(sent);
    EXPECT_EQ(now(), begin + 1s);
  });
}

TEST(NetDeadlines, VariousDeadlines) {
  in_virtual_worlds([]() -> task<> {
    for (const duration timeout : {duration(1ns), duration(2ns), duration(5ns), duration(50ns), duration(100ns),
                                   duration(200ns), duration(500ns), duration(750ns), duration(1us), duration(5us),
                                   duration(25us), duration(250us), duration(500us), duration(1ms), duration(5ms),
                                   duration(100ms), duration(250ms), duration(500ms), duration(1s)}) {
      auto [here, there] = local_pair();
      const instant begin = now();
      here.set_deadline(timeout);
      const auto got = co_await read_one(here);
      expect_deadline(got);
      EXPECT_EQ(now(), begin + timeout);
    }
  });
}

// Go has it for one processor and for four: real ones, which end no wait early.
TEST(NetDeadlines, VariousDeadlines1ProcAnd4Proc) {
  test::on_real_processors([]() -> task<> {
    for (const duration timeout : {duration(1ns), duration(1us), duration(250us), duration(1ms), duration(5ms)}) {
      auto [here, there] = local_pair();
      const instant begin = now();
      here.set_read_deadline(timeout);
      const auto got = co_await read_one(here);
      expect_deadline(got);
      EXPECT_GE(now(), begin + timeout);
    }
  });
}

// Messages that arrive in time are read, though the deadline is near, and moved by each message.
TEST(NetDeadlines, ReadWriteProlongedTimeout) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    auto beats = [](stream& to) -> task<> {
      for (int i = 0; i < 100; ++i) {
        co_await sleep(999us);
        const auto sent = co_await to.write_all(std::string_view("x"));
        EXPECT_TRUE(sent.has_value());
      }
    };
    const instant begin = now();
    auto beating = spawn(beats(there), "writer");
    int beats_read = 0;
    for (;;) {
      here.set_read_deadline(1ms);
      const auto got = co_await read_one(here);
      if (!got) {
        expect_deadline(got);
        break;
      }
      ++beats_read;
    }
    EXPECT_EQ(beats_read, 100);
    EXPECT_EQ(now(), begin + 100 * 999us + 1ms);
    co_await beating.join();
  });
}

TEST(NetDeadlines, ReadWriteDeadlineRace) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    auto moves = [](stream& of) -> task<> {
      for (int i = 0; i < 300; ++i) {
        of.set_deadline(2us);
        co_await yield();
      }
    };
    auto reads = [](stream& of) -> task<> {
      for (int i = 0; i < 300; ++i) {
        const auto got = co_await read_one(of);
        EXPECT_TRUE(!got && got.error() == io_errc::deadline_exceeded);
        co_await yield();
      }
    };
    auto writes = [](stream& of) -> task<> {
      for (int i = 0; i < 300; ++i) {
        const auto sent = co_await of.write_some(std::string_view("x"));
        EXPECT_TRUE(sent || sent.error() == io_errc::deadline_exceeded);
        co_await yield();
      }
    };
    here.set_deadline(2us);
    std::vector<join_handle<>> all;
    all.push_back(spawn(moves(here), "moves"));
    all.push_back(spawn(reads(here), "reads"));
    all.push_back(spawn(writes(here), "writes"));
    for (auto& each : all) co_await each.join();
  });
}

// Go's issue 35367.
TEST(NetDeadlines, ConcurrentSetDeadline) {
  everywhere([]() -> task<> {
    constexpr std::size_t connections = 3;
    std::vector<std::pair<stream, stream>> all;
    for (std::size_t i = 0; i < connections; ++i) all.push_back(local_pair());
    auto sets = [](stream& of, std::size_t which) -> task<> {
      for (int i = 0; i < 200; ++i) {
        of.set_read_deadline(1h + duration::nanoseconds(static_cast<std::int64_t>(which) * 1000 + i));
        of.set_write_deadline(2h);
        co_await yield();
      }
    };
    std::vector<join_handle<or_error<std::size_t>>> reading;
    std::vector<join_handle<>> setting;
    for (auto& each : all) reading.push_back(spawn(read_one(each.first), "reads"));
    for (std::size_t i = 0; i < 8; ++i) setting.push_back(spawn(sets(all[i % connections].first, i), "sets"));
    for (auto& each : setting) co_await each.join();
    for (auto& each : all) each.first.set_deadline(-1ns);
    for (auto& each : reading) {
      const auto got = co_await each.join();
      expect_deadline(got);
    }
  });
}

TEST(NetDeadlines, NonpollableDeadline) {
  everywhere([]() -> task<> {
    const int file = ::open("/proc/self/exe", 0);
    const auto watched = watched_descriptor::watch(file);
    EXPECT_FALSE(watched.has_value());
    if (!watched) {
      EXPECT_EQ(watched.error(), std::errc::operation_not_permitted);
    }
    ::close(file);
    co_return;
  });
}

// A deadline has ended the wait, but is removed before the task has noticed: the wait goes on.
TEST(NetDeadlines, OneThatIsTakenBackInTimeHasNotEndedTheWait) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    auto reading = spawn(read_one(here), "reads");
    co_await sleep(1ms);
    here.set_read_deadline(-1ns);  // the wait is claimed, the reader has not run
    here.set_read_deadline(instant::never());
    co_await sleep(1h);
    EXPECT_FALSE(reading.done());
    const auto sent = co_await there.write_all(std::string_view("x"));
    EXPECT_TRUE(sent.has_value());
    const auto got = co_await reading.join();
    EXPECT_EQ(got.value_or(0), 1U);
  });
}

// As in Go: data that has arrived is not read after the deadline.
TEST(NetDeadlines, OneThatHasPassedComesBeforeWhatThereIsToRead) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    const auto sent = co_await there.write_all(std::string_view("x"));
    EXPECT_TRUE(sent.has_value());
    here.set_read_deadline(-1ns);
    const auto none = co_await read_one(here);
    expect_deadline(none);
    here.set_read_deadline(instant::never());
    const auto got = co_await read_one(here);
    EXPECT_EQ(got.value_or(0), 1U);
  });
}

}  // namespace
}  // namespace foliot::runtime

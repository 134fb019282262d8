// Lines, texts up to a delimiter and exact numbers of bytes, read from streams, and at random against a reference.
#include <foliot/runtime/net/buffered_reader.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::in_virtual_worlds;
using test::local_pair;

/// A source that gives a text in pieces, with errors in between.
class scripted {
 public:
  /// A piece, or an error if it is empty.
  explicit scripted(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}

  task<or_error<std::size_t>> read_some(std::span<std::byte> into) {
    if (next_ == pieces_.size()) co_return std::size_t{0};
    std::string& piece = pieces_[next_];
    if (piece.empty()) {
      ++next_;
      co_return std::unexpected(make_error_code(io_errc::deadline_exceeded));
    }
    const std::size_t count = std::min(piece.size(), into.size());
    std::memcpy(into.data(), piece.data(), count);
    piece.erase(0, count);
    if (piece.empty()) ++next_;
    co_return count;
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
};

/// "text" complete, "text~" at the end of the stream, or the error.
std::string shown(const or_error<received_text>& got) {
  if (!got) return "error: " + got.error().message();
  return std::string(got->text) + (got->complete ? "" : "~");
}

constexpr const char* too_long = "error: the text is longer than its limit";
constexpr const char* late = "error: the deadline has passed";

template <class Test>
void with(std::vector<std::string> pieces, const Test& test) {
  in_virtual_worlds([&]() -> task<> {
    scripted source(pieces);
    buffered_reader in(source, 4);
    co_await test(in);
  });
}

TEST(BufferedReader, ReadsLines) {
  with({"one\ntw", "o\r", "\n\n\r\nth\rree\n", "rest"}, [](auto& in) -> task<> {
    for (const char* wanted : {"one", "two", "", "", "th\rree", "rest~", "~", "~"}) {
      const auto got = co_await in.read_line(100);
      EXPECT_EQ(shown(got), wanted);
    }
  });
}

TEST(BufferedReader, LimitsLines) {
  with({"four\r\nfive5", "\nsix", "six\nlong without end"}, [](auto& in) -> task<> {
    for (const auto& [limit, wanted] : {std::pair{4U, "four"},
                                        {4U, too_long},
                                        {4U, too_long},
                                        {5U, "five5"},
                                        {0U, too_long},
                                        {6U, "sixsix"},
                                        {15U, too_long},
                                        {16U, "long without end~"},
                                        {0U, "~"}}) {
      const auto got = co_await in.read_line(limit);
      EXPECT_EQ(shown(got), wanted) << limit;
    }
  });
}

TEST(BufferedReader, ReadsUntilDelimitersThatComeInPieces) {
  with({"a-", "-", "-b--", "-", "--", "--c-"}, [](auto& in) -> task<> {
    for (const char* wanted : {"a", "b", "", "-c-~"}) {
      const auto got = co_await in.read_until("---", 100);
      EXPECT_EQ(shown(got), wanted);
    }
  });
  with({"k=v;w;"}, [](auto& in) -> task<> {
    const auto name = co_await in.read_until('=', 1);
    EXPECT_EQ(shown(name), "k");
    EXPECT_EQ(in.buffered(), "v;");
    const auto none = co_await in.read_until(';', 0);
    EXPECT_EQ(shown(none), too_long);
    const auto value = co_await in.read_until(';', 1);
    EXPECT_EQ(shown(value), "v");
    bool refused = false;
    try {
      static_cast<void>(co_await in.read_until("", 1));
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
  });
}

TEST(BufferedReader, ReadsExactlyAndSome) {
  with({"12345", "6", "78"}, [](auto& in) -> task<> {
    const auto none = co_await in.read_exactly(0);
    EXPECT_EQ(shown(none), "");
    const auto six = co_await in.read_exactly(6);
    EXPECT_EQ(shown(six), "123456");
    std::array<char, 1> one{};
    const auto some = co_await in.read_some(one);
    EXPECT_EQ(some.value_or(0), 1U);
    EXPECT_EQ(one[0], '7');
    const auto rest = co_await in.read_exactly(10);
    EXPECT_EQ(shown(rest), "8~");
    const auto end = co_await in.read_some(one);
    EXPECT_EQ(end.value_or(9), 0U);
  });
}

TEST(BufferedReader, LosesNothingByErrors) {
  with({"hal", "", "f", "", "\nnext\n"}, [](auto& in) -> task<> {
    for (const char* wanted : {late, late, "half", "next", "~"}) {
      const auto got = co_await in.read_line(9);
      EXPECT_EQ(shown(got), wanted);
    }
  });
}

TEST(BufferedReader, LosesNothingByDeadlinesAndTimeouts) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    buffered_reader in(here);
    const auto first = co_await there.write_all(std::string_view("hal"));
    EXPECT_TRUE(first.has_value());
    here.set_read_deadline(1s);
    const auto missed = co_await in.read_line(9);
    EXPECT_EQ(shown(missed), late);
    here.set_read_deadline(instant::never());
    const auto given_up = co_await with_timeout(in.read_line(9), 1s);
    EXPECT_FALSE(given_up.has_value());
    auto waits = spawn([](auto& from) -> task<> { static_cast<void>(co_await from.read_line(9)); }(in));
    co_await yield();
    waits.request_stop();
    bool was_cancelled = false;
    try {
      co_await waits.join();
    } catch (const cancelled&) {
      was_cancelled = true;
    }
    EXPECT_TRUE(was_cancelled);
    const auto second = co_await there.write_all(std::string_view("f\n"));
    EXPECT_TRUE(second.has_value());
    const auto line = co_await in.read_line(9);
    EXPECT_EQ(shown(line), "half");
  });
}

// The other side may wait for an answer: the limit is passed whatever comes next.
TEST(BufferedReader, TheLimitIsNoticedAtTheFirstByteBeyondIt) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    buffered_reader in(here);
    const auto sent = co_await there.write_all(std::string_view("abcd"));
    EXPECT_TRUE(sent.has_value());
    const auto line = co_await in.read_line(3);
    EXPECT_EQ(shown(line), too_long);
    const auto until = co_await in.read_until("\r\n", 3);
    EXPECT_EQ(shown(until), too_long);
  });
}

TEST(BufferedReader, RefusesToReadNothingAtATime) {
  scripted source({});
  EXPECT_THROW((buffered_reader<scripted>(source, 0)), std::invalid_argument);
}

/// What the operations should return, from the whole text.
class reference {
 public:
  explicit reference(std::string text) : text_(std::move(text)) {}

  std::string line(std::size_t limit) {
    const std::size_t end = text_.find('\n');
    if (end == std::string::npos) return rest(limit);
    std::string line = text_.substr(0, end);
    if (line.ends_with('\r')) line.pop_back();
    if (line.size() > limit) return too_long;
    text_.erase(0, end + 1);
    return line;
  }
  std::string until(std::string_view delimiter, std::size_t limit) {
    const std::size_t end = text_.find(delimiter);
    if (end == std::string::npos) return rest(limit);
    if (end > limit) return too_long;
    std::string found = text_.substr(0, end);
    text_.erase(0, end + delimiter.size());
    return found;
  }
  std::string exactly(std::size_t count) {
    if (text_.size() < count) return std::exchange(text_, "") + "~";
    std::string found = text_.substr(0, count);
    text_.erase(0, count);
    return found;
  }
  void skip(std::string_view text) {
    EXPECT_TRUE(text_.starts_with(text));
    text_.erase(0, text.size());
  }

 private:
  std::string rest(std::size_t limit) { return text_.size() > limit ? too_long : std::exchange(text_, "") + "~"; }

  std::string text_;
};

std::string random_text(random_stream& random) {
  std::string text;
  for (std::uint64_t length = random.below(60); length > 0; --length) text += "ab--\r\n\n"[random.below(7)];
  return text;
}

TEST(BufferedReader, AgreesWithTheReference) {
  const std::uint64_t seed = random_stream::entropy();
  SCOPED_TRACE(seed);
  random_stream random(seed);
  for (int round = 0; round < 2'000; ++round) {
    const std::string text = random_text(random);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      if (random.below(8) == 0) pieces.emplace_back();  // an error
      pieces.push_back(text.substr(at, 1 + random.below(9)));
      at += pieces.back().size();
    }
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.processors = 1;
    const auto body = [&]() -> task<> {
      scripted source(pieces);
      buffered_reader in(source, 1 + random.below(7));
      reference wanted(text);
      for (int step = 0; step < 30; ++step) {
        const std::size_t limit = random.below(12);
        const std::uint64_t what = random.below(4);
        constexpr std::string_view delimiters[] = {"--", "-", "\r\n", "b-a"};
        const std::string_view delimiter = delimiters[random.below(4)];
        std::string got = late;
        while (got == late) {
          if (what == 0) {
            const auto one = co_await in.read_line(limit);
            got = shown(one);
          } else if (what == 1) {
            const auto one = co_await in.read_until(delimiter, limit);
            got = shown(one);
          } else if (what == 2) {
            const auto one = co_await in.read_exactly(limit);
            got = shown(one);
          } else {
            std::array<char, 3> some{};
            const auto one = co_await in.read_some(some);
            if (!one) continue;
            wanted.skip({some.data(), *one});
            break;
          }
        }
        if (what == 0) {
          // Without an end it is known to be too long one byte later, which may be a CR.
          EXPECT_EQ(got, wanted.line(limit)) << text << " line " << limit;
        } else if (what == 1) {
          EXPECT_EQ(got, wanted.until(delimiter, limit)) << text << " until " << delimiter << ' ' << limit;
        } else if (what == 2) {
          EXPECT_EQ(got, wanted.exactly(limit)) << text << " exactly " << limit;
        }
        if (testing::Test::HasFailure()) co_return;
      }
    };
    run(body, options);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

// The capacity doubles for a long text, and a long connection with short lines needs no more than at first.
TEST(ReadBuffer, TheMemoryIsBounded) {
  detail::read_buffer text(1);
  std::size_t moves = 0;
  const char* last = nullptr;
  for (std::size_t size = 1; size <= 100'000; ++size) {
    static_cast<void>(text.room());
    if (text.unread().data() != last) ++moves;
    last = text.unread().data();
    text.add(1);
  }
  EXPECT_LT(moves, 20U);
  EXPECT_LE(text.unread().size() + text.room().size(), 4 * 100'000U + 2);
  detail::read_buffer lines(16);
  std::size_t most = 0;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const std::size_t size = lines.room().size();
    most = std::max(most, size);
    lines.add(size);
    lines.consume(lines.unread().size() - std::min<std::size_t>(lines.unread().size(), i % 16));
  }
  EXPECT_LE(most, 4 * 15U + 2 * 16U);
}

// However small the pieces are, a byte is looked at once.
TEST(ReadBuffer, ASearchGoesOnWhereItStopped) {
  detail::read_buffer buffer(1);
  for (std::size_t size = 1; size <= 1'000; ++size) {
    buffer.room()[0] = std::byte{'x'};
    buffer.add(1);
    EXPECT_EQ(buffer.find("\r\n", 2'000).what, detail::read_buffer::finding::missing);
    EXPECT_EQ(buffer.scanned() + 1, size);
  }
  EXPECT_EQ(buffer.find("\n", 2'000).what, detail::read_buffer::finding::missing);
  EXPECT_EQ(buffer.scanned(), 1'000U);
  EXPECT_EQ(buffer.consume(600).size(), 600U);
  EXPECT_EQ(buffer.scanned(), 400U);
}

}  // namespace
}  // namespace foliot::runtime

#include "top/snapshot.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/service/statistics_text.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "programs/temporary_directory.hpp"
#include "text/failure.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

/// A socket of a program that is not foliot's.
class odd_listener {
 public:
  explicit odd_listener(const std::string& path, int backlog = 1) {
    address_.sun_family = AF_UNIX;
    path.copy(address_.sun_path, sizeof(address_.sun_path) - 1);
    EXPECT_EQ(::bind(descriptor_, here(), sizeof(address_)), 0);
    EXPECT_EQ(::listen(descriptor_, backlog), 0);
  }
  ~odd_listener() {
    ::shutdown(descriptor_, SHUT_RDWR);  // ends an accept that waits
    if (thread_) thread_->join();
    for (const int each : waiting_) ::close(each);
    ::close(descriptor_);
  }
  odd_listener(const odd_listener&) = delete;
  odd_listener& operator=(const odd_listener&) = delete;

  /// Makes connections that are never accepted, until the queue is full.
  void fill_queue() {
    for (int result = 0; result == 0;) {
      waiting_.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
      result = ::connect(waiting_.back(), here(), sizeof(address_));
    }
  }
  /// Sends this text to the first client in pieces, with a pause after each, until the client closes.
  void answer(std::string text, std::size_t piece, duration pause = {}) {
    thread_.emplace("answer", [this, text = std::move(text), piece, pause] {
      const int connection = ::accept(descriptor_, nullptr, nullptr);
      for (std::string_view left = text; !left.empty();) {
        const ssize_t sent = ::send(connection, left.data(), std::min(piece, left.size()), MSG_NOSIGNAL);
        if (sent < 0) break;
        left.remove_prefix(static_cast<std::size_t>(sent));
        note nobody_wakes;
        if (pause > duration::zero()) nobody_wakes.sleep_until(monotonic_clock::instance().now() + pause);
      }
      ::close(connection);
    });
  }

 private:
  [[nodiscard]] const sockaddr* here() const { return reinterpret_cast<const sockaddr*>(&address_); }

  sockaddr_un address_{};
  int descriptor_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
  std::vector<int> waiting_;
  std::optional<seam::thread> thread_;
};

class Snapshot : public testing::Test {
 protected:
  std::string failure_of_reading(duration limit) {
    try {
      static_cast<void>(read_snapshot(path, limit));
    } catch (const failure& error) {
      return std::string(error.what()).replace(std::string_view(error.what()).find(path), path.size(), "PATH");
    }
    return "nothing failed";
  }

  temporary_directory here;
  std::string path = here / "socket";
};

TEST_F(Snapshot, AnAnswerThatDripsInIsGivenUpAtTheDeadline) {
  odd_listener listener(path);
  listener.answer(std::string(5'000, 'a'), 1, 1ms);  // 5 s: a hundred times the limit, each pause within it
  const std::string sentence = failure_of_reading(50ms);
  if (sentence == "the process that listens at 'PATH' has not answered within 50ms")
    return;  // the thread had no processor
  EXPECT_EQ(sentence, "the answer of 'PATH' is not complete after 50ms: it comes too slowly");
}

TEST_F(Snapshot, AnAnswerInPiecesIsReadWhole) {
  odd_listener listener(path);
  service_snapshot now;
  now.statistics.counters.started = 17;
  listener.answer(statistics_text(now), 1);
  EXPECT_EQ(std::get<service_snapshot>(read_snapshot(path, 1h)).statistics.counters.started, 17U);
}

TEST_F(Snapshot, SilenceIsGivenUpAtTheDeadline) {
  const odd_listener listener(path);
  EXPECT_EQ(failure_of_reading(20ms), "the process that listens at 'PATH' has not answered within 20ms");
}

TEST_F(Snapshot, AFullQueueIsGivenUpAtTheDeadline) {
  odd_listener listener(path, 0);
  listener.fill_queue();
  EXPECT_EQ(failure_of_reading(20ms), "the process that listens at 'PATH' has not answered within 20ms");
}

TEST_F(Snapshot, AnAnswerWithoutAnEndIsRefused) {
  odd_listener listener(path);
  listener.answer(std::string(2'000'000, 'a'), 65'536);
  EXPECT_EQ(failure_of_reading(1h), "the answer of 'PATH' is longer than 1 MiB: it is not foliot's statistics");
}

}  // namespace
}  // namespace foliot::program

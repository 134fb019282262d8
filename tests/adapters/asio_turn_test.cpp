// The order in which a context of Asio runs the handlers of timers and of descriptors.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <functional>
#include <vector>

#include "asio_library.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

/// A context with a descriptor that is readable from the beginning.
class AsioTurn : public testing::Test {
 protected:
  AsioTurn() {
    EXPECT_EQ(pipe(ends), 0);
    readable.assign(ends[0]);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  }
  ~AsioTurn() override { close(ends[1]); }

  /// Waits for the descriptor, and then notes 0.
  void wait_for_descriptor() {
    readable.async_wait(asio::posix::descriptor_base::wait_read, [this](error_code error) {
      EXPECT_FALSE(error);
      order.push_back(0);
    });
  }

  int ends[2] = {-1, -1};
  asio::io_context context{1};
  asio::posix::stream_descriptor readable{context};
  const std::chrono::steady_clock::time_point past = std::chrono::steady_clock::now() - 1h;
  std::vector<int> order;
};

TEST_F(AsioTurn, ADescriptorThatIsReadyComesBeforeTimersThatAreDue) {
  asio_timer first(context, past);
  asio_timer second(context, past + 1ns);
  second.async_wait([&](error_code) { order.push_back(2); });
  first.async_wait([&](error_code) { order.push_back(1); });
  wait_for_descriptor();
  context.run();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST_F(AsioTurn, AHandlerThatWasPostedComesBeforeTimersThatAreDue) {
  asio_timer timer(context, past);
  timer.async_wait([&](error_code) { order.push_back(1); });
  asio::post(context, [&] { order.push_back(0); });
  context.run();
  EXPECT_EQ(order, (std::vector{0, 1}));
}

TEST_F(AsioTurn, AllTimersThatAreDueComeBeforeADescriptorThatBecomesReadyLater) {
  std::vector<asio_timer> some;
  for (int i = 1; i <= 600; ++i) {
    some.emplace_back(context, past + std::chrono::nanoseconds(i));
    some.back().async_wait([this, i](error_code) {
      if (i == 1) wait_for_descriptor();
      order.push_back(i);
    });
  }
  context.run();
  ASSERT_EQ(order.size(), 601u);
  EXPECT_EQ(order.front(), 1);
  EXPECT_EQ(order.back(), 0) << "the descriptor came before timers that were due before it was waited for";
}

TEST_F(AsioTurn, ATimerThatIsDueWhenAHandlerStartsItDoesNotStarveDescriptors) {
  asio_timer timer(context, past);
  int times = 0;
  const std::function<void(error_code)> again = [&](error_code) {
    if (++times == 1) wait_for_descriptor();
    if (!order.empty() || times == 100) return;
    timer.expires_at(past);
    timer.async_wait(again);
  };
  timer.async_wait(again);
  context.run();
  EXPECT_EQ(order, std::vector{0});
  EXPECT_LE(times, 3) << "the descriptor waited for so many firings";
}

}  // namespace
}  // namespace foliot::test

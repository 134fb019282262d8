// The file of a local listener is removed with its listener, wherever and whenever that is closed; no other file is
// removed.
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

namespace fs = std::filesystem;

using namespace std::chrono_literals;

/// A new folder, removed with its content at the end.
class LocalListeners : public ::testing::Test {
 protected:
  LocalListeners() {
    std::string name = ::testing::TempDir() + "foliot-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(in("other"));
  }
  ~LocalListeners() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] static address at(const fs::path& path) { return address::parse("unix:" + path.string()).value(); }
  [[nodiscard]] static std::size_t open_descriptors() {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
      static_cast<void>(each);
      ++count;
    }
    return count;
  }
  /// A listener that outlives its runtime.
  [[nodiscard]] static listener from_an_ended_runtime(const address& where) {
    listener kept;
    run([](listener& keep, address there) -> task<> {
      auto made = listener::listen(there);
      EXPECT_TRUE(made.has_value());
      if (made) keep = std::move(*made);
      co_return;
    }(kept, where));
    return kept;
  }

 private:
  const fs::path before_ = fs::current_path();
  fs::path folder_;
};

TEST_F(LocalListeners, ACloseLeavesTheFileOfAnotherListenerThatHasTakenThePath) {
  test::everywhere([this]() -> task<> {
    const address where = at(in("gate"));
    auto first = listener::listen(where);
    fs::remove(in("gate"));
    auto second = listener::listen(where);
    EXPECT_TRUE(first && second);
    first->close();
    EXPECT_TRUE(fs::is_socket(in("gate")));
    const auto peer = co_await stream::connect(where);
    EXPECT_TRUE(peer.has_value());
    second->close();
    EXPECT_FALSE(fs::exists(in("gate")));
  });
}

// The second file may have the inode of the first, which is free by then.
TEST_F(LocalListeners, ASecondCloseLeavesTheFileOfWhoListensThereNow) {
  test::everywhere([this]() -> task<> {
    auto first = listener::listen(at(in("gate")));
    first->close();
    const auto second = listener::listen(at(in("gate")));
    EXPECT_TRUE(second.has_value());
    first->close();
    *first = listener();
    EXPECT_TRUE(fs::is_socket(in("gate")));
    co_return;
  });
}

TEST_F(LocalListeners, ACloseAfterAChdirRemovesItsFileAndNoOther) {
  test::everywhere([this]() -> task<> {
    fs::current_path(in(""));
    auto gate = listener::listen(at("gate"));
    EXPECT_TRUE(gate.has_value());
    fs::current_path(in("other"));
    std::ofstream("gate") << "precious";
    gate->close();
    EXPECT_FALSE(fs::exists(in("gate")));
    EXPECT_TRUE(fs::is_regular_file(in("other/gate")));
    co_return;
  });
}

TEST_F(LocalListeners, AFileThatHasTakenThePlaceOfTheSocketStays) {
  test::everywhere([this]() -> task<> {
    auto gate = listener::listen(at(in("gate")));
    fs::remove(in("gate"));
    std::ofstream(in("gate")) << "precious";
    gate->close();
    EXPECT_TRUE(fs::is_regular_file(in("gate")));
    fs::remove(in("gate"));
    co_return;
  });
}

TEST_F(LocalListeners, OneThatOutlivesItsRuntimeRemovesItsFileWhenItGoes) {
  const std::size_t before = open_descriptors();
  for (int start = 0; start < 2; ++start) {  // as a server that is started again
    const listener kept = from_an_ended_runtime(at(in("gate")));
    EXPECT_TRUE(fs::is_socket(in("gate")));
    EXPECT_FALSE(kept);
  }
  EXPECT_FALSE(fs::exists(in("gate")));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(LocalListeners, OneThatOutlivesItsRuntimeMayBeClosedByHand) {
  const std::size_t before = open_descriptors();
  listener kept = from_an_ended_runtime(at(in("gate")));
  kept.close();
  EXPECT_FALSE(fs::exists(in("gate")));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(LocalListeners, TheChildOfAForkLeavesTheFileToItsParent) {
  std::optional<listener> kept = from_an_ended_runtime(at(in("gate")));
  const ::pid_t child = ::fork();
  if (child == 0) {
    kept.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_socket(in("gate")));
  kept.reset();
  EXPECT_FALSE(fs::exists(in("gate")));
}

// A task that finds the listener closed may listen there again at once.
TEST_F(LocalListeners, TheFileIsGoneWhenATaskLearnsOfTheClose) {
  test::everywhere([this]() -> task<> {
    auto gate = listener::listen(at(in("gate")));
    const auto accepts = [](const listener& on, address where) -> task<> {
      const auto got = co_await on.accept();
      EXPECT_TRUE(!got && got.error() == io_errc::closed);
      const auto again = listener::listen(where);
      EXPECT_TRUE(again.has_value());
    };
    auto accepting = spawn(accepts(*gate, at(in("gate"))), "accepts");
    co_await sleep(1ms);
    gate->close();
    co_await accepting.join();
  });
}

}  // namespace
}  // namespace foliot::runtime

// Memory that cannot be had: the n-th allocation of foliot fails, for n = 0, 1, 2, … until none does. An operation then
// throws or fails, and the streams can be destroyed. (OpenSSL allocates by malloc, which these faults leave alone.)
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "peers.hpp"
#include "support/allocations.hpp"

namespace foliot::tls {
namespace {

using runtime::spawn;
using test::error_of;

task<bool> echo_once(runtime::stream below) {
  auto peer = co_await tls_stream::accept(std::move(below), test::server());
  if (!peer) co_return false;
  std::string text(20'000, ' ');
  const auto got = co_await peer->read_all(std::span<char>(text));
  if (!got || *got != text.size()) co_return false;
  const auto sent = co_await peer->write_all(std::string_view(text));
  if (!sent) co_return false;
  const std::error_code ended = co_await peer->shutdown();
  co_return !ended;
}

/// Returns whether all went well. Each side ends by itself when the other one has failed.
task<bool> talk() {
  auto below = runtime::stream::pair();
  if (!below) co_return false;
  auto echoing = spawn(echo_once(std::move(below->second)), "echoes");
  bool well = false;
  try {
    auto peer = co_await tls_stream::connect(std::move(below->first), test::client(), "localhost");
    const std::string text(20'000, 'x');
    if (peer) {
      const auto sent = co_await peer->write_all(std::string_view(text));
      std::string back(text.size(), ' ');
      const auto got = co_await peer->read_all(std::span<char>(back));
      const std::error_code renewed = co_await peer->update_keys(renewed_keys::own);
      const std::error_code ended = co_await peer->shutdown();
      well = !error_of(sent) && !error_of(got) && !renewed && !ended && back == text;
    }
  } catch (const std::bad_alloc&) {
  }
  try {
    const bool other = co_await echoing.join();
    well = well && other;
  } catch (const std::bad_alloc&) {
    well = false;
  }
  co_return well;
}

TEST(Memory, MayBeMissingAnywhere) {
  bool went_well = false;
  static_cast<void>(test::server());
  static_cast<void>(test::client());
  std::size_t succeeding = 0;
  for (bool failed = true; failed; ++succeeding) {
    virtual_clock clock;
    runtime::run_options options;
    options.clock = &clock;
    runtime::run(
        [&]() -> task<> {
          const test::failing_allocations fails(succeeding, 1);
          try {
            went_well = co_await talk();
          } catch (const std::bad_alloc&) {
            went_well = false;
          }
          failed = fails.failed();
        },
        options);
    EXPECT_TRUE(went_well || failed);
  }
  EXPECT_TRUE(went_well);
  EXPECT_GT(succeeding, 10U);
}

}  // namespace
}  // namespace foliot::tls

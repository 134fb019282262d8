// Short histories of every engine with real threads, on the monotonic clock: tests the compiler's code and the
// machine's memory. The simulated worlds test the schedules.
//
// A failure prints the history. FOLIOT_HISTORIES=N in the environment plays N histories.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "checker.hpp"
#include "round.hpp"
#include "support/engines.hpp"

namespace foliot::linearizability {
namespace {

std::uint64_t histories() {
  if (const char* wanted = std::getenv("FOLIOT_HISTORIES")) return std::strtoull(wanted, nullptr, 10);
#if defined(FOLIOT_SANITIZED)
  return 100;
#else
  return 300;
#endif
}

setting real(const std::string& engine) {
  setting in;
  in.options.engine = engine;
  in.linger = [](duration length) {
    const instant until = monotonic_clock::instance().now() + length;
    while (monotonic_clock::instance().now() < until) seam::spin_pause();
  };
  in.pause = [] { std::this_thread::yield(); };
  in.together = true;
  return in;
}

class Real : public test::engine_suite {};
INSTANTIATE_TEST_SUITE_P(, Real, test::every_engine(), test::engine_as_name);

TEST_P(Real, HistoriesAreLinearizable) {
  constexpr duration unit = duration::nanoseconds(100);
  const setting in = real(GetParam());
  for (std::uint64_t seed = 0; seed < histories(); ++seed) {
    random_stream random(seed);
    const plan drawn = draw(static_cast<race>(seed % races), random, unit);
    round one(drawn, in);
    const history seen = one.play();
    ASSERT_FALSE(one.complaint()) << *one.complaint() << ":\n" << describe(seen) << "in round " << seed;
    const auto wrong = violation(seen);
    ASSERT_FALSE(wrong) << *wrong << "in round " << seed;
  }
}

}  // namespace
}  // namespace foliot::linearizability

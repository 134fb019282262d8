// Retries: a request that fails is tried again, after a wait that doubles each time and is drawn at random, until there
// is an answer or the caller's time is up.
//
// Three traps. Without the random part (jitter) all clients whose requests failed together come back together, again
// and again. Without a limit for the whole, the retries of the layers multiply. And a limit that is checked only
// between tries is exceeded by up to the longest try or wait: here one timeout encloses everything, and ends a try or a
// wait in the middle.
#include <foliot/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

/// A server that is down until an instant, and hangs now and then.
class server {
 public:
  server(foliot::instant up_from, int hangs_at) : up_from_(up_from), hangs_at_(hangs_at) {}

  foliot::task<std::optional<std::string>> ask() {
    ++tries_;
    if (tries_ == hangs_at_) co_await rt::sleep(1h);
    co_await rt::sleep(20ms);
    if (rt::now() < up_from_) co_return std::nullopt;
    co_return "an answer";
  }
  [[nodiscard]] int tries() const { return tries_; }

 private:
  foliot::instant up_from_;
  int hangs_at_;
  int tries_ = 0;
};

struct backoff {
  foliot::duration first = 50ms;
  foliot::duration longest = 2s;
  foliot::duration each_try = 500ms;
};

/// Tries until there is an answer, or the timeout of the caller ends it.
foliot::task<std::string> retry(server& of, backoff how, unsigned seed) {
  std::minstd_rand random(seed);
  for (foliot::duration limit = how.first;; limit = std::min(limit * 2, how.longest)) {
    auto one_try = of.ask();
    auto answer = co_await rt::with_timeout(std::move(one_try), how.each_try);
    if (answer && *answer) co_return std::move(**answer);
    // A random wait between zero and the limit ("full jitter") spreads the clients best.
    std::uniform_int_distribution<std::int64_t> draw(0, limit.count());
    co_await rt::sleep(foliot::duration::nanoseconds(draw(random)));
  }
}

foliot::task<> call(server& of, foliot::duration at_most, unsigned seed) {
  const foliot::instant begin = rt::now();
  auto tries = retry(of, backoff{}, seed);
  auto answer = co_await rt::with_timeout(std::move(tries), at_most);
  const auto took = static_cast<int>((rt::now() - begin) / foliot::duration(1ms));
  std::printf("%s after %d tries and %d ms\n", answer ? answer->c_str() : "no answer", of.tries(), took);
}

foliot::task<> program() {
  server soon_up(rt::now() + 3s, 2);  // its second try hangs, and is given up after 500 ms
  co_await call(soon_up, 10s, 1);
  server down(rt::now() + 24h, 0);
  co_await call(down, 10s, 2);
}

int main() {
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(), options);
}

// Contexts: WithTimeout, CancelTree.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/context.hpp>

#include "go_benchmark.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::background;
using runtime::cancel_context;
using runtime::context;
using runtime::task;
using runtime::with_cancel;

task<> tens(share& mine) {
  constexpr std::size_t count = 10;
  std::vector<cancel_context> ten;
  ten.reserve(count);
  while (mine.next()) {
    ten.clear();
    for (std::size_t i = 0; i < count; ++i) ten.push_back(with_timeout(background(), 1h));
    for (cancel_context& each : ten) each.cancel();
  }
  co_return;
}

task<sample> timeouts(go_request asked) {
  const std::size_t each = number_in(asked.variant, "concurrency") / asked.processors;
  std::vector<std::vector<cancel_context>> alive(asked.processors);
  const auto make = [&alive, each](std::size_t index) {
    alive[index].reserve(each);
    for (std::size_t i = 0; i < each; ++i) alive[index].push_back(with_timeout(background(), 1h));
  };
  co_await on_every_processor(asked.processors, make);
  counted_work what = in_shares(tens);
  sample found;
  found.figure = co_await calibrated(what, asked.budget, asked.processors);
  co_return found;
}

/// Makes a chain of so many contexts: the first below `root`, each other one below the one before.
void make_chain(const context& root, std::uint64_t depth, std::vector<cancel_context>& into) {
  into.clear();
  for (std::uint64_t i = 0; i < depth; ++i) into.push_back(with_cancel(i == 0 ? root : into.back()));
}

task<duration> chains(std::uint64_t depth, stretch asked) {
  std::vector<cancel_context> chain;
  chain.reserve(depth);
  const instant begin = monotonic_clock::instance().now();
  for (std::uint64_t i = 0; i < asked.operations; ++i) {
    make_chain(background(), depth, chain);
    cancel_context open = with_cancel(background());
    make_chain(open, depth, chain);
    open.cancel();
    cancel_context closed = with_cancel(background());
    closed.cancel();
    make_chain(closed, depth, chain);
  }
  chain.clear();
  co_return monotonic_clock::instance().now() - begin;
}

}  // namespace

void add_context_benchmarks(go_benchmarks& to) {
  to["WithTimeout"] = timeouts;
  to["CancelTree"] = alone([](std::string_view variant) -> counted_work {
    return [depth = number_in(variant, "depth")](const stretch& asked) { return chains(depth, asked); };
  });
}

}  // namespace foliot::program::bench

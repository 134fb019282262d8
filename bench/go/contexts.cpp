// Contexts: WithTimeout, CancelTree.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/runtime/context.hpp>

#include "go_benchmarks.hpp"

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

/// While so many contexts with a timeout are alive, an equal part of them made on each processor.
task<sample> timeouts(std::size_t concurrency, request asked) {
  const auto processors = static_cast<std::size_t>(asked.threads);
  const std::size_t each = concurrency / processors;
  std::vector<std::vector<cancel_context>> alive(processors);
  const auto make = [&alive, each](std::size_t index) {
    alive[index].reserve(each);
    for (std::size_t i = 0; i < each; ++i) alive[index].push_back(with_timeout(background(), 1h));
  };
  co_await on_every_processor(processors, make);
  counted_work what = in_shares(tens);
  sample found;
  found.figure = co_await calibrated(what, asked.time, processors);
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
  for (const std::size_t concurrency : {40U, 4'000U, 400'000U}) {
    to[fmt::format("WithTimeout/concurrency={}", concurrency)] = [concurrency](const request& asked) {
      return timeouts(concurrency, asked);
    };
  }
  for (const std::uint64_t depth : {1U, 10U, 100U, 1'000U}) {
    to[fmt::format("CancelTree/depth={}", depth)] =
        alone([depth](const stretch& asked) { return chains(depth, asked); });
  }
}

}  // namespace foliot::program::bench

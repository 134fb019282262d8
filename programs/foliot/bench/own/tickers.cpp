// Tickers: Ticker, TickerReset, TickerResetNaive.
#include <foliot/runtime/ticker.hpp>

#include "own_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::task;
using runtime::ticker;

task<> beats(share& mine) {
  ticker each(1ns);
  while (mine.next()) co_await each;
}

task<> resets(share& mine) {
  ticker each(1ns);
  while (mine.next()) each.reset(2ns);
  co_return;
}

task<> replacements(share& mine) {
  ticker each(1ns);
  while (mine.next()) {
    each.stop();
    each = ticker(2ns);
  }
  co_return;
}

}  // namespace

void add_ticker_benchmarks(own_benchmarks& to) {
  to["Ticker"] = in_garbage([](std::string_view) { return beats; });
  to["TickerReset"] = in_garbage([](std::string_view) { return resets; });
  to["TickerResetNaive"] = in_garbage([](std::string_view) { return replacements; });
}

}  // namespace foliot::program::bench

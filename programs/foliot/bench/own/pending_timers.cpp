#include "pending_timers.hpp"

#include "shares.hpp"

namespace foliot::program::bench {

using namespace std::chrono_literals;

runtime::task<> pending_timers::plant(std::size_t processors, std::size_t each) {
  planted_.resize(processors);
  const auto start = [this, each](std::size_t index) {
    planted_[index].reserve(each);
    for (std::size_t i = 0; i < each; ++i) planted_[index].push_back(runtime::after_func(1h, [] {}));
  };
  co_await on_every_processor(processors, start);
}

}  // namespace foliot::program::bench

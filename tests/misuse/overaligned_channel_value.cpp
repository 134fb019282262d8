// expect: foliot: a channel's values must not need a stricter alignment than operator new gives
#include <foliot/runtime.hpp>

#include <memory>

struct alignas(32) vector {
  double numbers[4];
};

#ifdef CORRECT
using value = std::unique_ptr<vector>;
#else
using value = vector;
#endif

foliot::task<> run(foliot::channel<value> from) {
  while (auto got = co_await from.receive()) static_cast<void>(got);
}

// expect: foliot: the result of blocking() must not need a stricter alignment than operator new gives
#include <foliot/runtime.hpp>

#include <memory>

struct alignas(32) vector {
  double numbers[4];
};

foliot::task<> run() {
  const auto read = [] {
#ifdef CORRECT
    return std::make_unique<vector>();
#else
    return vector{};
#endif
  };
  const auto got = co_await foliot::runtime::blocking(read);
  static_cast<void>(got);
}

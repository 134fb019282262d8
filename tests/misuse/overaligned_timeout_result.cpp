// expect: foliot: a task's result must not need a stricter alignment than operator new gives
#include <foliot/runtime.hpp>

#include <chrono>
#include <memory>
#include <utility>

struct alignas(32) vector {
  double numbers[4];
};

#ifdef CORRECT
using result = std::unique_ptr<vector>;
#else
using result = vector;
#endif

foliot::task<> run(foliot::task<result> body) {
  const auto got = co_await foliot::runtime::with_timeout(std::move(body), std::chrono::seconds(1));
  static_cast<void>(got);
}

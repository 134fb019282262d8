// expect: foliot: the function for blocking() must not need a stricter alignment than operator new gives
#include <foliot/runtime.hpp>

#include <memory>

struct alignas(32) vector {
  double numbers[4];
};

#ifdef CORRECT
using captured = std::shared_ptr<vector>;
#else
using captured = vector;
#endif

foliot::task<> run(const captured& what) {
  const auto write = [what] { static_cast<void>(what); };
  co_await foliot::runtime::blocking(write);
}

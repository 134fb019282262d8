// expect: foliot: a task's result must not need a stricter alignment than operator new gives
#include <foliot/runtime.hpp>

#include <memory>

struct alignas(32) vector {
  double numbers[4];
};

#ifdef CORRECT
foliot::task<std::unique_ptr<vector>> run() { co_return std::make_unique<vector>(); }
foliot::task<vector&> refer(vector& to) { co_return to; }
#else
foliot::task<vector> run() { co_return vector{}; }
#endif

// expect: use of deleted function
// expect with clang: call to implicitly-deleted copy constructor
#include <foliot/service.hpp>

#include <memory>

using plain_timer = foliot::pinned_timer<void (*)()>;

void run(std::unique_ptr<plain_timer> first) {
#ifdef CORRECT
  const std::unique_ptr<plain_timer> second = std::move(first);
#else
  const plain_timer second = *first;
#endif
  static_cast<void>(second);
}

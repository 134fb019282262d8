// A fiber: a stack of its own, on which a function runs until it switches to another fiber.
//
// For schedulers of simulated threads, all on one thread of the operating system. AddressSanitizer is told
// of every switch; ThreadSanitizer does not follow fibers. Each has exceptions of its own: it may be left while it
// handles one.
//
//   fiber outside;                            // where the caller is now
//   fiber inside([&] { …; fiber::leave(inside, outside); });
//   fiber::go(outside, inside);               // returns when somebody goes to `outside`
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

namespace foliot::support {

class fiber {
 public:
  /// The stack that the caller is on.
  fiber() = default;
  /// Runs `body`, which must not return, when somebody first goes there.
  explicit fiber(std::function<void()> body);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// The caller, who is on `from`, goes to `to`; returns when somebody goes to `from`.
  static void go(fiber& from, fiber& to);
  /// The same, but nobody will ever come back.
  [[noreturn]] static void leave(fiber& from, fiber& to);

 private:
  static void begin();
  [[noreturn]] void enter();
  void depart(fiber& to, bool forever);
  void arrive();

  std::function<void()> body_;
  std::unique_ptr<char[]> stack_;
  // How to come here for the first time, which takes system calls, and how ever after.
  ucontext_t context_{};
  [[maybe_unused]] jmp_buf registers_{};  // AddressSanitizer's fibers switch by ucontext alone
  bool begun_ = true;
  // The exceptions that it handles, as the C++ runtime keeps them for a thread.
  std::array<void*, 2> exceptions_{};
  // What AddressSanitizer knows of the stack. Of the outside's, only once it has been left.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace foliot::support

// expect with g++ 12: foliot: g++ 12 destroys a struct that is made in a co_await expression twice
#include <foliot/runtime.hpp>

#include <string>

struct job {
  std::string text;
  int priority;
};

foliot::task<> run(foliot::runtime::send_end<job> jobs) {
#ifdef CORRECT
  co_await jobs.emplace("made of its parts", 2);
#else
  co_await jobs.send({"made in the expression", 2});  // tidy: allow(coroutine) the misuse
#endif
}

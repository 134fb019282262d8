// expect with g++ 12: foliot: g++ 12 destroys a struct that is made in a co_await expression twice
#include <foliot/runtime.hpp>

#include <string>

struct job {
  std::string text;
  int priority;
};

foliot::task<> run(foliot::channel<job> jobs) {
  job named{"named", 1};
  co_await jobs.send(named);
#ifdef CORRECT
  co_await jobs.emplace("made of its parts", 2);
  co_await jobs.emplace(std::move(named));
#else
  co_await jobs.send(job{"made in the expression", 2});  // tidy: allow(coroutine) the misuse
#endif
}

// Workers of a server: each job is tried three times, each try has a limit, all of them together have the deadline of
// the asker, and at SIGTERM what runs gets two seconds to end. In every case the asker is told what became of its job:
// done, failed, too late, cancelled or refused.
//
// What tasks share is made before the run and outlives it: the main task's own variables would be destroyed before the
// tasks that still wait, if it failed.
//
// On a virtual clock the seconds take no time.
#include <foliot/runtime.hpp>

#include <csignal>
#include <cstdio>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <unistd.h>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

void report(const std::string& what) {
  std::printf("at %.1f s: %s\n", static_cast<double>(rt::now().nanoseconds()) / 1e9, what.c_str());
}

/// Where the answer to a job goes. If this is destroyed without an answer, the task that waits there receives nothing.
class reply {
 public:
  explicit reply(rt::send_end<std::string> to) : to_(std::move(to)) {}
  reply(reply&&) = default;
  reply& operator=(reply&&) = delete;
  ~reply() {
    if (to_) to_.close();  // not moved from, and not answered
  }

  void answer(std::string text) {
    const rt::send_end<std::string> to = std::move(to_);
    static_cast<void>(to.try_send(std::move(text)));  // there is room for one
  }

 private:
  rt::send_end<std::string> to_;
};

struct job {
  int number;
  foliot::instant until;
  reply to;
};

struct office {
  foliot::channel<job> jobs{100};
  std::stop_source rest;
  rt::wait_group working;
  rt::wait_group asking;
};

/// The work, which fails now and then, or hangs.
foliot::task<std::optional<int>> square(int number, int tries) {
  if (number == 7 || (number == 3 && tries == 1)) co_await rt::sleep(1h);
  co_await rt::sleep(400ms);
  if (number == 2 && tries == 1) co_return std::nullopt;
  if (number >= 8) co_return std::nullopt;
  co_return number* number;
}

foliot::task<std::optional<int>> try_again(int number) {
  for (int tries = 1;; ++tries) {
    auto one = square(number, tries);
    const auto result = co_await rt::with_timeout(std::move(one), 1s);
    if (result && *result) co_return *result;
    if (tries == 3) co_return std::nullopt;
    co_await rt::sleep(300ms * tries);  // retry.cpp has a random part as well
  }
}

foliot::task<> work(rt::receive_end<job> jobs, rt::wait_group::member) {
  while (auto next = co_await jobs.receive()) {
    auto tries = try_again(next->number);
    const auto result = co_await rt::with_deadline(std::move(tries), next->until);
    next->to.answer(!result ? "too late" : !*result ? "failed three times" : "done, " + std::to_string(**result));
  }
}

foliot::task<> ask(office& at, int number, foliot::duration at_most, rt::wait_group::member) {
  foliot::channel<std::string> answers(1);
  std::string said = "refused";
  try {
    co_await at.jobs.emplace(number, rt::now() + at_most, reply(answers));
    const auto answer = co_await answers.receive();
    said = answer ? *answer : "cancelled";
  } catch (const rt::channel_closed&) {  // nobody takes jobs any more
  }
  report("job " + std::to_string(number) + ": " + said);
}

foliot::task<> clients(office& at, rt::wait_group::member) {
  const auto put = [&at](int number, foliot::duration at_most) {
    rt::spawn(ask(at, number, at_most, at.asking.enter()), "asks for " + std::to_string(number));
  };
  for (const int number : {1, 2, 3, 8}) put(number, 10s);
  put(9, 3s);  // has no time for three tries
  co_await rt::sleep(5s);
  for (const int number : {3, 7, 4, 5}) put(number, 10s);  // there are two workers
  co_await rt::sleep(100ms);
  kill(getpid(), SIGTERM);
  co_await rt::sleep(1ms);
  put(6, 10s);
}

foliot::task<> program(office& at) {
  const auto signals = rt::signal_set::watch({SIGTERM}).value();
  for (const char* name : {"worker 1", "worker 2"}) {
    rt::spawn(work(at.jobs, at.working.enter()), at.rest.get_token(), name);
  }
  rt::spawn(clients(at, at.asking.enter()), "clients");

  const auto signalled = co_await signals.next();
  if (signalled) report("SIGTERM");
  at.jobs.close();
  while (at.jobs.try_receive()) {  // no worker has taken these: their askers are told
  }
  auto ended = co_await rt::select(at.working.wait(), rt::after(2s));
  if (ended.index() != 0) {
    at.rest.request_stop();
    co_await at.working.wait();
  }
  co_await at.asking.wait();  // until all have their answers
  report("the end");
}

int main() {
  office at;
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(at), options);
}

// Tasks that take jobs from a channel and answer each one. The task that put the job waits for its answer.
//
// The trap is a job that gets no answer: its worker was asked to stop, or no worker has taken it. A channel does not
// end because nobody is left to send, so the asker would wait for ever. Here a reply that is destroyed without an
// answer closes its channel. It is a member of the job, so nothing has to think of it: not the worker, not who stops
// it.
//
// On a virtual clock the seconds take no time.
#include <foliot/runtime.hpp>

#include <cstdio>
#include <stop_token>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

/// Where the answer to a job goes. If this is destroyed without an answer, the task that waits there receives nothing.
class reply {
 public:
  explicit reply(rt::send_end<int> to) : to_(std::move(to)) {}
  reply(reply&&) = default;
  reply& operator=(reply&&) = delete;
  ~reply() {
    if (to_) to_.close();  // not moved from, and not answered
  }

  void answer(int value) {
    const rt::send_end<int> to = std::move(to_);
    static_cast<void>(to.try_send(value));  // there is room for one
  }

 private:
  rt::send_end<int> to_;
};

struct job {
  int number;
  reply to;
};

foliot::task<> work(rt::receive_end<job> jobs) {
  while (auto next = co_await jobs.receive()) {
    // The work. A stop ends it here, and destroys the job.
    co_await rt::sleep(1s * next->number);
    next->to.answer(next->number * next->number);
  }
}

foliot::task<> ask(rt::send_end<job> jobs, int number) {
  foliot::channel<int> answers(1);
  co_await jobs.emplace(number, reply(answers));
  const auto answer = co_await answers.receive();
  const auto seconds = static_cast<int>(rt::now().nanoseconds() / 1'000'000'000);
  if (answer) {
    std::printf("at %d s: %d, squared, is %d\n", seconds, number, *answer);
  } else {
    std::printf("at %d s: nobody squares %d\n", seconds, number);
  }
}

foliot::task<> program() {
  foliot::channel<job> jobs(10);
  std::stop_source stop;
  rt::wait_group working;
  const auto worker = [&]() -> foliot::task<> {
    const auto member = working.enter();
    co_await work(jobs);
  };
  for (int i = 0; i < 2; ++i) rt::spawn(worker, stop.get_token(), "worker");
  std::vector<rt::join_handle<>> asked;
  for (const int number : {1, 2, 3, 9, 4, 5}) asked.push_back(rt::spawn(ask(jobs, number), "asks"));

  co_await rt::sleep(5s);
  jobs.close();  // nobody asks any more
  stop.request_stop();
  while (jobs.try_receive()) {  // before a worker takes another one: a stop ends only waits
  }
  co_await working.wait();
  for (auto& each : asked) co_await each.join();
}

int main() {
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  options.processors = 1;
  foliot::run(program(), options);
}

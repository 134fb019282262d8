// Timers that outlive their process, without a server: reminders are kept in a folder, and a program that is started
// again goes on where the one before it has ended, however it has ended.
//
// A reminder is a job with a key of the program's own. The program cancels or moves it by that key. If a cancel and a
// worker race for a job, exactly one of them gets it, and the answer to the cancel says which.
#include <stdlib.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>

namespace jobs = foliot::jobs;
using namespace std::chrono_literals;

namespace {

jobs::put reminder(std::string name, jobs::milliseconds in) {
  return {.tube = "reminders", .key = name, .body = "remember " + name, .due = in};
}

const char* in_words(jobs::change_answer::kind what) {
  switch (what) {
    case jobs::change_answer::kind::done: return "done";
    case jobs::change_answer::kind::reserved: return "too late, it is being delivered";
    default: return "there is none";
  }
}

/// A program that makes reminders, changes its mind about two, and ends.
void first_life(const std::string& folder) {
  jobs::embedded_store store({.folder = folder});
  execute_one(store, reminder("bread", 1h));
  execute_one(store, reminder("milk", 80ms));
  execute_one(store, reminder("dentist", 20ms));
  const auto cancelled = execute_one(store, jobs::cancel{jobs::job_key{"reminders", "dentist"}});
  std::printf("cancel the dentist: %s\n", in_words(cancelled.what));
  const jobs::job_key bread{"reminders", "bread"};
  const auto moved = execute_one(store, jobs::reschedule{bread, 40ms});
  std::printf("bread sooner: %s\n", in_words(moved.what));
  const auto again = execute_one(store, jobs::cancel{jobs::job_key{"reminders", "dentist"}});
  std::printf("cancel the dentist again: %s\n", in_words(again.what));
}

foliot::runtime::task<> deliver(jobs::broker& broker) {
  jobs::client worker(broker);
  worker.watch("reminders");
  for (int delivered = 0; delivered < 2; ++delivered) {
    const jobs::reserve_answer got = co_await worker.reserve();  // costs nothing until one is due
    std::printf("%s\n", got.job->job.body.c_str());
    co_await worker.finish(got.job->token.id);
  }
}

foliot::runtime::task<> live_again(jobs::job_store& store) {
  jobs::broker broker(store);
  auto running = foliot::runtime::spawn(broker.run(), "broker");
  co_await deliver(broker);
  broker.close();
  co_await running.join();
}

/// A later program on the same folder, which delivers what falls due.
void second_life(const std::string& folder) {
  jobs::embedded_store store({.folder = folder});
  foliot::run(live_again(store));
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "reminders-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  first_life(folder);
  second_life(folder);
  std::filesystem::remove_all(folder);
}

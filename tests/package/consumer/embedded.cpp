// A program of a user of foliot::jobs_embedded, which gets the folder of the store: what was put is there again.
#include <foliot/jobs.hpp>
#include <foliot/jobs/embedded_store.hpp>
#include <foliot/version.hpp>

#include <chrono>
#include <cstdio>

int main(int, char** arguments) {
  using namespace std::chrono_literals;
  const foliot::jobs::embedded_options options{.folder = arguments[1]};
  {
    foliot::jobs::embedded_store store(options);
    execute_one(store, foliot::jobs::put{.tube = "mail", .body = "hello", .due = 30min});
    store.close();
  }
  foliot::jobs::embedded_store store(options);
  if (execute_one(store, foliot::jobs::list_tubes{}).tubes.size() != 1) return 1;
  std::puts("foliot " FOLIOT_VERSION " works");
  return 0;
}

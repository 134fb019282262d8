// A program of a user of foliot::jobs_postgresql, without a database: it is told that there is none.
#include <foliot/jobs.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/version.hpp>

#include <cstdio>

int main() {
  try {
    const foliot::jobs::postgresql_store store({.database = "host=/nowhere dbname=jobs", .node = "a"});
    return 1;
  } catch (const foliot::jobs::store_failure& failure) {
    std::puts(failure.what());
  }
  std::puts("foliot " FOLIOT_VERSION " works");
  return 0;
}

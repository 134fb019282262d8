// Tests of embedded_store beyond the conformance suite: what a reopening keeps, windows that do not hold all jobs, and
// refusals of a folder.
#include <foliot/jobs/embedded_store.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>

#include "jobs/embedded/disk.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace {

namespace jobs = foliot::jobs;
using foliot_test::temporary_folder;
using namespace std::chrono_literals;

class embedded : public testing::Test {
 protected:
  embedded() {
    time.set_wall(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));
    open();
  }
  ~embedded() override {
    if (store) {
      EXPECT_TRUE(check());
    }
  }
  void open() {
    store = std::make_unique<jobs::embedded_store>(
        jobs::embedded_options{.folder = folder.path(), .disk_reserve = 0, .clocks = {&wall, &time}});
  }
  void reopen() {
    store.reset();
    open();
  }
  [[nodiscard]] testing::AssertionResult check() {
    const auto right = store->check();
    return right ? testing::AssertionSuccess() : testing::AssertionFailure() << right.error();
  }
  template <class Operation>
  auto run(Operation what) {
    return jobs::execute_one(*store, std::move(what));
  }
  jobs::job_id put(std::string tube, std::string body, jobs::due_at due = 0ms, jobs::priority priority = 0) {
    return run(jobs::put{.tube = std::move(tube), .body = std::move(body), .priority = priority, .due = due}).id;
  }
  std::vector<jobs::claimed_job> claim(std::string tube, std::uint32_t count = 1) {
    return run(jobs::claim{.tubes = {std::move(tube)}, .count = count}).jobs;
  }

  temporary_folder folder;
  foliot::virtual_clock time;
  jobs::virtual_wall_clock wall{time};
  std::unique_ptr<jobs::embedded_store> store;
};

TEST_F(embedded, a_job_is_put_claimed_and_finished) {
  const jobs::job_id id = put("mail", "hello");
  const auto mine = claim("mail");
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_EQ(mine[0].job.id, id);
  EXPECT_EQ(mine[0].job.body, "hello");
  EXPECT_TRUE(claim("mail").empty());
  EXPECT_EQ(run(jobs::finish{mine[0].token}).what, jobs::holder_answer::kind::done);
  EXPECT_EQ(run(jobs::finish{mine[0].token}).what, jobs::holder_answer::kind::not_held);
  EXPECT_FALSE(run(jobs::peek{id}).job);
  EXPECT_EQ(run(jobs::count_all{}).counts.all(), 0u);
}

TEST_F(embedded, a_reopening_keeps_jobs_and_makes_the_reserved_ready) {
  const jobs::job_id ready = put("mail", "ready");
  const jobs::job_id delayed = put("mail", "delayed", 1h);
  const jobs::job_id taken = put("mail", "taken", 2h);
  const auto first = claim("mail");
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(run(jobs::claim_job{taken}).jobs.size(), 1u);
  reopen();
  EXPECT_EQ(run(jobs::finish{first[0].token}).what, jobs::holder_answer::kind::not_held);
  EXPECT_EQ(run(jobs::peek{delayed}).job->state, jobs::job_state::delayed);
  const auto again = claim("mail", 3);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].job.id, ready);
  EXPECT_GT(again[0].token.opening, first[0].token.opening);
  EXPECT_EQ(again[1].job.id, taken);
  EXPECT_GT(put("mail", "next"), taken);
}

TEST_F(embedded, ids_go_on_after_all_jobs_have_ended) {
  const jobs::job_id first = put("mail", "");
  ASSERT_EQ(run(jobs::cancel{first}).what, jobs::change_answer::kind::done);
  reopen();
  EXPECT_GT(put("mail", ""), first);
}

TEST_F(embedded, a_long_body_survives_release_and_reopening) {
  const std::string body(50'000, 'x');
  put("mail", body);
  const auto mine = claim("mail");
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_EQ(mine[0].job.body, body);
  EXPECT_EQ(run(jobs::release{mine[0].token, 7, 1h}).what, jobs::holder_answer::kind::done);
  reopen();
  const auto found = run(jobs::peek_first{"mail", jobs::job_state::delayed}).job;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->body, body);
  EXPECT_EQ(found->priority, 7u);
  EXPECT_EQ(found->counters.releases, 1u);
  EXPECT_EQ(run(jobs::cancel{found->id}).what, jobs::change_answer::kind::done);
}

TEST_F(embedded, more_jobs_than_a_window_holds_come_in_order) {
  // Two halves, the second more urgent: the window drops the end of the first, and reads it again.
  constexpr std::size_t count = 40'000;
  std::vector<jobs::operation> batch;
  for (std::size_t each = 0; each < count; ++each) {
    batch.push_back(jobs::put{.tube = "mail", .body = "", .priority = each < count / 2 ? 5u : 3u});
  }
  store->execute(batch);
  ASSERT_TRUE(check());
  jobs::claimed_job last{};
  for (std::size_t done = 0; done < count;) {
    const auto some = claim("mail", 1000);
    ASSERT_EQ(some.size(), 1000u) << done;
    batch.clear();
    for (const jobs::claimed_job& each : some) {
      EXPECT_LT(std::pair(last.job.priority, last.job.id), std::pair(each.job.priority, each.job.id));
      last = each;
      batch.push_back(jobs::finish{each.token});
    }
    store->execute(batch);
    done += some.size();
    if (done == count / 2) {
      ASSERT_TRUE(check());
      reopen();
    }
  }
  EXPECT_TRUE(claim("mail").empty());
}

TEST_F(embedded, a_flood_of_due_jobs_leaves_room_for_another_tube) {
  std::vector<jobs::operation> batch(30'000, jobs::put{.tube = "flood", .body = "", .due = 1h});
  batch.push_back(jobs::put{.tube = "other", .body = "", .due = 1h + 1ms});
  store->execute(batch);
  time.advance(1h + 1ms);
  store->execute({});
  EXPECT_EQ(claim("other").size(), 1u);
  EXPECT_LT(run(jobs::count_tube{"flood"}).counts.ready, 10'000u);
  EXPECT_LE(store->next().due, jobs::store_clocks({&wall, &time}).utc());
  reopen();
  for (int turn = 0; turn < 20; ++turn) store->execute({});
  EXPECT_EQ(run(jobs::count_tube{"flood"}).counts.ready, 30'000u);
  EXPECT_EQ(store->next().due, jobs::utc_time::max());
}

// More tubes have a backlog than one batch serves; then one more becomes due.
TEST_F(embedded, a_tube_gets_its_turn_before_the_others_are_done) {
  constexpr std::size_t tubes = 2100;
  constexpr std::size_t jobs_each = 4;
  const jobs::utc_time due = std::chrono::floor<jobs::milliseconds>(foliot::wall_clock::to_sys(time.wall_now())) + 5ms;
  std::vector<jobs::operation> puts;
  for (std::size_t i = 0; i < tubes * jobs_each; ++i) {
    puts.push_back(jobs::put{.tube = "t" + std::to_string(i % tubes), .body = "", .due = due});
  }
  store->execute(puts);
  put("late", "", due + 1ms);
  time.advance(6ms);
  store->execute({});  // 2,048 turns
  store->execute({});
  EXPECT_EQ(claim("late").size(), 1u);
  EXPECT_GT(run(jobs::count_all{}).counts.delayed, 0u);
}

TEST_F(embedded, many_empty_tubes_are_forgotten) {
  std::vector<jobs::operation> puts;
  std::vector<jobs::operation> cancels;
  for (jobs::job_id id = 1; id <= 3000; ++id) {
    puts.push_back(jobs::put{.tube = "tube" + std::to_string(id), .body = ""});
    if (id % 100 != 0) cancels.push_back(jobs::cancel{id});
  }
  store->execute(puts);
  store->execute(cancels);
  EXPECT_EQ(run(jobs::list_tubes{}).tubes.size(), 30u);
  put("tube1", "");
  reopen();
  EXPECT_EQ(run(jobs::list_tubes{}).tubes.size(), 31u);
}

/// How many keys RocksDB compares meanwhile, in this thread: a measure of what is searched and read.
template <class Look>
std::uint64_t comparisons_of(Look look) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  look();
  const std::uint64_t made = rocksdb::get_perf_context()->user_key_comparison_count;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  return made;
}

TEST_F(embedded, comparisons_of_keys_are_counted_only_if_the_program_asks_for_that) {
  const auto counted = [this](const std::function<void()>& choose) {
    std::uint64_t made = 0;
    std::thread([&] {  // a thread that has executed no batch yet
      choose();
      rocksdb::get_perf_context()->Reset();
      for (int i = 0; i < 10; ++i) put("mail", "hello");
      made = rocksdb::get_perf_context()->user_key_comparison_count;
    })
        .join();
    return made;
  };
  EXPECT_EQ(counted([] {}), 0u);
  EXPECT_GT(counted([] { rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableTime); }), 0u) << "chosen before";
  const auto choose_later = [this] {
    put("mail", "hello");
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  };
  EXPECT_GT(counted(choose_later), 0u);
}

TEST_F(embedded, a_page_of_very_much_reads_what_a_page_of_little_does) {
  using enum jobs::job_state;
  const auto fill = [this](int begin, int end) {
    std::vector<jobs::operation> puts;
    for (int i = begin; i < end; ++i) {
      const std::string tube = "tube" + std::to_string(i / 5);
      puts.push_back(jobs::put{.tube = tube, .body = "", .due = i % 5 == 4 ? 0ms : jobs::milliseconds(1h)});
      puts.push_back(jobs::put{.tube = "all", .body = "", .due = i % 2 == 0 ? 0ms : jobs::milliseconds(1h)});
    }
    store->execute(puts);
  };
  std::vector<jobs::operation> looks{jobs::list_tubes{.count = 100, .with_counts = true},
                                     jobs::list_tubes{.prefix = "tube5", .after = "tube51", .count = 100},
                                     jobs::list_jobs{},
                                     jobs::list_jobs{.after = {0, 700}},
                                     jobs::list_jobs{.which = reserved},
                                     jobs::list_jobs{.tube = "all", .which = ready},
                                     jobs::list_jobs{.tube = "all", .which = delayed},
                                     jobs::list_jobs{.tube = "tube5", .which = delayed}};
  const auto measure = [&] {
    std::vector<std::uint64_t> all;
    for (const jobs::operation& each : looks) {
      std::vector<jobs::operation> batch{each};
      all.push_back(comparisons_of([&] { store->execute(batch); }));
    }
    return all;
  };
  fill(0, 1000);
  claim("all", 50);
  measure();
  const std::vector<std::uint64_t> little = measure();
  fill(1000, 20'000);
  const std::vector<std::uint64_t> much = measure();
  EXPECT_EQ(much[0], 0u) << "tubes and their counts are in memory";
  EXPECT_EQ(much[1], 0u);
  EXPECT_EQ(much[4], 0u) << "and so are reservations";
  for (std::size_t i = 0; i < much.size(); ++i) EXPECT_LT(much[i], 2 * little[i] + 3000) << i;
}

TEST_F(embedded, a_list_by_ids_does_not_read_what_ended_jobs_have_left) {
  std::vector<jobs::operation> puts;
  std::vector<jobs::operation> cancels;
  for (jobs::job_id id = 1; id <= 5000; ++id) {
    puts.push_back(jobs::put{.tube = "a", .body = ""});
    if (id < 5000) cancels.push_back(jobs::cancel{id});
  }
  store->execute(puts);
  store->execute(cancels);
  const auto list = [this] { EXPECT_EQ(run(jobs::list_jobs{}).jobs.at(0).job.id, 5000u); };
  const std::uint64_t first = comparisons_of(list);
  const std::uint64_t second = comparisons_of(list);
  EXPECT_GT(first, 4000u);
  EXPECT_LT(second, 200u);
  run(jobs::cancel{jobs::job_id{5000}});
  EXPECT_TRUE(run(jobs::list_jobs{}).jobs.empty());
  const jobs::job_id next = put("a", "");
  EXPECT_EQ(run(jobs::list_jobs{}).jobs.at(0).job.id, next);
}

/// They are in the index of the ready jobs, in front of those that nobody has.
TEST_F(embedded, a_list_of_ready_jobs_reads_so_many_reserved_ones) {
  std::vector<jobs::operation> puts;
  for (std::uint32_t i = 0; i < jobs::most_searched + 10; ++i) puts.push_back(jobs::put{.tube = "a", .body = ""});
  store->execute(puts);
  EXPECT_EQ(run(jobs::claim{{"a"}, jobs::most_searched + 5}).jobs.size(), jobs::most_searched + 5);
  const jobs::list_jobs ready{.tube = "a", .which = jobs::job_state::ready, .count = 1};
  const jobs::jobs_answer first = run(ready);
  EXPECT_TRUE(first.jobs.empty());
  ASSERT_TRUE(first.next);
  EXPECT_EQ(first.next->id, jobs::most_searched);
  jobs::list_jobs behind = ready;
  behind.after = *first.next;
  EXPECT_EQ(run(behind).jobs.at(0).job.id, jobs::most_searched + 6);
}

TEST_F(embedded, tubes_without_jobs_are_passed_over_in_pieces) {
  std::vector<jobs::operation> pauses;
  for (std::uint32_t i = 0; i < jobs::most_searched + 10; ++i) {
    pauses.push_back(jobs::pause{"tube" + std::to_string(100'000 + i), 1h});
  }
  store->execute(pauses);
  put("z", "");
  const jobs::tubes_answer first = run(jobs::list_tubes{.count = 10});
  EXPECT_TRUE(first.tubes.empty());
  EXPECT_EQ(first.next, "tube" + std::to_string(100'000 + jobs::most_searched - 1));
  const jobs::tubes_answer second = run(jobs::list_tubes{.after = first.next, .count = 10});
  EXPECT_EQ(second.tubes, std::vector<std::string>{"z"});
  EXPECT_EQ(second.next, "");
}

std::string refusal(const std::string& folder) {
  try {
    const jobs::embedded_store store(jobs::embedded_options{.folder = folder});
  } catch (const jobs::store_failure& failed) {
    return failed.what();
  }
  return "";
}

TEST_F(embedded, a_folder_that_is_in_use_is_refused) {
  EXPECT_NE(refusal(folder.path()).find("in use"), std::string::npos) << refusal(folder.path());
}

TEST(embedded_bounds, puts_beyond_them_are_refused_also_after_a_reopening) {
  using enum jobs::put_answer::kind;
  const temporary_folder folder;
  const jobs::embedded_options options{.folder = folder.path(), .disk_reserve = 0, .most_jobs = 2};
  const auto put = [](jobs::embedded_store& to, std::string key) {
    const auto existing = jobs::on_existing::replace;
    return jobs::execute_one(to, jobs::put{.tube = "a", .key = std::move(key), .body = "b", .existing = existing}).what;
  };
  {
    jobs::embedded_store store(options);
    EXPECT_EQ(put(store, "one"), inserted);
    EXPECT_TRUE(store.execute({}).has_room);
    EXPECT_EQ(put(store, "two"), inserted);
    EXPECT_FALSE(store.execute({}).has_room);
    EXPECT_EQ(put(store, "three"), no_space);
    EXPECT_EQ(put(store, "two"), replaced);
    const auto replacing = [](std::string key) {
      return jobs::put{.tube = "a", .key = std::move(key), .body = "b", .existing = jobs::on_existing::replace};
    };
    const auto all = jobs::execute_one(store, jobs::put_all{{replacing("one"), replacing("two")}});
    EXPECT_EQ(all.what, jobs::put_all_answer::kind::done);
    const auto none = jobs::execute_one(store, jobs::put_all{{replacing("one"), replacing("three")}});
    EXPECT_EQ(none.place, 1u);
    EXPECT_EQ(none.why, jobs::put_answer{no_space});
    EXPECT_EQ(jobs::execute_one(store, jobs::peek{jobs::job_key{"a", "one"}}).job.value().id, all.puts.at(0).id);
  }
  jobs::embedded_store store(options);
  EXPECT_EQ(put(store, "three"), no_space);
  jobs::execute_one(store, jobs::cancel{jobs::job_key{"a", "one"}});
  EXPECT_TRUE(store.execute({}).has_room);
  EXPECT_EQ(put(store, "three"), inserted);
}

TEST(embedded_folder, other_files_are_refused) {
  const temporary_folder folder;
  std::ofstream(folder.path() + "/letter.txt") << "dear";
  EXPECT_NE(refusal(folder.path()).find("letter.txt"), std::string::npos) << refusal(folder.path());
  EXPECT_NE(refusal(folder.path() + "/letter.txt").find("not a folder"), std::string::npos);
  EXPECT_NE(refusal(folder.path() + "/no/folder").find("cannot be made"), std::string::npos);
}

TEST(embedded_folder, numbered_files_of_somebody_else_are_other_files) {
  for (const std::string name : {"123456.log", "7.log"}) {
    const temporary_folder folder;
    std::ofstream(folder.path() + "/" + name) << "dear";
    EXPECT_NE(refusal(folder.path()).find("it holds other files, '" + name + "' among them"), std::string::npos)
        << refusal(folder.path());
  }
}

TEST(embedded_folder, a_new_one_may_have_a_slash_or_a_dot_at_its_end) {
  const temporary_folder folder;
  for (const std::string end : {"/", "/.", "//./", "/./."}) {
    const std::string path = folder.path() + "/new" + std::to_string(end.size());
    std::filesystem::remove_all(path);
    for (const std::string& name : {path + end, path}) {
      jobs::embedded_store store({.folder = name, .disk_reserve = 0});
      jobs::execute_one(store, jobs::put{.tube = "mail", .body = "kept"});
      EXPECT_EQ(jobs::execute_one(store, jobs::count_all{}).counts.ready, name == path ? 2u : 1u) << end;
      EXPECT_TRUE(std::filesystem::exists(path + "/SYNCED"));
    }
  }
}

TEST(embedded_folder, a_check_makes_no_store) {
  const temporary_folder folder;
  for (const std::string& path : {folder.path(), folder.path() + "/new"}) {
    try {
      const jobs::embedded_store store({.folder = path, .disk_reserve = 0, .for_check = true});
      ADD_FAILURE() << "it opens";
    } catch (const jobs::store_failure& failed) {
      EXPECT_NE(std::string(failed.what()).find("there is none"), std::string::npos) << failed.what();
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(embedded_folder, another_version_of_the_format_is_refused) {
  const temporary_folder folder;
  {
    jobs::detail::disk files(jobs::detail::locked_folder(folder.path()), nullptr);
    files.put(jobs::detail::family::meta, "version", jobs::detail::view(jobs::detail::number_key(std::uint64_t{9})));
    files.write(true);
  }
  EXPECT_NE(refusal(folder.path()).find("its format has version 9"), std::string::npos) << refusal(folder.path());
}

TEST(embedded_folder, the_database_of_another_program_is_refused) {
  const temporary_folder folder;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* other = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, folder.path(), &other).ok());
  ASSERT_TRUE(other->Put(rocksdb::WriteOptions{}, "theirs", "1").ok());
  delete other;
  EXPECT_NE(refusal(folder.path()).find("another program"), std::string::npos) << refusal(folder.path());
}

TEST(embedded_folder, a_name_that_rocksdb_would_misread_is_refused) {
  const temporary_folder folder;
  jobs::embedded_store({.folder = folder.path(), .disk_reserve = 0}).close();
  for (const std::string name : {"18446744073709551615.log", "18446744073709551616.log", "20000000000000000000.log",
                                 "99999999999999999999.log", "18446744073709551614.sst", "4611686018427387904.blob",
                                 "MANIFEST-18446744073709551615", "7.log", "0000007.log"}) {
    std::ofstream(folder.path() + "/" + name).flush();
    EXPECT_NE(refusal(folder.path()).find("its file '" + name + "'"), std::string::npos) << refusal(folder.path());
    std::filesystem::remove(folder.path() + "/" + name);
  }
  for (const std::string name :
       {"18446744073709551615", "18446744073709551615.log.gz", "x7.log", ".log", "MANIFEST-"}) {
    std::ofstream(folder.path() + "/" + name).flush();
    EXPECT_EQ(refusal(folder.path()), "");
  }
}

TEST(embedded_folder, without_its_file_current_it_is_refused_and_left_as_it_is) {
  const temporary_folder folder;
  {
    jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
    jobs::execute_one(store, jobs::put{.tube = "mail", .body = "kept"});
  }
  std::filesystem::rename(folder.path() + "/CURRENT", folder.path() + "/elsewhere");
  for (const bool locked : {true, false}) {
    if (!locked) std::filesystem::remove(folder.path() + "/LOCK");
    EXPECT_NE(refusal(folder.path()).find("its file CURRENT is missing"), std::string::npos) << refusal(folder.path());
  }
  std::filesystem::rename(folder.path() + "/elsewhere", folder.path() + "/CURRENT");
  jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
  EXPECT_EQ(jobs::execute_one(store, jobs::count_all{}).counts.ready, 1u);
}

TEST(embedded_folder, a_damaged_table_is_found_by_the_check) {
  const temporary_folder folder;
  {
    jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
    jobs::execute_one(store, jobs::put{.tube = "mail", .body = std::string(1000, 'x'), .due = 1h});
  }
  std::size_t damaged = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    if (file.path().extension() != ".sst") continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(10);
    bytes << "damage";
    ++damaged;
  }
  ASSERT_GT(damaged, 0u);
  try {
    jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
    const auto right = store.check();
    ASSERT_FALSE(right);
    EXPECT_NE(right.error().find("damaged"), std::string::npos) << right.error();
  } catch (const jobs::store_failure& failed) {
    EXPECT_NE(std::string(failed.what()).find("orruption"), std::string::npos) << failed.what();
  }
}

}  // namespace

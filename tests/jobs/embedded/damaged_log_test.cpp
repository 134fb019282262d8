// Damage of the write-ahead log: the store refuses to open rather than to lose what it has acknowledged, while the torn
// end that a crash leaves is no damage.
//
// The folders have no mark of what was synced, as an earlier version has left them: synced_mark_test.cpp has the
// others. The scan of the logs is cheap, so it sees every damaged byte; openings of the store see some of them.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/embedded/core.hpp"
#include "jobs/embedded/disk_options.hpp"
#include "jobs/embedded/log_scan.hpp"
#include "jobs/embedded/synced_mark.hpp"
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "faulty_files.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "killed_store.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

using foliot_test::contents;
using foliot_test::copied_store;
using foliot_test::expect_refusal;
using foliot_test::expect_salvage;
using foliot_test::files_of;
using foliot_test::flip;
using foliot_test::killed_store;
using foliot_test::with_mark;
using foliot_test::write;

jobs::detail::log_contents scan(const std::string& folder) {
  return jobs::detail::scan_logs(folder, *rocksdb::FileSystem::Default());
}

constexpr std::string_view refusal = "is damaged at byte ";

TEST(damaged_log, the_checksum_is_that_of_rocksdb) {
  // CRC-32C of "123456789" is e3069283.
  EXPECT_EQ(jobs::detail::log_checksum("123456789"), ((0xe3069283U >> 15) | (0xe3069283U << 17)) + 0xa282ead8U);
}

TEST(damaged_log, a_whole_log_has_no_damage) {
  const killed_store store(5, 10);
  EXPECT_FALSE(scan(store.path()).damaged);
  EXPECT_GT(scan(store.path()).last_sequence, 5u);
  EXPECT_EQ(copied_store(store).open(), "5");
}

TEST(damaged_log, every_changed_byte_before_the_last_batch_is_found) {
  const killed_store store(5, 10);
  const std::string log = store.log();
  ASSERT_LT(store.before_last(), fs::file_size(log));
  for (std::size_t at = 0; at < store.before_last(); ++at) {
    const char bit = static_cast<char>(1 << at % 8);
    flip(log, at, bit);
    const auto found = scan(store.path());
    flip(log, at, bit);
    ASSERT_TRUE(found.damaged) << at;
    EXPECT_LE(found.damaged->offset, at);
    EXPECT_GE(found.damaged->batches_behind, 1u);
  }
}

TEST(damaged_log, a_damaged_head_that_looks_torn_is_found) {
  const killed_store store(6, 10);
  const std::string whole = contents(store.log());
  std::size_t heads = 0;
  for (std::size_t at = 0; at < store.before_last(); ++heads) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(whole[at + i]); };
    std::string bytes = whole;
    for (const std::size_t i : {2U, 3U, 4U, 5U}) bytes[at + i] = static_cast<char>(~bytes[at + i]);  // the type stays
    write(store.log(), bytes);
    EXPECT_TRUE(scan(store.path()).damaged) << at;
    at += jobs::detail::fragment_head + byte(4) + 256U * byte(5);
  }
  EXPECT_GE(heads, 6u);
}

TEST(damaged_log, every_torn_end_is_no_damage) {
  const killed_store store(5, 10);
  const std::string log = store.log();
  for (std::size_t at = store.before_last(); at < fs::file_size(log); ++at) {
    flip(log, at, ~'\0');
    EXPECT_FALSE(scan(store.path()).damaged) << at;
    flip(log, at, ~'\0');
  }
  for (std::size_t size = fs::file_size(log); size-- > 0;) {
    fs::resize_file(log, size);
    EXPECT_FALSE(scan(store.path()).damaged) << size;
  }
}

/// A whole batch of `count` changes, as a log has it, but without the changes.
std::string forged_batch(std::uint64_t sequence, char count = 1) {
  std::string type_and_payload{'\x01'};
  for (int byte = 0; byte < 8; ++byte) type_and_payload += static_cast<char>(sequence >> (8 * byte));
  type_and_payload += count;
  type_and_payload += std::string(3, '\0');
  const std::uint32_t checksum = jobs::detail::log_checksum(type_and_payload);
  std::string fragment;
  for (int byte = 0; byte < 4; ++byte) fragment += static_cast<char>(checksum >> (8 * byte));
  fragment += static_cast<char>(type_and_payload.size() - 1);
  fragment += '\0';
  return fragment + type_and_payload;
}

TEST(damaged_log, a_body_that_looks_like_a_log_does_not_make_damage_of_a_torn_end) {
  std::string body(100, 'x');
  for (const std::uint64_t sequence : {std::uint64_t{20}, std::uint64_t{1} << 40}) body += forged_batch(sequence);
  body += std::string(100, 'x');
  const killed_store store(3, 10, body);
  EXPECT_FALSE(scan(store.path()).damaged);
  for (std::size_t size = fs::file_size(store.log()) - 1; size >= store.before_last(); --size) {
    fs::resize_file(store.log(), size);
    // A tear right behind what looks like a change that follows soon cannot be told from damage before that change.
    const bool is_likely = contents(store.log()).ends_with(forged_batch(20));
    ASSERT_EQ(scan(store.path()).damaged.has_value(), is_likely) << size;
  }
  EXPECT_EQ(copied_store(store).open(), "3");
}

TEST(damaged_log, batches_of_several_blocks_are_put_together) {
  const killed_store store(8, 9'000);
  const std::string whole = contents(store.log());
  ASSERT_GT(whole.size(), 7 * jobs::detail::log_block);
  EXPECT_FALSE(scan(store.path()).damaged);
  for (std::size_t at = 0; at < store.before_last(); at += 4999) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    write(store.log(), bytes);
    EXPECT_TRUE(scan(store.path()).damaged) << at;
    fs::resize_file(store.log(), at);
    EXPECT_FALSE(scan(store.path()).damaged) << at;
  }
}

TEST(damaged_log, the_store_refuses_damage_and_salvages_what_lies_before_it) {
  const killed_store store(6, 10);
  for (const std::size_t at : {std::size_t{4}, store.before_last() / 2, store.before_last() - 1}) {
    copied_store copy(store);
    std::string bytes = contents(copy.log);
    bytes[at] = static_cast<char>(~bytes[at]);
    write(copy.log, bytes);
    expect_refusal(copy, copy.log, refusal);
    expect_salvage(copy, "6");
  }
}

TEST(damaged_log, a_salvaged_store_gives_no_id_and_no_reservation_twice) {
  const killed_store store(6, 10);
  copied_store copy(store);
  flip(copy.log, 4, 1);  // in the batch of the first opening
  EXPECT_EQ(copy.open(true), "0");
  jobs::embedded_store opened({.folder = copy.path(), .disk_reserve = 0});
  EXPECT_GT(jobs::execute_one(opened, jobs::put{.tube = "mail", .body = ""}).id, 6u);
  const auto mine = jobs::execute_one(opened, jobs::claim{{"mail"}}).jobs;
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_GT(mine[0].token.opening, 2u) << "salvaging was an opening, too";
}

/// What happens to the latest changes of the disk.
enum class loss_of_power : bool { no, yes };

/// Opens a store on a disk that stops at the n-th change, and with a loss of power loses what was not synced. False: it
/// was opened.
bool crash_while_opening(const std::string& folder, std::uint64_t call, loss_of_power power, bool salvage = false) {
  const auto files = std::make_shared<foliot_test::faulty_files>();
  files->stop_at(call);
  bool is_crash = false;
  try {
    const auto store =
        jobs::detail::embedded_core::open_on({.folder = folder, .disk_reserve = 0, .salvage = salvage}, files);
    files->stop_at(0);
  } catch (const jobs::store_failure&) {
    is_crash = true;
  }
  std::mt19937_64 random(call);
  if (power == loss_of_power::yes) files->crash(random);
  return is_crash;
}

bool crash_while_salvaging(const std::string& folder, std::uint64_t call, loss_of_power power) {
  return crash_while_opening(folder, call, power, true);
}

/// Interrupts salvages at each fourth change of the disk. Each of them goes on with the next opening, or is refused
/// once more before it has begun, and the end is the same.
void expect_salvages_go_on(const killed_store& store, const std::function<void(copied_store&)>& damage) {
  copied_store reference(store, with_mark::yes);
  damage(reference);
  const std::string expected = reference.open(true);
  ASSERT_EQ(expected.size(), 1u) << expected;
  ASSERT_LT(expected, "6");
  for (const loss_of_power power : {loss_of_power::no, loss_of_power::yes}) {
    std::size_t continued = 0;
    bool was_crash = true;
    for (std::uint64_t call = 1; was_crash; call += 4) {
      copied_store copy(store, with_mark::yes);
      damage(copy);
      was_crash = crash_while_salvaging(copy.path(), call, power);
      const bool has_note = !contents(copy.path() + "/SALVAGING").empty();
      std::string left = copy.open();
      if (was_crash && !has_note) {
        EXPECT_NE(left.find("foliot serve --salvage"), std::string::npos) << call << ": " << left;
        left = copy.open(true);
      } else if (was_crash) {
        ++continued;
        EXPECT_NE(copy.warning.find("was salvaged"), std::string::npos) << call << ": " << copy.warning;
      }
      EXPECT_EQ(left, expected) << call;
      EXPECT_FALSE(fs::exists(copy.path() + "/SALVAGING")) << call;
      jobs::embedded_store opened({.folder = copy.path(), .disk_reserve = 0});
      EXPECT_GT(jobs::execute_one(opened, jobs::put{.tube = "mail", .body = ""}).id, 6u) << call;
    }
    EXPECT_GT(continued, 0u);
  }
}

TEST(damaged_log, a_salvage_of_a_damaged_log_that_is_interrupted_goes_on) {
  const killed_store store(6, 10);
  expect_salvages_go_on(store, [&](copied_store& copy) { flip(copy.log, store.before_last() / 2, 1); });
}

TEST(damaged_log, a_salvage_of_a_log_that_ends_too_soon_that_is_interrupted_goes_on) {
  const killed_store store(6, 10);
  expect_salvages_go_on(store, [&](copied_store& copy) { fs::resize_file(copy.log, store.before_last() / 2); });
}

TEST(damaged_log, a_salvage_of_a_missing_log_that_is_interrupted_goes_on) {
  const killed_store store(6, 10);
  expect_salvages_go_on(store, [&](copied_store& copy) { fs::remove(copy.log); });
}

TEST(damaged_log, a_salvage_that_goes_on_can_be_interrupted) {
  const killed_store store(6, 10);
  copied_store begun(store);
  flip(begun.log, store.before_last() / 2, 1);
  for (std::uint64_t call = 1; contents(begun.path() + "/SALVAGING").empty(); ++call) {
    ASSERT_TRUE(crash_while_salvaging(begun.path(), call, loss_of_power::no));
  }
  // The note is written again among the first changes.
  for (const loss_of_power power : {loss_of_power::no, loss_of_power::yes}) {
    for (std::uint64_t call = 1; call < 9; ++call) {
      SCOPED_TRACE(call);
      copied_store copy(begun.path(), with_mark::no);
      ASSERT_TRUE(crash_while_opening(copy.path(), call, power));
      const std::string left = copy.open();
      EXPECT_EQ(left.size(), 1u) << left;
      EXPECT_NE(copy.warning.find("was salvaged"), std::string::npos) << copy.warning;
      EXPECT_FALSE(fs::exists(copy.path() + "/SALVAGING"));
    }
  }
}

TEST(damaged_log, a_salvage_goes_on_in_a_folder_that_was_moved) {
  const killed_store store(6, 10);
  copied_store begun(store);
  flip(begun.log, store.before_last() / 2, 1);
  for (std::uint64_t call = 1; contents(begun.path() + "/SALVAGING").empty(); ++call) {
    ASSERT_TRUE(crash_while_salvaging(begun.path(), call, loss_of_power::no));
  }
  const std::string note = contents(begun.path() + "/SALVAGING");
  const std::string name = fs::path(begun.log).filename().string();
  EXPECT_TRUE(note.starts_with("its log " + name + " is damaged at byte ")) << note;
  // An earlier version has written the path, or a crash has cut its note off.
  const std::string rest = note.substr(std::string("its log ").size());
  for (const std::string& each : {note, "its log /old x.log/" + rest, "its log jobs/" + rest, std::string("its log")}) {
    SCOPED_TRACE(each);
    copied_store moved(begun.path(), with_mark::no);
    write(moved.path() + "/SALVAGING", each);
    const std::string damage = each == "its log" ? each : "its log " + moved.path() + "/" + rest;
    const std::string why = moved.open_for_check();
    EXPECT_NE(why.find("has not ended (" + damage + ")"), std::string::npos) << why;
    EXPECT_EQ(moved.open().size(), 1u);
    EXPECT_NE(moved.warning.find("was salvaged: its log " + moved.path() + "/" + rest), std::string::npos)
        << moved.warning;
  }
}

TEST(damaged_log, what_a_killed_salvage_leaves_can_be_salvaged) {
  const killed_store store(6, 10);
  const std::size_t half = store.before_last() / 2;
  for (const bool is_cut : {true, false}) {
    for (const bool has_note : {true, false}) {
      SCOPED_TRACE(std::to_string(is_cut) + std::to_string(has_note));
      copied_store copy(store, with_mark::yes);
      if (is_cut) {
        fs::resize_file(copy.log, half);
      } else {
        flip(copy.log, half, 1);
      }
      // RocksDB has made its next log, and the manifest still needs the damaged one.
      const copied_store before(copy.path(), with_mark::no);
      fs::resize_file(before.log, half);
      write(copy.path() + "/000900.log", forged_batch(scan(before.path()).last_sequence + 1, 0));
      const std::map<std::string, std::string> was = files_of(copy.path());
      const std::string why = copy.open();
      EXPECT_NE(why.find("foliot serve --salvage"), std::string::npos) << why;
      EXPECT_TRUE(files_of(copy.path()) == was);
      if (has_note) {
        write(copy.path() + "/SALVAGING", "its log is another one");
        EXPECT_EQ(copy.open(), why) << "a salvage does not go on with other damage";
        const std::size_t begin = why.find("its log "), end = why.find(": restore a backup");
        ASSERT_LT(begin, end);
        write(copy.path() + "/SALVAGING", why.substr(begin, end - begin));
      }
      const std::string left = copy.open(!has_note);
      EXPECT_EQ(left.size(), 1u) << left;
      EXPECT_LT(left, "6");
      EXPECT_GT(left, "0");
      EXPECT_NE(copy.warning.find("was salvaged"), std::string::npos) << copy.warning;
      EXPECT_EQ(copy.open(), left);
    }
  }
}

/// Opens a store, puts a job with this key, and kills it.
void put_and_kill(const std::string& folder, const std::string& key, bool salvage = false) {
  const auto files = std::make_shared<foliot_test::faulty_files>();
  const auto store =
      jobs::detail::embedded_core::open_on({.folder = folder, .disk_reserve = 0, .salvage = salvage}, files);
  jobs::execute_one(*store, jobs::put{.tube = "mail", .key = key, .body = "b"});
  files->stop_at(0);
}

/// What an opening that was killed has left of a log that had not been synced, after a loss of power: the log ends
/// before its last batch, and the next one has the number of the change that was to come.
void lose_the_end(copied_store& copy, std::size_t kept) {
  const std::uint64_t next = scan(copy.path()).last_sequence + 1;
  fs::resize_file(copy.log, kept);
  write(copy.path() + "/000900.log", forged_batch(next, 0));
}

TEST(damaged_log, numbers_that_no_change_has_are_no_damage) {
  const killed_store store(4, 10);
  copied_store copy(store);
  lose_the_end(copy, store.before_last());
  // RocksDB goes on with the number of the log without changes, so that there is a gap behind its tables.
  for (const std::string key : {"3", "4", "5"}) put_and_kill(copy.path(), key);
  EXPECT_EQ(copy.open(), "6");
  EXPECT_EQ(copy.warning, "");
}

TEST(damaged_log, an_opening_that_is_interrupted_behind_numbers_that_no_change_has_is_no_damage) {
  const killed_store store(4, 10);
  bool was_crash = true;
  for (std::uint64_t call = 1; was_crash; call += 4) {
    SCOPED_TRACE(call);
    copied_store copy(store);
    lose_the_end(copy, store.before_last());
    was_crash = crash_while_opening(copy.path(), call, loss_of_power::yes);
    put_and_kill(copy.path(), "3");
    EXPECT_EQ(copy.open(), "4");
  }
}

TEST(damaged_log, a_salvage_that_leaves_numbers_without_changes_can_be_killed) {
  const killed_store store(4, 10);
  enum class end : std::uint8_t { cut, empty, missing };
  for (const end each : {end::cut, end::empty, end::missing}) {
    SCOPED_TRACE(static_cast<int>(each));
    copied_store copy(store, with_mark::yes);
    lose_the_end(copy, each == end::cut ? store.before_last() : 0);
    if (each == end::missing) fs::remove(copy.log);
    expect_refusal(copy, copy.log, "had been synced up to byte ");
    const std::string first = each == end::cut ? "3" : "0";
    put_and_kill(copy.path(), first, true);
    EXPECT_EQ(copy.open(), each == end::cut ? "4" : "1");
    EXPECT_EQ(copy.warning, "");
  }
}

TEST(damaged_log, a_salvage_of_nothing_can_be_killed) {
  const killed_store store(4, 10);
  for (const with_mark marked : {with_mark::no, with_mark::yes}) {
    copied_store copy(store, marked);
    flip(copy.log, 4, 1);  // in the first batch
    put_and_kill(copy.path(), "0", true);
    put_and_kill(copy.path(), "1");
    EXPECT_EQ(copy.open(), "2");
    EXPECT_EQ(copy.warning, "");
  }
}

TEST(damaged_log, a_salvage_of_less_than_the_tables_have_can_be_killed) {
  using jobs::detail::family;
  const foliot_test::temporary_folder folder;
  const std::string path = folder.path() + "/store";
  jobs::embedded_store({.folder = path, .disk_reserve = 0}).close();
  std::string log;
  std::uint64_t kept = 0;
  {
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(jobs::detail::database_options(), path, jobs::detail::family_options(), &handles, &opened)
            .ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    log = foliot_test::last_file(path, "", ".log");
    rocksdb::WriteOptions synced;
    synced.sync = true;
    const auto of = [&](family where) { return handles[static_cast<std::size_t>(where)]; };
    const auto erase = [&](std::uint64_t id) {
      const auto number = jobs::detail::number_key(id);
      ASSERT_TRUE(database->Delete(synced, of(family::jobs), jobs::detail::view(number)).ok());
    };
    erase(999);  // there is none
    kept = fs::file_size(log);
    erase(998);
    // The table has the last change, and the log is needed for those before it.
    std::string ids;
    ASSERT_TRUE(database->Get({}, of(family::meta), "ids", &ids).ok());
    ASSERT_TRUE(database->Put(synced, of(family::meta), "ids", ids).ok());
    ASSERT_TRUE(database->Flush({}, of(family::meta)).ok());
    for (rocksdb::ColumnFamilyHandle* each : handles) ASSERT_TRUE(database->DestroyColumnFamilyHandle(each).ok());
  }
  jobs::detail::synced_mark(path, *rocksdb::FileSystem::Default())
      .write({{fs::path(log).filename().string(), fs::file_size(log)}})
      .PermitUncheckedError();
  fs::resize_file(log, kept);
  const std::string last = foliot_test::last_file(path, "", ".log");
  ASSERT_NE(last, log);
  // RocksDB sees a torn end, so its next log begins with a batch without changes.
  write(last, forged_batch(1).substr(0, 15));
  copied_store copy(path, with_mark::yes);
  expect_refusal(copy, fs::path(log).filename().string(), "had been synced up to byte ");
  put_and_kill(copy.path(), "0", true);
  EXPECT_EQ(copy.open(), "1");
  EXPECT_EQ(copy.warning, "");
}

TEST(damaged_log, a_check_does_not_end_a_salvage) {
  const killed_store store(6, 10);
  copied_store copy(store);
  flip(copy.log, store.before_last() / 2, 1);
  bool was_crash = true;
  for (std::uint64_t call = 1; was_crash && contents(copy.path() + "/SALVAGING").empty(); ++call) {
    was_crash = crash_while_salvaging(copy.path(), call, loss_of_power::no);
  }
  ASSERT_TRUE(was_crash);
  const std::map<std::string, std::string> before = files_of(copy.path());
  const std::string why = copy.open_for_check();
  EXPECT_NE(why.find("the salvage of the job store " + copy.path() + " has not ended (its log " + copy.log +
                     " is damaged at byte "),
            std::string::npos)
      << why;
  EXPECT_TRUE(files_of(copy.path()) == before);
  EXPECT_LT(copy.open(), "6");
  EXPECT_NE(copy.warning.find("was salvaged"), std::string::npos) << copy.warning;
  EXPECT_EQ(copy.open_for_check(), copy.open());
}

TEST(damaged_log, a_copy_of_a_log_is_refused_by_its_name) {
  const killed_store store(5, 10);
  copied_store copy(store);
  for (const std::string number : {"000001", "000900"}) {
    const std::string twin = copy.path() + "/" + number + ".log";
    fs::copy(copy.log, twin);
    const auto [first, second] = std::minmax(copy.log, twin);
    const std::map<std::string, std::string> before = files_of(copy.path());
    for (const bool salvage : {false, true}) {
      const std::string why = copy.open(salvage);
      EXPECT_NE(why.find("its logs " + first + " and " + second + " have the same changes: move"), std::string::npos)
          << why;
      EXPECT_EQ(why.find("--salvage"), std::string::npos) << why;
    }
    EXPECT_TRUE(files_of(copy.path()) == before);
    fs::remove(twin);
  }
  const std::string whole = contents(copy.log);
  EXPECT_EQ(copy.open(), "5");
  // Now their changes are in tables, and RocksDB needs none of them.
  ASSERT_FALSE(fs::exists(copy.log));
  write(copy.log, whole);
  write(copy.path() + "/000001.log", whole);
  EXPECT_EQ(copy.open(), "5");
}

TEST(damaged_log, what_contradicts_itself_is_not_salvaged) {
  using jobs::detail::family;
  const foliot_test::temporary_folder folder;
  const std::string path = folder.path() + "/store";
  jobs::embedded_store({.folder = path, .disk_reserve = 0}).close();
  std::string log;
  {
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(jobs::detail::database_options(), path, jobs::detail::family_options(), &handles, &opened)
            .ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    log = foliot_test::last_file(path, "", ".log");
    // As a kill in close() may leave it: of one batch, the keys are in a table, and the rest is in the log alone.
    rocksdb::WriteBatch batch;
    const auto number = jobs::detail::number_key(jobs::job_id{1});
    for (const family each : {family::keys, family::ready}) {
      ASSERT_TRUE(batch
                      .Put(handles[static_cast<std::size_t>(each)], std::string(20, 'k'),
                           std::string(jobs::detail::view(number)))
                      .ok());
    }
    rocksdb::WriteOptions synced;
    synced.sync = true;
    ASSERT_TRUE(database->Write(synced, &batch).ok());
    ASSERT_TRUE(database->Flush({}, handles[static_cast<std::size_t>(family::keys)]).ok());
    for (rocksdb::ColumnFamilyHandle* each : handles) ASSERT_TRUE(database->DestroyColumnFamilyHandle(each).ok());
  }
  jobs::detail::synced_mark(path, *rocksdb::FileSystem::Default())
      .write({{fs::path(log).filename().string(), fs::file_size(log)}})
      .PermitUncheckedError();
  fs::resize_file(log, 0);
  copied_store copy(path, with_mark::yes);
  EXPECT_NE(copy.open().find("--salvage"), std::string::npos) << "RocksDB opens it";
  for (const bool salvage : {true, true, false}) {
    const std::string why = copy.open(salvage);
    EXPECT_NE(why.find("cannot salvage"), std::string::npos) << why;
    EXPECT_NE(why.find("contradicts itself (a key leads to no job): restore a backup"), std::string::npos) << why;
  }
}

TEST(damaged_log, a_store_that_cannot_be_salvaged_is_not_said_to_be) {
  using jobs::detail::family;
  const foliot_test::temporary_folder folder;
  const std::string path = folder.path() + "/store";
  std::string first;
  {
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(jobs::detail::database_options(), path, jobs::detail::family_options(), &handles, &opened)
            .ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    const auto put = [&](family where, const std::string& key) {
      ASSERT_TRUE(database->Put({}, handles[static_cast<std::size_t>(where)], key, std::string(100, 'x')).ok());
    };
    put(family::jobs, "a");
    put(family::jobs, "b");
    put(family::bodies, "a");
    for (const auto& each : fs::directory_iterator(path)) {
      if (each.path().extension() == ".log") first = each.path().string();
    }
    // The table of bodies is younger than the first log, which the other families still need.
    ASSERT_TRUE(database->Flush({}, handles[static_cast<std::size_t>(family::bodies)]).ok());
    put(family::jobs, "c");
    for (rocksdb::ColumnFamilyHandle* each : handles) ASSERT_TRUE(database->DestroyColumnFamilyHandle(each).ok());
  }
  flip(first, 50, 1);
  for (const bool salvage : {false, true}) {
    try {
      const jobs::embedded_store store({.folder = path, .disk_reserve = 0, .salvage = salvage});
      ADD_FAILURE() << "it opens";
    } catch (const jobs::store_failure& failed) {
      const std::string why = failed.what();
      EXPECT_NE(why.find(refusal), std::string::npos) << why;
      EXPECT_NE(why.find("restore a backup"), std::string::npos) << why;
      EXPECT_EQ(why.find("--salvage"), std::string::npos) << why;
    }
  }
}

TEST(damaged_log, the_store_opens_after_a_torn_end) {
  const killed_store store(4, 10);
  const std::size_t size = fs::file_size(store.log());
  for (const std::size_t kept : {store.before_last() + 3, store.before_last() + 40, size - 1}) {
    copied_store copy(store);
    fs::resize_file(copy.log, kept);
    EXPECT_EQ(copy.open(), "3");
    EXPECT_EQ(copy.warning, "");
  }
  copied_store copy(store);
  fs::resize_file(copy.log, 3);
  EXPECT_EQ(copy.open(), "0");
}

TEST(damaged_log, damage_of_an_older_log_is_found) {
  const killed_store store(5, 10);
  const std::string whole = contents(store.log());
  const auto split = [&](copied_store& copy, std::string_view older) {
    write(copy.log, older);
    write(copy.path() + "/000900.log", whole.substr(store.before_last()));
  };
  const std::string older = whole.substr(0, store.before_last());
  copied_store good(store);
  split(good, older);
  EXPECT_EQ(good.open(), "5");

  copied_store flipped(store);
  std::string bytes = older;
  bytes[bytes.size() - 5] = static_cast<char>(~bytes[bytes.size() - 5]);
  split(flipped, bytes);
  EXPECT_NE(flipped.open().find(refusal), std::string::npos);
  EXPECT_EQ(flipped.open(true), "3");

  copied_store torn(store);
  split(torn, std::string_view(older).substr(0, older.size() - 5));
  EXPECT_NE(torn.open().find(refusal), std::string::npos);
  EXPECT_EQ(torn.open(true), "3");

  // A log that ends between two batches, before the newest one: RocksDB would replay on, with a gap.
  const copied_store probe(store);
  const auto last_of = [&](std::size_t size) {
    fs::resize_file(probe.log, size);
    return scan(probe.path()).last_sequence;
  };
  std::size_t boundary = older.size() - 1;
  const std::uint64_t last = last_of(boundary);
  while (last_of(boundary - 1) == last) --boundary;
  copied_store gap(store);
  split(gap, std::string_view(older).substr(0, boundary));
  EXPECT_NE(gap.open().find(refusal), std::string::npos);
  EXPECT_NE(gap.open(true).find("restore a backup"), std::string::npos);
}

TEST(damaged_log, a_torn_log_that_is_followed_by_the_next_opening_is_no_damage) {
  // A crash in the middle of an opening may leave the log of the crash before.
  const killed_store store(4, 10);
  copied_store copy(store);
  fs::resize_file(copy.log, store.before_last() + 20);
  const std::string torn = contents(copy.log);
  for (std::uint64_t call = 1; call < 60; call += 4) {
    const auto files = std::make_shared<foliot_test::faulty_files>();
    files->stop_at(call);
    try {
      const auto unlucky = jobs::detail::embedded_core::open_on({.folder = copy.path(), .disk_reserve = 0}, files);
      files->stop_at(0);
    } catch (const jobs::store_failure&) {
    }
    if (!fs::exists(copy.log)) write(copy.log, torn);
  }
  EXPECT_EQ(copy.open(), "3");
}

}  // namespace

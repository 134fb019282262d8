// The operations that happen once, of an embedded store: how they are removed, what they need, and what the format of
// the folder says of them.
#include <foliot/jobs/embedded_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>

#include "jobs/embedded/disk.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

class EmbeddedOnce : public testing::Test {
 protected:
  EmbeddedOnce() {
    time_.set_wall(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));
    open();
  }

  void open(std::uint64_t disk_reserve = 0, std::uint64_t once_bytes = 1U << 20) {
    store_.reset();
    store_ = std::make_unique<embedded_store>(embedded_options{
        .folder = folder(), .disk_reserve = disk_reserve, .once_bytes = once_bytes, .clocks = {&wall_, &time_}});
  }
  [[nodiscard]] std::string folder() const { return here_.path() + "/store"; }
  template <class Operation>
  auto run(Operation what) {
    return execute_one(*store_, std::move(what));
  }
  [[nodiscard]] static once once_of(unsigned number, milliseconds lifetime = 1h) {
    sha256 key{};
    for (std::size_t i = 0; i < 4; ++i) key[31 - i] = static_cast<std::byte>(number >> (8 * i));
    return {key, sha256{}, lifetime};
  }
  [[nodiscard]] static put put_once(unsigned number, milliseconds lifetime = 1h) {
    return {.tube = "mail", .body = "b", .once = once_of(number, lifetime)};
  }
  [[nodiscard]] static claim claim_once(unsigned number, std::uint32_t count = 1, milliseconds lifetime = 1h) {
    return {.tubes = {"mail"}, .count = count, .once = once_of(number, lifetime)};
  }
  [[nodiscard]] std::string problem() {
    const check_result right = store_->check();
    return right ? "" : right.error();
  }
  /// The folder, while the store is closed.
  [[nodiscard]] std::unique_ptr<detail::disk> opened() {
    store_.reset();
    return std::make_unique<detail::disk>(detail::locked_folder(folder()), nullptr);
  }
  /// How many records and ends of them are on disk. Closes the store.
  [[nodiscard]] std::pair<std::size_t, std::size_t> stored() {
    const auto files = opened();
    const auto count = [&](const char* from, const char* to) {
      std::size_t found = 0;
      for (detail::disk::scan all(*files, detail::family::meta, from, to); all.valid(); all.next()) ++found;
      return found;
    };
    return {count("k", "l"), count("e", "f")};
  }
  [[nodiscard]] std::uint64_t version() {
    const auto files = opened();
    const auto found = files->read(detail::family::meta, "version");  // which belongs to the files
    return found && found->size() == 8 ? detail::read_big<std::uint64_t>(found->data()) : 0;
  }
  /// Puts many in few batches.
  void put_many(unsigned count, milliseconds lifetime) {
    for (unsigned number = 0; number < count;) {
      std::vector<operation> batch;
      for (; number < count && batch.size() < 500; ++number) batch.emplace_back(put_once(number, lifetime));
      store_->execute(batch);
    }
  }

  foliot_test::temporary_folder here_;
  virtual_clock time_;
  virtual_wall_clock wall_{time_};
  std::unique_ptr<embedded_store> store_;
};

TEST_F(EmbeddedOnce, RemovesWhatHasEndedInBoundedTurns) {
  put_many(2500, 1ms);
  time_.advance(10s);
  const utc_time now = std::chrono::floor<milliseconds>(wall_clock::to_sys(wall_.now()));
  for (const std::size_t left : {1476U, 452U}) {
    store_->execute({});
    EXPECT_LE(store_->next().due, now) << "there is more to remove";
    EXPECT_EQ(stored(), std::pair(left, left));
    open();
    EXPECT_EQ(problem(), "");
    // The opening begins a turn of its own.
  }
  store_->execute({});
  EXPECT_EQ(store_->next().due, utc_time::max());
  EXPECT_EQ(stored(), std::pair(std::size_t{0}, std::size_t{0}));
}

TEST_F(EmbeddedOnce, IsNotWokenForEachThatEnds) {
  const auto utc = [this] { return std::chrono::floor<milliseconds>(wall_clock::to_sys(wall_.now())); };
  const utc_time begin = utc();
  for (unsigned number = 1; number <= 20; ++number) run(put_once(number, milliseconds(100 * number)));
  run(clear_tube{"mail"});
  EXPECT_EQ(store_->next().due, begin + 100ms);
  time_.advance(100ms);
  store_->execute({});
  EXPECT_EQ(store_->next().due, begin + 1100ms);
  time_.advance(500ms);
  run(put_once(30, 10ms));
  EXPECT_EQ(store_->next().due, begin + 1100ms);
  time_.advance(500ms);
  store_->execute({});
  EXPECT_EQ(store_->next().due, begin + 2100ms);
  EXPECT_EQ(stored(), std::pair(std::size_t{9}, std::size_t{9}));
}

TEST_F(EmbeddedOnce, RemovesSoonAfterTheClockWasSetBack) {
  run(put_once(1, 1ms));
  time_.advance(10ms);
  store_->execute({});
  time_.set_wall(wall_.now() - duration(24h));
  run(put_once(2, 1ms));
  time_.advance(2s);
  store_->execute({});
  EXPECT_EQ(stored(), std::pair(std::size_t{0}, std::size_t{0}));
}

TEST_F(EmbeddedOnce, ANewLifetimeOfAKeyReplacesTheEndThatWasStored) {
  run(put_once(2, 1ms));
  time_.advance(1ms);
  store_->execute({});  // the next turn comes a second later
  run(put_once(1, 1ms));
  time_.advance(1ms);
  run(put_once(1, 1h));
  EXPECT_EQ(problem(), "");
  time_.advance(10s);
  store_->execute({});
  EXPECT_TRUE(run(put_once(1, 1h)).is_replayed);
  EXPECT_EQ(stored(), std::pair(std::size_t{1}, std::size_t{1}));
}

TEST_F(EmbeddedOnce, NeedsRoomAsANewJobDoesAndAReplayNeedsNone) {
  put keyed = put_once(1);
  keyed.key = "k";
  const put_answer first = run(keyed);
  const put_all all{{{.tube = "mail", .body = "x"}}, once_of(2)};
  const put_all_answer all_put = run(all);
  open(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(run(keyed), (put_answer{put_answer::kind::inserted, first.id, 0, true}));
  const put_all_answer again = run(all);
  EXPECT_TRUE(again.is_replayed);
  EXPECT_EQ(again.puts, all_put.puts);
  put keeping = put_once(3);
  keeping.key = "k";
  EXPECT_EQ(run(keeping), (put_answer{put_answer::kind::no_space}));
  const put_all keeping_all{{{.tube = "mail", .key = "k", .body = "x"}}, once_of(4)};
  const put_all_answer refused = run(keeping_all);
  EXPECT_EQ(refused.what, put_all_answer::kind::refused);
  EXPECT_EQ(refused.why, (put_answer{put_answer::kind::no_space}));
  keeping.once = {};
  EXPECT_EQ(run(keeping), (put_answer{put_answer::kind::kept, first.id}));
  EXPECT_EQ(run(claim_once(5)).jobs.size(), 1U) << "a claim writes nothing";
  open();
  EXPECT_FALSE(run(keyed).what == put_answer::kind::no_space);
  put keeping_again = put_once(3);
  keeping_again.key = "k";
  EXPECT_EQ(run(keeping_again), (put_answer{put_answer::kind::kept, first.id})) << "it was not remembered";
}

TEST_F(EmbeddedOnce, RefusesClaimsBeyondItsMemory) {
  for (int i = 0; i < 10; ++i) run(put{.tube = "mail", .body = "x"});
  open(0, 1000);
  unsigned claims = 0;
  while (run(claim_once(claims, 2, 1h)).what == claim_answer::kind::done) ++claims;
  EXPECT_EQ(claims, 3U);  // of 348 bytes each
  EXPECT_EQ(run(count_all{}).counts.reserved, 6U);
  for (unsigned number = 0; number < claims; ++number) {
    const claim_answer again = run(claim_once(number, 2));
    EXPECT_TRUE(again.is_replayed) << "none is forgotten early";
    EXPECT_EQ(again.jobs.size(), 2U);
  }
  EXPECT_EQ(run(claim{{"mail"}}).jobs.size(), 1U) << "without a once";
  EXPECT_FALSE(run(put_once(7)).is_replayed);
  time_.advance(1h);
  store_->execute({});
  EXPECT_EQ(run(claim_once(100)).jobs.size(), 1U);
}

TEST_F(EmbeddedOnce, TheFormatChangesWithTheFirstPut) {
  run(put{.tube = "mail", .body = "x"});
  EXPECT_EQ(run(claim_once(1)).jobs.size(), 1U);
  EXPECT_EQ(version(), 2U) << "claims are in memory";
  open();
  run(put_once(1));
  EXPECT_EQ(version(), 4U);
  open();
  EXPECT_EQ(problem(), "");
  EXPECT_TRUE(run(put_once(1)).is_replayed);
  job_fields some;
  ASSERT_TRUE(some.set(first_own_tag, "some"));
  const job_id with = run(put{.tube = "mail", .body = "x", .fields = some}).id;
  EXPECT_EQ(version(), 4U);
  open();
  EXPECT_EQ(run(peek{with}).job.value().fields, some);
  EXPECT_EQ(problem(), "");
}

/// The bytes of version 4, as every later version must read them.
TEST_F(EmbeddedOnce, ReadsTheBytesOfItsFormat) {
  store_.reset();
  std::string request(32, 'r');
  const std::string one(32, '1');
  const std::string all(32, '2');
  const std::string end("\x80\x00\x01\xd1\xa9\x4a\x20\x00", 8);  // 2 * 10^12 ms
  const std::string seven("\0\0\0\0\0\0\0\x07", 8);
  const std::string eight("\0\0\0\0\0\0\0\x08", 8);
  {
    const auto files = opened();
    files->put(detail::family::meta, "version", detail::view(detail::number_key(std::uint64_t{4})));
    files->put(detail::family::meta, "k" + one, request + end + "p" + '\x02' + seven);
    files->put(detail::family::meta, "k" + all, request + end + "a" + '\0' + seven + '\x01' + eight);
    files->put(detail::family::meta, "e" + end + one, "");
    files->put(detail::family::meta, "e" + end + all, "");
    files->write(true);
  }
  open();
  EXPECT_EQ(problem(), "");
  const auto digest = [](char each) {
    sha256 made;
    made.fill(static_cast<std::byte>(each));
    return made;
  };
  put what{.tube = "mail", .body = "b", .once = once(digest('1'), digest('r'), 1h)};
  const put_all some{{{.tube = "mail", .body = "b"}}, once(digest('2'), digest('r'), 1h)};
  EXPECT_EQ(run(what), (put_answer{put_answer::kind::replaced, 7, 0, true}));
  const put_all_answer both = run(some);
  EXPECT_TRUE(both.is_replayed);
  EXPECT_EQ(both.puts, (std::vector<put_answer>{{put_answer::kind::inserted, 7}, {put_answer::kind::kept, 8}}));
  time_.set_wall(std::chrono::sys_time<std::chrono::nanoseconds>(1'999'999'999'999ms));
  EXPECT_TRUE(run(what).is_replayed);
  time_.set_wall(std::chrono::sys_time<std::chrono::nanoseconds>(2'000'000'000'000ms));
  EXPECT_FALSE(run(what).is_replayed);
  store_.reset();
  const auto files = opened();
  EXPECT_TRUE(files->read(detail::family::meta, "k" + one)->starts_with(request + "\x80"));
  EXPECT_FALSE(files->read(detail::family::meta, "e" + end + one));
  EXPECT_FALSE(files->read(detail::family::meta, "k" + all)) << "it has ended as well";
}

TEST_F(EmbeddedOnce, ABackupHasThem) {
  const put_answer first = run(put_once(1));
  store_->back_up(here_.path() + "/backup");
  run(put_once(2));
  store_.reset();
  embedded_store copy({.folder = here_.path() + "/backup", .disk_reserve = 0, .clocks = {&wall_, &time_}});
  EXPECT_EQ(execute_one(copy, put_once(1)), (put_answer{put_answer::kind::inserted, first.id, 0, true}));
  EXPECT_FALSE(execute_one(copy, put_once(2)).is_replayed);
  EXPECT_TRUE(copy.check());
}

TEST_F(EmbeddedOnce, TheCheckFindsWhatIsMissingAndWhatIsDamaged) {
  const auto last_of = [](detail::disk& files, const char* from, const char* to) {
    std::string last;
    for (detail::disk::scan all(files, detail::family::meta, from, to); all.valid(); all.next()) last = all.key();
    return last;
  };
  run(put_once(1));
  run(put_once(2));
  EXPECT_EQ(problem(), "");
  const std::string ends = "the ends of operations that happen once are not those in order";
  std::string entry;
  {
    const auto files = opened();
    entry = last_of(*files, "e", "f");
    files->erase(detail::family::meta, entry);
    files->write(true);
  }
  open();
  EXPECT_EQ(problem(), ends);
  {
    const auto files = opened();
    files->put(detail::family::meta, entry.substr(0, entry.size() - 1) + "x", "");
    files->write(true);
  }
  open();
  EXPECT_EQ(problem(), ends);
  {
    const auto files = opened();
    files->put(detail::family::meta, last_of(*files, "k", "l"), "of another program");
    files->write(true);
  }
  open();
  EXPECT_EQ(problem(), "the record of an operation that happens once cannot be read");
  EXPECT_THROW(run(put_once(2)), store_failure);
}

}  // namespace
}  // namespace foliot::jobs

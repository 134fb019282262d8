// A folder has one store at a time, also if somebody removes its file LOCK, names it anew or puts another in its place.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>
#include <foliot/jobs/stopped_folder.hpp>

#include "jobs/embedded/disk.hpp"
#include "jobs/embedded/locked_folder.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "killed_store.hpp"

namespace {

std::atomic<bool> is_unable_to_lock{false};

}  // namespace

// The store's call, instead of the system's.
extern "C" int flock(int descriptor, int how) noexcept {
  if (is_unable_to_lock) return errno = EOPNOTSUPP, -1;
  return static_cast<int>(::syscall(SYS_flock, descriptor, how));
}

namespace {

namespace jobs = foliot::jobs;
namespace fs = std::filesystem;

class locked_folder : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.path() + "/store"; }
  [[nodiscard]] std::string other() const { return folder_.path() + "/other"; }
  std::unique_ptr<jobs::embedded_store> open(std::string name, std::vector<std::string>* warnings = nullptr) {
    return std::make_unique<jobs::embedded_store>(jobs::embedded_options{
        .folder = std::move(name), .disk_reserve = 0, .warn = [warnings](std::string_view sentence) {
          if (warnings != nullptr) warnings->emplace_back(sentence);
        }});
  }
  static std::string refusal(const std::string& name, bool for_check = false) {
    try {
      const jobs::embedded_store store({.folder = name, .disk_reserve = 0, .for_check = for_check});
      return "it opens";
    } catch (const jobs::store_failure& failed) {
      return failed.what();
    }
  }
  static std::string in_use(const std::string& name) {
    return "cannot open the job store " + name +
           ": it is in use by another process, or opened twice in this one: end the other user first";
  }
  static jobs::put_answer::kind put(jobs::embedded_store& to) {
    return jobs::execute_one(to, jobs::put{.tube = "mail", .body = std::string(2000, 'b')}).what;
  }
  static std::uint64_t count(jobs::embedded_store& of) { return jobs::execute_one(of, jobs::count_all{}).counts.all(); }

 private:
  foliot_test::temporary_folder folder_;
};

TEST_F(locked_folder, has_one_store_also_without_its_file_lock) {
  auto store = open(path());
  fs::create_directory_symlink(path(), other());
  for (const bool has_lock : {true, false}) {
    if (!has_lock) fs::remove(path() + "/LOCK");
    const auto before = foliot_test::files_of(path());
    for (const bool for_check : {false, true}) {
      EXPECT_EQ(refusal(path(), for_check), in_use(path()));
      EXPECT_EQ(refusal(other(), for_check), in_use(other())) << "another name of it";
    }
    EXPECT_EQ(fs::exists(path() + "/LOCK"), has_lock);
    EXPECT_TRUE(foliot_test::files_of(path()) == before);
  }
  EXPECT_EQ(put(*store), jobs::put_answer::kind::inserted);
  store.reset();
  store = open(path());
  EXPECT_EQ(count(*store), 1u);
}

TEST_F(locked_folder, is_free_again_after_an_opening_that_failed) {
  open(path())->close();
  for (const std::string name : {"/7.log", "/CURRENT"}) {
    const std::string before = foliot_test::contents(path() + name);
    foliot_test::write(path() + name, "no manifest");
    const std::string why = refusal(path());
    EXPECT_NE(why, "it opens");
    EXPECT_NE(why, in_use(path()));
    EXPECT_EQ(refusal(path()), why);
    if (before.empty()) {
      fs::remove(path() + name);
    } else {
      foliot_test::write(path() + name, before);
    }
    EXPECT_EQ(refusal(path()), "it opens");
  }
}

TEST_F(locked_folder, that_was_renamed_is_in_use_still) {
  const auto store = open(path());
  fs::rename(path(), other());
  fs::remove(other() + "/LOCK");
  EXPECT_EQ(refusal(other()), in_use(other()));
}

TEST_F(locked_folder, that_was_replaced_changes_nothing_in_the_other_one) {
  open(path())->close();
  open(other())->close();
  auto store = open(path());
  for (int each = 0; each < 3; ++each) put(*store);
  fs::rename(path(), path() + ".old");
  fs::rename(other(), path());
  const auto before = foliot_test::files_of(path());
  EXPECT_THROW(store->back_up(path() + ".backup"), jobs::store_failure);
  EXPECT_THROW(store->back_up(path() + "/backups/now"), jobs::store_failure);
  EXPECT_EQ(put(*store), jobs::put_answer::kind::inserted) << "into its open log";
  store->close();
  store.reset();
  EXPECT_TRUE(foliot_test::files_of(path()) == before);
  EXPECT_EQ(count(*open(path() + ".old")), 4u);
  EXPECT_EQ(count(*open(path())), 0u);
}

TEST_F(locked_folder, that_was_replaced_writes_no_mark_in_the_other_one) {
  for (const std::string& each : {path(), other()}) open(each)->close();
  fs::remove(path() + "/SYNCED");
  fs::create_directory(path() + "/SYNCED");  // no file can have this name
  foliot::virtual_clock time;
  jobs::virtual_wall_clock wall(time);
  auto store = std::make_unique<jobs::embedded_store>(
      jobs::embedded_options{.folder = path(), .disk_reserve = 0, .clocks = {&wall, &time}});
  put(*store);
  fs::rename(path(), path() + ".old");
  fs::rename(other(), path());
  const auto before = foliot_test::files_of(path());
  for (int each = 0; each < 3; ++each) {
    time.advance(jobs::detail::between_marks);
    put(*store);
  }
  EXPECT_TRUE(foliot_test::files_of(path()) == before);
}

TEST_F(locked_folder, is_not_held_by_a_program_that_this_one_starts) {
  const auto store = open(path());
  struct stat mine{};
  ASSERT_EQ(::stat(path().c_str(), &mine), 0);
  std::size_t found = 0;
  for (int each = 0; each < 1024; ++each) {
    struct stat about{};
    if (::fstat(each, &about) != 0 || about.st_dev != mine.st_dev || about.st_ino != mine.st_ino) continue;
    ++found;
    EXPECT_NE(::fcntl(each, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_GE(found, 1u);
}

TEST_F(locked_folder, is_released_under_a_child_that_has_a_copy_of_it) {
  fs::create_directory(path());
  auto first = std::make_unique<jobs::detail::locked_folder>(path());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    first.reset();  // which must not release the parent's
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(refusal(path()), in_use(path()));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  const pid_t holder = ::fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(holder, &status, WUNTRACED), holder);
  first.reset();
  EXPECT_EQ(refusal(path()), "it opens");
  ::kill(holder, SIGKILL);
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
}

TEST_F(locked_folder, of_a_file_system_that_cannot_lock_it_has_the_file_lock) {
  is_unable_to_lock = true;
  std::vector<std::string> warnings;
  const auto store = open(path(), &warnings);
  const std::string other_user = refusal(path());
  is_unable_to_lock = false;
  EXPECT_NE(other_user.find("it is in use by another process"), std::string::npos) << other_user;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "the file system cannot lock the folder " + path() +
                             " (Operation not supported): only its file LOCK keeps a second server out, so do not "
                             "remove that file");
}

TEST_F(locked_folder, of_a_file_system_that_cannot_lock_it_is_not_looked_at) {
  open(path()).reset();
  is_unable_to_lock = true;
  std::string refused = "it is looked at";
  try {
    const jobs::stopped_folder look(path());
  } catch (const jobs::store_failure& why) {
    refused = why.what();
  }
  is_unable_to_lock = false;
  EXPECT_NE(refused.find("cannot tell whether a server has the job store " + path() + " open"), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("(Operation not supported): look into a copy"), std::string::npos) << refused;
}

}  // namespace

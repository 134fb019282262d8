// The folder of a store that was killed, and copies of it to damage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "jobs/embedded/core.hpp"
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "faulty_files.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace foliot_test {

inline std::string contents(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
/// Changes one byte in place; a second time it is as before.
inline void flip(const std::string& name, std::size_t at, char bits) {
  std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char changed = static_cast<char>(file.get() ^ bits);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(changed);
}
inline void write(const std::string& name, std::string_view bytes) { std::ofstream(name, std::ios::binary) << bytes; }

/// The last file in a folder whose name begins and ends so, or an empty string.
inline std::string last_file(const std::string& folder, std::string_view begin, std::string_view end) {
  std::string found;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const std::string name = each.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) found = std::max(found, each.path().string());
  }
  return found;
}

/// All files of a folder but LOCK, which every opening makes, and what is in them.
inline std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    found[each.path().filename().string()] = contents(each.path().string());
  }
  found.erase("LOCK");
  return found;
}

/// The folder of a store that was killed: its jobs "0", "1", … were put in batches of their own, and are in the log.
/// The mark covers them.
class killed_store {
 public:
  /// Each body is `step` bytes longer than the one before. `last`: the body of one more job, unless it is empty.
  killed_store(int count, std::size_t step, const std::string& last = {}) {
    const auto files = std::make_shared<faulty_files>();
    const auto store = foliot::jobs::detail::embedded_core::open_on(
        {.folder = path(), .disk_reserve = 0, .clocks = {&wall_, &time_}}, files);
    const auto put = [&](int key, std::string body) {
      before_last_ = std::filesystem::file_size(log());
      time_.advance(foliot::jobs::detail::between_marks);
      foliot::jobs::execute_one(*store,
                                foliot::jobs::put{.tube = "mail", .key = std::to_string(key), .body = std::move(body)});
    };
    for (int each = 0; each < count; ++each) put(each, std::string(1 + static_cast<std::size_t>(each) * step, 'b'));
    if (!last.empty()) put(count, last);
    files->stop_at(0);  // no orderly end
  }
  [[nodiscard]] std::string path() const { return folder_.path() + "/store"; }
  [[nodiscard]] std::string log() const { return last_file(path(), "", ".log"); }
  /// The size of the log before the last batch.
  [[nodiscard]] std::size_t before_last() const { return before_last_; }

 private:
  temporary_folder folder_;
  foliot::virtual_clock time_;
  foliot::jobs::virtual_wall_clock wall_{time_};
  std::size_t before_last_ = 0;
};

enum class with_mark : bool { no, yes };

/// A copy of a store's folder, that tests may damage.
class copied_store {
 public:
  explicit copied_store(const std::string& of, with_mark marked) {
    std::filesystem::copy(of, path());
    if (marked == with_mark::no) std::filesystem::remove(path() + "/SYNCED");
    log = last_file(path(), "", ".log");
  }
  /// Without the mark.
  explicit copied_store(const killed_store& of) : copied_store(of.path(), with_mark::no) {}
  copied_store(const killed_store& of, with_mark marked) : copied_store(of.path(), marked) {}

  [[nodiscard]] std::string path() const { return folder_.path() + "/store"; }
  /// How many of the jobs are there: 0, 1, … up to the first that is not. Or why the store does not open.
  [[nodiscard]] std::string open(bool salvage = false) {
    return open_as({.folder = path(), .disk_reserve = 0, .salvage = salvage});
  }
  /// The same for a check.
  [[nodiscard]] std::string open_for_check() {
    return open_as({.folder = path(), .disk_reserve = 0, .for_check = true});
  }

 private:
  std::string open_as(foliot::jobs::embedded_options options) {
    namespace jobs = foliot::jobs;
    warning.clear();
    options.warn = [this](std::string_view text) { warning = text; };
    try {
      jobs::embedded_store store(options);
      const auto counts = jobs::execute_one(store, jobs::count_all{}).counts;
      std::uint64_t found = 0;
      while (jobs::execute_one(store, jobs::peek{jobs::job_key{"mail", std::to_string(found)}}).job) ++found;
      EXPECT_EQ(counts.all(), found);
      const auto right = store.check();
      return right ? std::to_string(found) : right.error();
    } catch (const jobs::store_failure& failed) {
      const std::string why = failed.what();
      // What a program decides by says the same as the sentence.
      const bool wants_backup = failed.remedy() == jobs::store_failure::remedies::restore_backup;
      EXPECT_EQ(wants_backup, why.find("restore a backup") != std::string::npos) << why;
      return why;
    }
  }

  temporary_folder folder_;

 public:
  std::string log;
  std::string warning;
};

/// Expects that a store is refused, again and again, with these parts of a sentence, and that nothing in it changes.
inline void expect_refusal(copied_store& store, std::string_view file, std::string_view sentence) {
  const std::map<std::string, std::string> before = files_of(store.path());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string why = store.open();
    EXPECT_NE(why.find(sentence), std::string::npos) << why;
    EXPECT_NE(why.find(file), std::string::npos) << why;
    EXPECT_NE(why.find("restore a backup"), std::string::npos) << why;
    EXPECT_TRUE(files_of(store.path()) == before);
  }
}

/// Salvages a store, of which fewer than so many jobs, below ten, are left, and expects that it is whole then.
inline void expect_salvage(copied_store& store, std::string_view jobs) {
  const std::string left = store.open(true);
  EXPECT_EQ(left.size(), 1u) << left;
  EXPECT_LT(left, jobs);
  EXPECT_NE(store.warning.find("was salvaged"), std::string::npos) << store.warning;
  EXPECT_EQ(store.open(), left);
  EXPECT_EQ(store.warning, "");
}

}  // namespace foliot_test

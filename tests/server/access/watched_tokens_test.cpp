// The file of access tokens while the server runs: look by look.
#include "server/access/watched_tokens.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/run.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "text/failure.hpp"

namespace foliot::program {
namespace {

using texts = std::vector<std::string>;

class WatchedTokens : public testing::Test {
 protected:
  /// Puts this text in the place of the file, as an editor does.
  void write(std::string_view text) const {
    std::ofstream(path_ + ".new") << text;
    ASSERT_EQ(::chmod((path_ + ".new").c_str(), 0600), 0);
    std::filesystem::rename(path_ + ".new", path_);
  }
  [[nodiscard]] static std::string entry_of(const std::string& token) {
    access_entry entry;
    entry.given = std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test",
                                                 scope_set::all(), texts{""}, instant::never(), sha256_of(token));
    return text_of(entry);
  }
  /// Looks so many times.
  static void look(watched_tokens& at, int times) {
    runtime::run([&]() -> task<> {
      for (int i = 0; i < times; ++i) co_await at.look();
    });
  }
  /// What was logged since the last call, without the times and the name of the file.
  texts take_lines() {
    texts taken;
    for (std::string each : lines_) {
      each.erase(0, each.find(' ') + 1);
      for (std::size_t at = each.find(path_); at != std::string::npos; at = each.find(path_)) {
        each.replace(at, path_.size(), "FILE");
      }
      each.pop_back();
      taken.push_back(each);
    }
    lines_.clear();
    return taken;
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string one_ = access_token::make();
  const std::string other_ = access_token::make();
  virtual_clock time_;
  texts lines_;
  const server_log log_{false, time_, [this](std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(WatchedTokens, AreReadAgainWhenTheFileHasChangedAndStays) {
  write(entry_of(one_) + entry_of(other_));
  watched_tokens tokens(path_, log_);
  EXPECT_EQ(take_lines(), texts{"info access tokens are in FILE: 2 entries"});
  int told = 0;
  const rights_holder holder(&tokens.who(), tokens.who().of_token(one_), [&] { ++told; });
  look(tokens, 5);
  EXPECT_EQ(tokens.who().generation(), 0U) << "nothing has changed";
  write(entry_of(other_));
  look(tokens, 1);
  EXPECT_EQ(tokens.who().generation(), 0U) << "it may be half written";
  look(tokens, 1);
  EXPECT_EQ(tokens.who().generation(), 1U);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(tokens.who().of_token(one_), nullptr);
  EXPECT_NE(tokens.who().of_token(other_), nullptr);
  EXPECT_EQ(take_lines(), texts{"info the access tokens were read again: 1 entry; the rights of 1 connection have "
                                "ended"});
  look(tokens, 5);
  EXPECT_EQ(tokens.who().generation(), 1U);
}

TEST_F(WatchedTokens, AWrongFileChangesNothingAndIsToldOnce) {
  write(entry_of(one_));
  watched_tokens tokens(path_, log_);
  take_lines();
  const texts stay{"warning the access tokens stay as they were, until FILE is right"};
  write("[token]\n");
  look(tokens, 10);
  EXPECT_FALSE(tokens.is_good());
  EXPECT_EQ(take_lines(), (texts{"warning FILE:1: an entry begins with [token ID] or [certificate ID]", stay[0]}));
  EXPECT_NE(tokens.who().of_token(one_), nullptr);
  std::filesystem::remove(path_);
  look(tokens, 10);
  EXPECT_FALSE(tokens.is_good());
  EXPECT_EQ(take_lines(), (texts{"warning cannot read 'FILE': No such file or directory", stay[0]}));
  EXPECT_NE(tokens.who().of_token(one_), nullptr);
  write("");
  look(tokens, 10);
  EXPECT_TRUE(tokens.is_good());
  EXPECT_EQ(take_lines(), texts{"info the access tokens were read again: 0 entries; the rights of 0 connections have "
                                "ended"});
  EXPECT_EQ(tokens.who().of_token(one_), nullptr) << "an empty file lets nobody in";
}

TEST_F(WatchedTokens, AreReadAgainWhenSomebodyAsks) {
  write(entry_of(one_));
  watched_tokens tokens(path_, log_);
  tokens.read_again();
  look(tokens, 1);
  EXPECT_EQ(tokens.who().generation(), 1U);
  EXPECT_NE(tokens.who().of_token(one_), nullptr);
}

TEST_F(WatchedTokens, EndWhenTheirTimeIsOver) {
  access_entry entry;
  const instant end = time_.now() + duration::nanoseconds(1'000'000'000);
  entry.given = std::make_shared<const rights>(std::string(access_token::parse(one_)->id()), "a test", scope_set::all(),
                                               texts{""}, end, sha256_of(one_));
  write(text_of(entry));
  watched_tokens tokens(path_, log_, time_);
  int told = 0;
  const rights_holder holder(&tokens.who(), tokens.who().of_token(one_), [&] { ++told; });
  look(tokens, 1);
  EXPECT_EQ(told, 0);
  time_.advance(duration::nanoseconds(1'000'000'000));
  look(tokens, 1);
  EXPECT_EQ(told, 1);
}

TEST_F(WatchedTokens, WithAMissingOrWrongFileThereIsNoStart) {
  const auto error = [&] {
    try {
      const watched_tokens tokens(path_, log_);
    } catch (const failure& why) {
      return std::string(why.what());
    }
    return std::string("it has begun");
  };
  EXPECT_EQ(error(), "--tokens: cannot read '" + path_ + "': No such file or directory; make it: foliot token make '" +
                         path_ + "' --name NAME --scopes SCOPES --ends WHEN");
  write("a\nb\n");
  EXPECT_EQ(error(), "--tokens: " + path_ +
                         ":1: this is neither a comment nor [token ID], [certificate ID] or 'key = value' (and 1 "
                         "more)");
  const texts told = take_lines();
  ASSERT_EQ(told.size(), 2U) << "each mistake";
  EXPECT_EQ(told[1], "warning FILE:2: this is neither a comment nor [token ID], [certificate ID] or 'key = value'");
  write("");
  EXPECT_EQ(error(), "it has begun");
  EXPECT_EQ(take_lines(), texts{"info access tokens are in FILE: it is empty, so nobody has access"});
}

TEST_F(WatchedTokens, OneThatOthersCanReadIsWarnedOf) {
  write(entry_of(one_));
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  const watched_tokens tokens(path_, log_);
  EXPECT_EQ(take_lines()[0], "warning others than its owner can use 'FILE': chmod 600 'FILE'");
}

}  // namespace
}  // namespace foliot::program

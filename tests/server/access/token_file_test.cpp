// The file of access tokens: what is read, and the sentence for each mistake.
#include "server/access/token_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {
namespace {

using sentences = std::vector<std::string>;

const std::string digits_of_a(64, 'a');
const std::string digits_of_b(64, 'b');

/// A right entry, of which each line can be replaced.
struct written_entry {
  std::string heading = "[token aaaaaaaa]";
  std::string name = "name = one";
  std::string digest = "sha256 = " + digits_of_a;
  std::string scopes = "scopes = put";
  std::string tubes = "tubes = mail.";
  std::string ends = "ends = never";

  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& each : {heading, name, digest, scopes, tubes, ends}) {
      if (!each.empty()) all += each + "\n";
    }
    return all;
  }
};

sentences mistakes_in(std::string_view text) {
  const read_tokens read = parse_tokens("tokens", text);
  EXPECT_TRUE(read.mistakes.empty() || read.entries.empty()) << "a file with a mistake has no entries";
  return read.mistakes;
}

TEST(TokenFile, IsReadAsPeopleWriteIt) {
  const read_tokens read = parse_tokens("tokens",
                                        "# The clients of the shop.\r\n"
                                        "\r\n"
                                        "[token aaaaaaaa]\r\n"
                                        "  name=billing, the nightly run\r\n"
                                        "\tsha256 =" +
                                            digits_of_a +
                                            "\r\n"
                                            "scopes = put,look  change\r\n"
                                            "tubes = mail. bill, mail.in\r\n"
                                            "# until the contract ends\r\n"
                                            "ends = 2027-01-01T00:00:00Z\r\n"
                                            "\r\n"
                                            "[ certificate the-cellar ]\r\n"
                                            "ends = never\r\n"
                                            "tubes = *\r\n"
                                            "scopes = reserve administer\r\n"
                                            "fingerprint = sha256 Fingerprint=" +
                                            digits_of_b +
                                            "\r\n"
                                            "name = Jürgen");
  EXPECT_EQ(read.mistakes, sentences{});
  ASSERT_EQ(read.entries.size(), 2U);
  const access_entry& one = read.entries[0];
  EXPECT_EQ(one.what, access_entry::kind::token);
  EXPECT_EQ(one.first_line, 3U);
  EXPECT_EQ(one.last_line, 9U);
  EXPECT_EQ(one.given->id(), "aaaaaaaa");
  EXPECT_EQ(one.given->name(), "billing, the nightly run");
  EXPECT_EQ(hexadecimal(one.given->proof()), digits_of_a);
  EXPECT_TRUE(one.given->may(scope::put) && one.given->may(scope::look) && one.given->may(scope::change));
  EXPECT_FALSE(one.given->may(scope::reserve) || one.given->may(scope::administer));
  EXPECT_EQ(one.given->prefixes(), (sentences{"bill", "mail."}));
  EXPECT_EQ(one.given->ends(), parse_iso_time("2027-01-01T00:00:00Z"));
  const access_entry& two = read.entries[1];
  EXPECT_EQ(two.what, access_entry::kind::certificate);
  EXPECT_EQ(two.given->id(), "the-cellar");
  EXPECT_EQ(two.given->name(), "Jürgen");
  EXPECT_TRUE(two.given->has_all_tubes());
  EXPECT_TRUE(two.given->ends().is_never());
  EXPECT_EQ(two.last_line, 16U);
}

TEST(TokenFile, AnEmptyOneHasNoEntries) {
  for (const std::string_view text : {"", "\n", "# nobody yet\n", "   \r\n#"}) {
    const read_tokens read = parse_tokens("tokens", text);
    EXPECT_EQ(read.mistakes, sentences{});
    EXPECT_TRUE(read.entries.empty());
  }
}

TEST(TokenFile, EachWrongLineHasASentence) {
  const auto expect = [](const std::string& sentence, const written_entry& entry) {
    EXPECT_EQ(mistakes_in(entry.text()), sentences{"tokens:" + sentence});
  };
  expect("1: an entry begins with [token ID] or [certificate ID]", {.heading = "[token aaaaaaaa"});
  expect("1: an entry begins with [token ID] or [certificate ID]", {.heading = "[tokens aaaaaaaa]"});
  expect("1: an entry begins with [token ID] or [certificate ID]", {.heading = "[]"});
  expect(
      "1: 'aaaaaaa' is not the id of a token: 8 letters from a to z and digits, as they stand in the token behind "
      "foliot_",
      {.heading = "[token aaaaaaa]"});
  expect("1: '\\x1b[2J' is not the id of a certificate: 1 to 32 letters from a to z, digits and -",
         {.heading = "[certificate \x1b[2J]"});
  expect("2: no name: say whose this is, and what for", {.name = "name ="});
  expect("2: a name of 101 bytes: it has at most 100", {.name = "name = " + std::string(101, 'n')});
  expect("2: the name has control characters, or is not UTF-8, or has spaces at an end", {.name = "name = a\x1b[2Jb"});
  expect("3: sha256 needs 64 hexadecimal digits", {.digest = "sha256 = " + digits_of_a.substr(1)});
  expect("4: a token has no 'fingerprint': its lines are name, sha256, scopes, tubes and ends",
         {.digest = "sha256 = " + digits_of_a + "\nfingerprint = " + digits_of_a});
  expect("4: 'write' is not a scope: write some of put, reserve, look, change and administer",
         {.scopes = "scopes = put write"});
  expect("4: no scope: write some of put, reserve, look, change and administer", {.scopes = "scopes ="});
  expect("5: no tube: write beginnings of names of tubes, or * for all tubes", {.tubes = "tubes = ,"});
  expect("5: 'mail*' has a *: a beginning of names of tubes stands without it, and * alone for all tubes",
         {.tubes = "tubes = mail*"});
  for (const std::string wrong : {"mail:", "m\xc3\xa4il", "mail#in", "'mail'", "-mail"}) {
    expect("5: no name of a tube begins with '" + wrong +
               "': it must have 1 to 200 of the characters A-Z a-z 0-9 - + / ; . $ _ ( ) and not begin with -",
           {.tubes = "tubes = bill. " + wrong});
  }
  expect("5: a name of a tube with 201 bytes: it has at most 200", {.tubes = "tubes = " + std::string(201, 't')});
  expect("6: 'tomorrow' is not a time: write one such as 2027-01-01T00:00:00Z, or never", {.ends = "ends = tomorrow"});
  expect("6: '2027-02-29T00:00:00Z' is not a time: write one such as 2027-01-01T00:00:00Z, or never",
         {.ends = "ends = 2027-02-29T00:00:00Z"});
  expect("7: a second 'ends'", {.ends = "ends = never\nends = never"});
  expect("6: this is neither a comment nor [token ID], [certificate ID] or 'key = value'",
         {.tubes = "tubes = *\nall of them"});
  expect("1: the token 'aaaaaaaa' has no line 'scopes = …'", {.scopes = ""});
  expect("1: the token 'aaaaaaaa' has no line 'sha256 = …'", {.digest = ""});
}

TEST(TokenFile, AllMistakesAreNamed) {
  EXPECT_EQ(mistakes_in("name = early\n[token aaaaaaaa]\nnames = x\n[certificate c]\n"),
            (sentences{"tokens:1: before this line there must be [token ID] or [certificate ID]",
                       "tokens:3: a token has no 'names': its lines are name, sha256, scopes, tubes and ends",
                       "tokens:2: the token 'aaaaaaaa' has no line 'sha256 = …'",
                       "tokens:2: the token 'aaaaaaaa' has no line 'name = …'",
                       "tokens:2: the token 'aaaaaaaa' has no line 'scopes = …'",
                       "tokens:2: the token 'aaaaaaaa' has no line 'tubes = …'",
                       "tokens:2: the token 'aaaaaaaa' has no line 'ends = …'",
                       "tokens:4: the certificate 'c' has no line 'fingerprint = …'",
                       "tokens:4: the certificate 'c' has no line 'name = …'",
                       "tokens:4: the certificate 'c' has no line 'scopes = …'",
                       "tokens:4: the certificate 'c' has no line 'tubes = …'",
                       "tokens:4: the certificate 'c' has no line 'ends = …'"}));
}

TEST(TokenFile, IdsAndDigestsAreUnique) {
  const written_entry one;
  written_entry other{.heading = "[token bbbbbbbb]"};
  EXPECT_EQ(mistakes_in(one.text() + other.text()),
            sentences{"tokens:7: the token 'bbbbbbbb' has the same sha256 as the entry in line 1"});
  other = {.heading = "[certificate aaaaaaaa]", .digest = "fingerprint = " + digits_of_b};
  EXPECT_EQ(mistakes_in(one.text() + other.text()),
            sentences{"tokens:7: the id 'aaaaaaaa' is taken by the entry in line 1"});
  other = {.heading = "[certificate bbbbbbbb]", .digest = "fingerprint = " + digits_of_a};
  EXPECT_EQ(mistakes_in(one.text() + other.text()), sentences{}) << "a fingerprint is not the digest of a token";
}

// A file that an editor has not written to its end must not pass for one with fewer entries.
TEST(TokenFile, ATornOneIsFound) {
  const std::string whole = written_entry().text();
  for (std::size_t size = 1; size < whole.size() - 1; ++size) {
    EXPECT_NE(mistakes_in(whole.substr(0, size)), sentences{}) << whole.substr(0, size);
  }
}

TEST(TokenFile, EntriesAreWrittenAsTheyAreRead) {
  const std::string before = "# kept\n" + written_entry().text();
  const read_tokens read = parse_tokens("tokens", before);
  ASSERT_EQ(read.entries.size(), 1U);
  const access_entry added{
      .what = access_entry::kind::certificate,
      .given = std::make_shared<const rights>("cellar", "Jürgen", scope_set::all(), sentences{"b", "a"},
                                              *parse_iso_time("2027-01-01T00:00:00.5Z"), sha256_of("abc"))};
  const std::string both = with_entry(before, added);
  EXPECT_EQ(both, before + "\n[certificate cellar]\nname = Jürgen\nfingerprint = " + hexadecimal(sha256_of("abc")) +
                      "\nscopes = put reserve look change administer\ntubes = a b\nends = 2027-01-01T00:00:00.5Z\n");
  const read_tokens again = parse_tokens("tokens", both);
  ASSERT_EQ(again.entries.size(), 2U);
  EXPECT_EQ(text_of(again.entries[1]), text_of(added));
  EXPECT_EQ(without_entry(both, again.entries[1]), before + "\n");
  EXPECT_EQ(without_entry(both, again.entries[0]), "# kept\n" + text_of(added));
  EXPECT_EQ(with_entry("", added), text_of(added));
  EXPECT_EQ(with_entry("# no line feed", added), "# no line feed\n\n" + text_of(added));
}

TEST(TokenFile, CommentsBehindAnEntryStay) {
  const std::string text = written_entry().text() + "\n \n# of the next\n" + "[certificate c]\n";
  access_entry first;
  first.first_line = 1;
  first.last_line = 6;
  EXPECT_EQ(without_entry(text, first), "# of the next\n[certificate c]\n");
}

class TokenFileOnDisk : public testing::Test {
 protected:
  void write(std::string_view text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string error() const {
    try {
      static_cast<void>(read_token_file(path_));
    } catch (const token_file_error& wrong) {
      return wrong.what();
    }
    return "it was read";
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
};

TEST_F(TokenFileOnDisk, OneThatOthersCanReadIsWarnedOf) {
  write(written_entry().text());
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  token_file read = read_token_file(path_);
  EXPECT_EQ(read.entries.size(), 1U);
  EXPECT_EQ(read.warning, "");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  read = read_token_file(path_);
  EXPECT_EQ(read.warning, "") << "the server may read it as one of its group";
  ASSERT_EQ(::chmod(path_.c_str(), 0604), 0);
  read = read_token_file(path_);
  EXPECT_EQ(read.entries.size(), 1U);
  EXPECT_EQ(read.warning, "others than its owner can use '" + path_ + "': chmod 600 '" + path_ + "'");
}

TEST_F(TokenFileOnDisk, WhatIsNoFileIsRefused) {
  EXPECT_EQ(error(), "cannot read '" + path_ + "': No such file or directory");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(error(), "'" + path_ + "' is not a file of access tokens") << "and it is not waited for";
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(error(), "'" + path_ + "' is not a file of access tokens");
}

TEST_F(TokenFileOnDisk, AHugeOneIsRefused) {
  write("");
  std::filesystem::resize_file(path_, most_token_file_bytes + 1);
  EXPECT_EQ(error(), "'" + path_ + "' has more than 16777216 bytes, too many for a file of access tokens");
}

TEST_F(TokenFileOnDisk, SeveralMistakesAreCounted) {
  write("a\nb\nc\n");
  EXPECT_EQ(error(), path_ +
                         ":1: this is neither a comment nor [token ID], [certificate ID] or 'key = value' (and 2 "
                         "more)");
}

TEST_F(TokenFileOnDisk, AChangeIsSeen) {
  EXPECT_EQ(state_of_file(path_), file_state());
  write("# one\n");
  const file_state first = state_of_file(path_);
  EXPECT_NE(first, file_state());
  EXPECT_EQ(state_of_file(path_), first);
  std::ofstream(path_ + ".new") << "# two\n";
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_NE(state_of_file(path_), first) << "another file of the same length";
}

}  // namespace
}  // namespace foliot::program

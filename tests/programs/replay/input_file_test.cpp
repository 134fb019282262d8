#include "replay/input_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../temporary_directory.hpp"
#include "failure.hpp"
#include "output_file.hpp"
#include "sample/gzip_writer.hpp"

namespace foliot::program {
namespace {

class InputFile : public testing::Test {
 protected:
  std::string packed(std::string_view text) {
    output_file out(here / "packed");
    gzip_writer writer(out);
    writer.write(text);
    writer.finish();
    out.publish();
    return contents(here / "packed");
  }

  /// The text read from a file with these contents, or the message of the failure.
  std::string read(std::string_view bytes, std::size_t room = 1000) {
    put_contents(here / "log", bytes);
    return read_file(here / "log", room);
  }

  static std::string read_file(const std::string& name, std::size_t room = 1000) {
    try {
      input_file file(name);
      std::string all;
      std::vector<char> buffer(room);
      while (const std::size_t size = file.read(buffer)) all.append(buffer.data(), size);
      return all;
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), exit_code::error);
      return error.what();
    }
  }

  std::string named(const char* rest) { return fmt::format("'{}' {}", here / "log", rest); }

  temporary_directory here;
};

TEST_F(InputFile, ReadsPlainFiles) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("x"), "x");
  EXPECT_EQ(read("\x1f"), "\x1f");
  EXPECT_EQ(read("hello\n"), "hello\n");
  EXPECT_EQ(read("hello\n", 1), "hello\n");
}

TEST_F(InputFile, ReadsGzip) {
  const std::string text(300'000, 'a');
  for (const std::size_t room : {1U, 7U, 1'000U, 1'000'000U}) EXPECT_EQ(read(packed(text), room), text) << room;
  EXPECT_EQ(read(packed("")), "");
}

TEST_F(InputFile, ReadsSeveralMembersAndPadding) {
  const std::string two = packed("one\n") + packed("two\n");
  EXPECT_EQ(read(two), "one\ntwo\n");
  EXPECT_EQ(read(two, 3), "one\ntwo\n");
  EXPECT_EQ(read(two + std::string(1000, '\0')), "one\ntwo\n");
  EXPECT_EQ(read(packed("") + std::string(200'000, '\0')), "") << "more than is read at once";
}

TEST_F(InputFile, NoticesEveryTruncation) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i * i) + "\n";
  const std::string whole = packed(text);
  for (std::size_t size = 2; size < whole.size(); ++size) {
    ASSERT_EQ(read(whole.substr(0, size)), named("ends in the middle of its gzip data: is it complete?")) << size;
  }
  const std::string two = whole + whole;
  for (std::size_t size = whole.size() + 1; size < two.size(); ++size) {
    ASSERT_EQ(read(two.substr(0, size)), named("ends in the middle of its gzip data: is it complete?")) << size;
  }
}

TEST_F(InputFile, NoticesDamage) {
  const std::string whole = packed("some text that is long enough to be damaged");
  for (std::size_t place = 10; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] ^= 1;
    const std::string result = read(damaged);
    EXPECT_TRUE(result.starts_with(named("is damaged gzip data")) || result.starts_with(named("ends in the middle")))
        << place << ": " << result;
  }
}

TEST_F(InputFile, NoticesWhatFollowsGzipData) {
  EXPECT_EQ(read(packed("one\n") + "two\n"), named("has data after its gzip data that are not gzip: unpack it first"));
}

TEST_F(InputFile, NoticesZerosInTheMiddleOfGzipData) {
  const std::string sentence = named("has more data after the zeros that follow its gzip data: is a part of it lost?");
  for (const std::size_t zeros : {1U, 5U, 65'536U, 200'000U}) {
    const std::string hole(zeros, '\0');
    EXPECT_EQ(read(packed("one\n") + hole + packed("two\n")), sentence) << zeros;
    EXPECT_EQ(read(packed("one\n") + hole + "two\n"), sentence) << zeros;
    EXPECT_EQ(read(packed("one\n") + packed("two\n") + hole + '\x1f'), sentence) << zeros;
  }
}

TEST_F(InputFile, SaysWhatCannotBeRead) {
  EXPECT_EQ(read_file(here / "none"), fmt::format("cannot read '{}': No such file or directory", here / "none"));
  std::filesystem::create_directory(here / "directory");
  EXPECT_EQ(read_file(here / "directory"), fmt::format("cannot read '{}': Is a directory", here / "directory"));
}

TEST_F(InputFile, CountsTheBytesOfTheFileItself) {
  const std::string whole = packed(std::string(1'000'000, 'a'));
  put_contents(here / "log", whole);
  input_file file(here / "log");
  std::vector<char> buffer(1000);
  while (file.read(buffer) > 0) {
  }
  EXPECT_EQ(file.bytes_read(), whole.size());
  EXPECT_EQ(input_file::size(here / "log"), whole.size());
  EXPECT_EQ(input_file::size("/dev/null"), std::nullopt);
}

}  // namespace
}  // namespace foliot::program

#include "replay/input_file.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <bzlib.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zstd.h>

#include "output_file.hpp"
#include "programs/temporary_directory.hpp"
#include "sample/gzip_writer.hpp"
#include "text/failure.hpp"

namespace foliot::program {
namespace {

std::string xz(std::string_view text) {
  std::string bytes(::lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  const auto done =
      ::lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                text.size(), reinterpret_cast<std::uint8_t*>(bytes.data()), &size, bytes.size());
  EXPECT_EQ(done, LZMA_OK);
  bytes.resize(size);
  return bytes;
}

std::string zstd(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&::ZSTD_freeCCtx)> context(::ZSTD_createCCtx(), ::ZSTD_freeCCtx);
  ::ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string bytes(::ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ::ZSTD_compress2(context.get(), bytes.data(), bytes.size(), text.data(), text.size());
  EXPECT_EQ(::ZSTD_isError(size), 0U);
  bytes.resize(size);
  return bytes;
}

std::string bzip2(std::string_view text) {
  std::string bytes(text.size() + text.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned>(bytes.size());
  const int done = ::BZ2_bzBuffToBuffCompress(bytes.data(), &size, const_cast<char*>(text.data()),
                                              static_cast<unsigned>(text.size()), 9, 0, 0);
  EXPECT_EQ(done, BZ_OK);
  bytes.resize(size);
  return bytes;
}

class InputFile : public testing::Test {
 protected:
  std::string gzip(std::string_view text) {
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

  std::string named(std::string_view rest) { return fmt::format("'{}' {}", here / "log", rest); }

  temporary_directory here;
};

/// In each of the packed formats, by its name.
class PackedFile : public InputFile, public testing::WithParamInterface<std::string_view> {
 protected:
  std::string packed(std::string_view text) {
    if (GetParam() == "gzip") return gzip(text);
    if (GetParam() == "xz") return xz(text);
    return GetParam() == "zstd" ? zstd(text) : bzip2(text);
  }
  std::string cut_off() { return named(fmt::format("ends in the middle of its {} data: is it complete?", GetParam())); }
};

INSTANTIATE_TEST_SUITE_P(Formats, PackedFile, testing::Values("gzip", "xz", "zstd", "bzip2"),
                         [](const auto& format) { return std::string(format.param); });

TEST_F(InputFile, ReadsPlainFiles) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("x"), "x");
  EXPECT_EQ(read("\x1f"), "\x1f");
  EXPECT_EQ(read("hello\n"), "hello\n");
  EXPECT_EQ(read("hello\n", 1), "hello\n");
}

TEST_P(PackedFile, IsRead) {
  std::string text(300'000, 'a');
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('b' + i % 23);
  for (const std::size_t room : {1U, 7U, 1'000U, 1'000'000U}) EXPECT_TRUE(read(packed(text), room) == text) << room;
  EXPECT_EQ(read(packed("")), "");
}

TEST_P(PackedFile, MayHaveSeveralMembersAndPadding) {
  const std::string two = packed("one\n") + packed("two\n");
  EXPECT_EQ(read(two), "one\ntwo\n");
  EXPECT_EQ(read(two, 3), "one\ntwo\n");
  EXPECT_EQ(read(packed("") + two + packed("")), "one\ntwo\n");
  EXPECT_EQ(read(two + std::string(1000, '\0')), "one\ntwo\n");
  EXPECT_EQ(read(packed("") + std::string(200'000, '\0')), "") << "more than is read at once";
}

TEST_P(PackedFile, EveryTruncationIsNoticed) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i * i) + "\n";
  const std::string whole = packed(text);
  constexpr std::size_t signature = 6;
  for (std::size_t size = signature; size < whole.size(); ++size) {
    ASSERT_EQ(read(whole.substr(0, size)), cut_off()) << size;
  }
  const std::string two = whole + whole;
  for (std::size_t size = whole.size() + 1; size < two.size(); ++size) {
    ASSERT_EQ(read(two.substr(0, size)), cut_off()) << size;
  }
}

TEST_P(PackedFile, DamageIsNoticed) {
  const std::string text = "some text that is long enough to be damaged";
  const std::string whole = packed(text);
  const std::string damage = named(fmt::format("is damaged {} data: ", GetParam()));
  std::size_t harmless = 0;
  for (std::size_t place = 10; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] ^= 1;
    const std::string result = read(damaged);
    if (result == text) {
      ++harmless;  // bits that have no meaning
      continue;
    }
    EXPECT_TRUE(result.starts_with(damage) || result == cut_off()) << place << ": " << result;
  }
  EXPECT_LE(harmless, 2U);
}

TEST_P(PackedFile, WhatFollowsItsDataIsNoticed) {
  EXPECT_EQ(read(packed("one\n") + "two\n"),
            named(fmt::format("has data after its {0} data that are not {0}: unpack it first", GetParam())));
}

TEST_P(PackedFile, ZerosInTheMiddleAreNoticed) {
  const std::string sentence =
      named(fmt::format("has more data after the zeros that follow its {} data: is a part of it lost?", GetParam()));
  for (const std::size_t zeros : {1U, 4U, 5U, 65'536U, 200'000U}) {
    const std::string hole(zeros, '\0');
    EXPECT_EQ(read(packed("one\n") + hole + packed("two\n")), sentence) << zeros;
    EXPECT_EQ(read(packed("one\n") + hole + "two\n"), sentence) << zeros;
    EXPECT_EQ(read(packed("one\n") + packed("two\n") + hole + '\x1f'), sentence) << zeros;
  }
}

TEST_F(InputFile, SkipsZstdFramesWithoutText) {
  using namespace std::string_literals;
  // The file of pzstd begins with such a frame, which has the size of the next.
  for (const char nibble : {'\x50', '\x5f'}) {
    const std::string skipped = nibble + "\x2a\x4d\x18\x04\0\0\0size"s;
    EXPECT_EQ(read(skipped + zstd("one\n") + skipped + zstd("two\n")), "one\ntwo\n");
    EXPECT_EQ(read(skipped), "");
    EXPECT_EQ(read(skipped.substr(0, 10)), named("ends in the middle of its zstd data: is it complete?"));
  }
}

TEST_F(InputFile, SaysThatAZstdWindowIsTooLarge) {
  using namespace std::string_literals;
  // A frame with a window of 2 GiB, and an empty block.
  EXPECT_EQ(
      read("\x28\xb5\x2f\xfd\0\xa8\x01\0\0"s),
      fmt::format("cannot unpack the zstd data of '{}': its window is larger than 128 MiB: unpack it with zstd -d "
                  "--long=31 first",
                  here / "log"));
}

TEST_F(InputFile, RefusesOtherPackedFormatsByName) {
  using namespace std::string_literals;
  const auto refused = [this](std::string_view name) {
    return named(fmt::format("is {} data, which foliot does not read: unpack it first", name));
  };
  EXPECT_EQ(read("PK\x03\x04 and more"), refused("zip"));
  EXPECT_EQ(read("\x1f\x9d\x90 and more"), refused("compress"));
  EXPECT_EQ(read("\x04\x22\x4d\x18 and more"), refused("lz4"));
  EXPECT_EQ(read(std::string("\x5d\x00\x00\x80\x00 and more", 14)), refused("lzma"));
  EXPECT_EQ(read("7z\xbc\xaf\x27\x1c and more"), refused("7z"));
  EXPECT_EQ(read("\x89LZO\0 and more"s), refused("lzop"));
}

TEST_F(InputFile, RefusesUtf16WithTheCommandThatConvertsIt) {
  using namespace std::string_literals;
  const std::string refused = named("is text in UTF-16: convert it with iconv -f UTF-16 -t UTF-8");
  EXPECT_EQ(read("\xff\xfe"s + "h\0o\0s\0t\0"s), refused);
  EXPECT_EQ(read("\xfe\xff"s + "\0h\0o\0s\0t"s), refused);
  EXPECT_EQ(read("\xff"), "\xff");
}

TEST_F(InputFile, TextThatBeginsAlmostAsAPackedFormatIsPlain) {
  for (const char* const text :
       {"BZ", "BZh", "BZh9.example - -", "BZh0\x31\x41", "7zXZ", "Px*M", "(\xb5", "PK.example -"}) {
    EXPECT_EQ(read(text), text);
  }
}

TEST_F(InputFile, SaysWhatCannotBeRead) {
  EXPECT_EQ(read_file(here / "none"), fmt::format("cannot read '{}': No such file or directory", here / "none"));
  std::filesystem::create_directory(here / "directory");
  EXPECT_EQ(read_file(here / "directory"), fmt::format("cannot read '{}': Is a directory", here / "directory"));
}

TEST_F(InputFile, CountsTheBytesOfTheFileItself) {
  const std::string whole = gzip(std::string(1'000'000, 'a'));
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

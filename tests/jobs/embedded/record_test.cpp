// The bytes of a job's record: those without fields are what the store has written since version 2 of its format.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/embedded/record.hpp"

namespace foliot::jobs::detail {
namespace {

using namespace std::string_literals;

job_fields one_field(field_tag tag, std::string_view value) {
  job_fields made;
  EXPECT_TRUE(made.set(tag, value));
  return made;
}

record some_record() {
  record it;
  it.id = 77;
  it.place = index_of::buried;
  it.tube = 0x0102030405060708;
  it.priority = 0x0a0b0c0d;
  it.due = 0x1112131415161718;
  it.made = 0x2122232425262728;
  it.delay = 0x3132333435363738;
  it.ttr = 0x4142434445464748;
  it.counters = {0x51525354, 0x61626364, 0x71727374, 0x01020304, 0x05060708};
  it.sequence = 0x5152535455565758;
  it.key = "key";
  it.body = "body";
  return it;
}

const std::string numbers =
    "\x01\x02\x03\x04\x05\x06\x07\x08"
    "\x0a\x0b\x0c\x0d"
    "\x11\x12\x13\x14\x15\x16\x17\x18"
    "\x21\x22\x23\x24\x25\x26\x27\x28"
    "\x31\x32\x33\x34\x35\x36\x37\x38"
    "\x41\x42\x43\x44\x45\x46\x47\x48"
    "\x51\x52\x53\x54\x61\x62\x63\x64\x71\x72\x73\x74\x01\x02\x03\x04\x05\x06\x07\x08"
    "\x51\x52\x53\x54\x55\x56\x57\x58"s;

std::string encoded(const record& what) {
  std::string value = "what was there before";
  encode(what, value);
  return value;
}

void expect_equal(const record& got, const record& expected) {
  EXPECT_EQ(got.id, expected.id);
  EXPECT_EQ(got.body_apart, expected.body_apart);
  EXPECT_EQ(got.key, expected.key);
  EXPECT_EQ(got.body, expected.body);
  EXPECT_EQ(got.fields, expected.fields);
  EXPECT_EQ(got.history, expected.history);
  EXPECT_EQ(encoded(got), encoded(expected)) << "the rest";
}

TEST(EmbeddedRecord, WithoutFieldsIsThatOfVersion2) {
  record it = some_record();
  EXPECT_EQ(encoded(it), "\2\0\3"s + numbers + "keybody");
  it.body_apart = true;
  it.body = "";
  it.place = index_of::due;
  EXPECT_EQ(encoded(it), "\0\1\3"s + numbers + "key");
}

TEST(EmbeddedRecord, HasItsFieldsBetweenTheKeyAndTheBody) {
  record it = some_record();
  it.fields = one_field(1, "f");
  EXPECT_EQ(encoded(it), "\2\2\3"s + numbers + "key\0\5\0\1\0\1fbody"s);
  it.history = one_field(0x100, "hh");
  EXPECT_EQ(encoded(it), "\2\6\3"s + numbers + "key\0\5\0\1\0\1f\0\6\1\0\0\2hhbody"s);
  it.fields = {};
  it.body_apart = true;
  it.body = "";
  EXPECT_EQ(encoded(it), "\2\5\3"s + numbers + "key\0\6\1\0\0\2hh"s);
}

TEST(EmbeddedRecord, IsReadAsItWasWritten) {
  for (const std::size_t longest : {std::size_t{0}, std::size_t{1}, most_field_bytes - 4}) {
    for (int parts = 0; parts < 8; ++parts) {
      record it = some_record();
      it.body_apart = (parts & 1) != 0;
      if (it.body_apart) it.body = "";
      if ((parts & 2) != 0) it.fields = one_field(0xffff, std::string(longest, 'f'));
      if ((parts & 4) != 0) it.history = one_field(2, std::string(longest, 'h'));
      record got = some_record();
      got.fields = one_field(3, "of a record that was read before");
      got.history = got.fields;
      ASSERT_TRUE(decode(77, encoded(it), got, true));
      expect_equal(got, it);
      ASSERT_TRUE(decode(77, encoded(it), got, false));
      it.body = "";
      expect_equal(got, it);
    }
  }
}

TEST(EmbeddedRecord, WhatIsNoneIsRefused) {
  record it = some_record();
  it.fields = one_field(1, "f");
  it.history = one_field(0x100, "hh");
  it.body = "";
  const std::string good = encoded(it);
  record got;
  ASSERT_TRUE(decode(77, good, got, true));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode(77, std::string_view(good).substr(0, size), got, true)) << size;
  }
  const auto with = [&good](std::size_t at, char value) {
    std::string changed = good;
    changed[at] = value;
    return changed;
  };
  EXPECT_FALSE(decode(77, with(0, 3), got, true)) << "no index";
  EXPECT_FALSE(decode(77, with(1, 8), got, true)) << "a part of a later version";
  EXPECT_FALSE(decode(77, with(1, 14), got, true)) << "a part of a later version";
  const std::size_t fields = good.size() - 8 - 7;  // their length, in front of the history
  EXPECT_FALSE(decode(77, with(fields + 1, 0), got, true)) << "no fields where there should be some";
  EXPECT_FALSE(decode(77, with(fields + 1, 4), got, true)) << "a field that is cut off";
  EXPECT_FALSE(decode(77, with(fields + 3, 0), got, true)) << "a field without a tag";
}

TEST(EmbeddedRecord, AnyBytesAreReadWithoutHarm) {
  EXPECT_TRUE(rc::check("any bytes", [] {
    record it = some_record();
    it.fields = one_field(1, "f");
    it.history = one_field(0x100, "hh");
    const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
        rc::gen::pair(rc::gen::weightedOneOf<std::size_t>(
                          {{1, rc::gen::inRange<std::size_t>(0, 3)}, {3, rc::gen::inRange<std::size_t>(75, 97)}}),
                      rc::gen::inRange('\0', '\x0f')));
    std::string bytes = encoded(it);
    for (const auto& [at, value] : changes) bytes.at(at) = value;
    record got;
    if (decode(77, bytes, got, true)) RC_ASSERT(encoded(got) == bytes);
  }));
}

}  // namespace
}  // namespace foliot::jobs::detail

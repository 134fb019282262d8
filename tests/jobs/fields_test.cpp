// job_fields alone: changes, the encoding byte for byte, what parse() refuses, and its bound; and against a std::map,
// at random.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <foliot/jobs/fields.hpp>

namespace foliot::jobs {
namespace {

static_assert(std::forward_iterator<job_fields::iterator>);
static_assert(sizeof(job_fields) == sizeof(void*), "a job without fields is as small as that");
static_assert(std::is_nothrow_move_constructible_v<job_fields> && std::is_nothrow_move_assignable_v<job_fields>);

using namespace std::string_literals;
using entries = std::vector<std::pair<field_tag, std::string>>;

entries entries_of(const job_fields& all) {
  entries found;
  for (const job_fields::entry each : all) found.emplace_back(each.tag, each.value);
  return found;
}

job_fields made_of(const entries& all) {
  job_fields made;
  for (const auto& [tag, value] : all) EXPECT_TRUE(made.set(tag, value)) << tag;
  return made;
}

TEST(JobFields, AreNoneAtFirst) {
  const job_fields none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.bytes(), "");
  EXPECT_EQ(none.find(1), std::nullopt);
  EXPECT_EQ(none.begin(), none.end());
}

TEST(JobFields, AreEncodedInTheOrderOfTheirTags) {
  const job_fields fields = made_of({{0xffff, "last"}, {1, ""}, {0x102, "\0\xff"s}});
  EXPECT_EQ(fields.bytes(),
            "\0\1\0\0"
            "\1\2\0\2\0\xff"
            "\xff\xff\0\4last"s);
  EXPECT_EQ(entries_of(fields), (entries{{1, ""}, {0x102, "\0\xff"s}, {0xffff, "last"}}));
  EXPECT_EQ(fields.find(1), "");
  EXPECT_EQ(fields.find(0x102), "\0\xff"s);
  EXPECT_EQ(fields.find(2), std::nullopt);
  EXPECT_EQ(made_of({{0x102, "\0\xff"s}, {1, ""}, {0xffff, "last"}}), fields);
}

TEST(JobFields, AreSetAndErased) {
  job_fields fields = made_of({{1, "one"}, {2, "two"}, {3, "three"}});
  EXPECT_TRUE(fields.set(2, "a longer value"));
  EXPECT_EQ(entries_of(fields), (entries{{1, "one"}, {2, "a longer value"}, {3, "three"}}));
  EXPECT_TRUE(fields.set(3, fields.find(2).value())) << "a value of the fields themselves";
  EXPECT_EQ(fields.find(3), "a longer value");
  EXPECT_FALSE(fields.set(0, "no tag"));
  EXPECT_FALSE(fields.erase(4));
  EXPECT_TRUE(fields.erase(2));
  EXPECT_EQ(entries_of(fields), (entries{{1, "one"}, {3, "a longer value"}}));
  EXPECT_TRUE(fields.erase(1));
  EXPECT_TRUE(fields.erase(3));
  EXPECT_TRUE(fields.empty());
  EXPECT_EQ(fields, job_fields());
}

TEST(JobFields, ACopyIsOnItsOwn) {
  job_fields fields = made_of({{1, "one"}});
  job_fields copy = fields;
  EXPECT_TRUE(copy.set(1, "other"));
  EXPECT_EQ(fields.find(1), "one");
  fields = copy;
  EXPECT_EQ(fields.find(1), "other");
  const job_fields& itself = fields;
  fields = itself;
  EXPECT_EQ(fields.find(1), "other");
  const job_fields moved = std::move(fields);
  EXPECT_EQ(moved.find(1), "other");
  EXPECT_NE(moved, job_fields());
}

TEST(JobFields, HaveABoundOfBytes) {
  job_fields fields;
  EXPECT_FALSE(fields.set(1, std::string(most_field_bytes - 3, 'x')));
  EXPECT_TRUE(fields.empty());
  EXPECT_TRUE(fields.set(1, std::string(most_field_bytes - 4, 'x')));
  EXPECT_EQ(fields.bytes().size(), most_field_bytes);
  EXPECT_FALSE(fields.set(2, ""));
  EXPECT_TRUE(fields.set(1, std::string(most_field_bytes - 4, 'y'))) << "in place of the old value";
  EXPECT_EQ(job_fields::parse(fields.bytes()), fields);
  EXPECT_EQ(job_fields::parse(std::string(fields.bytes()) + "\0\2\0\0"s), std::nullopt);
  EXPECT_FALSE(fields.set(1, std::string(std::size_t{1} << 20, 'x')));
  EXPECT_TRUE(fields.set(1, ""));
  EXPECT_TRUE(fields.set(2, ""));
}

TEST(JobFields, ParseRefusesWhatIsNoEncoding) {
  const std::string good = "\0\1\0\1a\0\2\0\0\1\0\0\3abc"s;
  ASSERT_EQ(job_fields::parse(good), made_of({{1, "a"}, {2, ""}, {0x100, "abc"}}));
  EXPECT_EQ(job_fields::parse(""), job_fields());
  const std::vector<std::size_t> ends{0, 5, 9, good.size()};
  for (std::size_t size = 0; size <= good.size(); ++size) {
    const bool is_whole = std::ranges::find(ends, size) != ends.end();
    EXPECT_EQ(job_fields::parse(std::string_view(good).substr(0, size)).has_value(), is_whole) << size;
  }
  EXPECT_EQ(job_fields::parse("\0\0\0\0"s), std::nullopt) << "0 is no tag";
  EXPECT_EQ(job_fields::parse("\0\1\0\0\0\1\0\0"s), std::nullopt) << "a tag twice";
  EXPECT_EQ(job_fields::parse("\0\2\0\0\0\1\0\0"s), std::nullopt) << "not in order";
  EXPECT_EQ(job_fields::parse("\0\1\xff\xff"s + std::string(0xffff, 'x')), std::nullopt) << "too long";
}

/// What parses is what set() makes of the same entries: no two encodings stand for the same fields.
TEST(JobFields, AreAMapAtRandom) {
  EXPECT_TRUE(rc::check("as a std::map", [] {
    const auto tags = rc::gen::weightedOneOf<field_tag>(
        {{3, rc::gen::inRange<field_tag>(1, 6)}, {1, rc::gen::inRange<field_tag>(0x7ffe, 0x8003)}});
    const auto sizes = rc::gen::weightedElement<std::size_t>({{4, 0}, {4, 3}, {2, 300}, {1, 4000}, {1, 8188}});
    const auto steps = *rc::gen::container<std::vector<std::tuple<field_tag, std::size_t, bool>>>(
        rc::gen::tuple(tags, sizes, rc::gen::weightedElement<bool>({{1, true}, {3, false}})));
    job_fields fields;
    std::map<field_tag, std::string> model;
    for (const auto& [tag, size, erases] : steps) {
      if (erases) {
        RC_ASSERT(fields.erase(tag) == (model.erase(tag) == 1));
      } else {
        std::map<field_tag, std::string> after = model;
        after[tag] = std::string(size, static_cast<char>('a' + tag % 26));
        std::size_t bytes = 0;
        for (const auto& [each, value] : after) bytes += 4 + value.size();
        const bool has_room = bytes <= most_field_bytes;
        RC_ASSERT(fields.set(tag, after[tag]) == has_room);
        if (has_room) model = after;
      }
      RC_ASSERT(entries_of(fields) == entries(model.begin(), model.end()));
      RC_ASSERT(job_fields::parse(fields.bytes()) == fields);
      for (const auto& [each, value] : model) RC_ASSERT(fields.find(each) == value);
    }
  }));
}

/// No bytes do harm, and those that parse are kept as they are.
TEST(JobFields, ParseTakesAnyBytes) {
  EXPECT_TRUE(rc::check("any bytes", [] {
    const std::string start(made_of({{1, "a"}, {2, ""}, {0x100, "abc"}}).bytes());
    const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(rc::gen::pair(
        rc::gen::inRange<std::size_t>(0, start.size()),
        rc::gen::weightedOneOf<char>({{2, rc::gen::inRange('\0', '\4')}, {1, rc::gen::arbitrary<char>()}})));
    std::string bytes = start;
    for (const auto& [at, value] : changes) bytes[at] = value;
    const std::optional<job_fields> parsed = job_fields::parse(bytes);
    if (!parsed) return;
    RC_ASSERT(parsed->bytes() == bytes);
    job_fields again;
    for (const job_fields::entry each : *parsed) RC_ASSERT(again.set(each.tag, each.value));
    RC_ASSERT(again == *parsed);
  }));
}

}  // namespace
}  // namespace foliot::jobs

#include <foliot/client/reply.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocations.hpp"

namespace foliot::client {
namespace {

std::vector<server_reply> all_of(const std::string& bytes, std::size_t piece) {
  reply_reader reader;
  std::vector<server_reply> replies;
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    reader.add(std::string_view(bytes).substr(i, piece));
    while (auto next = reader.next({.of_list = 100, .of_job = 4})) replies.push_back(std::move(*next));
  }
  return replies;
}

TEST(BeanstalkReply, InPiecesOfAnySize) {
  const std::string bytes =
      "INSERTED 7\r\nNOT_FOUND\r\nRESERVED 18446744073709551615 4\r\n\r\n\r\n\r\nFOUND 2 0\r\n\r\nUSING a-1\r\n"
      "OK 9\r\n---\n- a\n \r\nKICKED 3\r\nBURIED\r\nBURIED 4\r\n";
  const std::vector<server_reply> expected{{"INSERTED", 7, "", 0, ""},
                                           {"NOT_FOUND", 0, "", 0, ""},
                                           {"RESERVED", 18'446'744'073'709'551'615u, "\r\n\r\n", 4, ""},
                                           {"FOUND", 2, "", 0, ""},
                                           {"USING", 0, "", 0, "a-1"},
                                           {"OK", 0, "---\n- a\n ", 9, ""},
                                           {"KICKED", 3, "", 0, ""},
                                           {"BURIED", 0, "", 0, ""},
                                           {"BURIED", 4, "", 0, ""}};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(all_of(bytes, piece), expected) << piece;
}

TEST(BeanstalkReply, BodiesThatAreNotWantedAreDropped) {
  const std::string bytes = "FOUND 1 5\r\na\r\nbc\r\nRESERVED 2 9\r\n123456789\r\nFOUND 3 4\r\nabcd\r\nNOT_FOUND\r\n";
  const std::vector<server_reply> expected{
      {"FOUND", 1, "", 5, ""}, {"RESERVED", 2, "", 9, ""}, {"FOUND", 3, "abcd", 4, ""}, {"NOT_FOUND", 0, "", 0, ""}};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(all_of(bytes, piece), expected) << piece;
}

TEST(BeanstalkReply, ABodyTakesItsMemoryOnce) {
  constexpr std::size_t size = std::size_t{8} << 20;
  constexpr std::size_t piece = std::size_t{1} << 16;
  const std::string bytes = "FOUND 1 " + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n";
  reply_reader reader;
  const std::size_t before = foliot::test::live_bytes();
  std::size_t most = 0;
  std::optional<server_reply> whole;
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    reader.add(std::string_view(bytes).substr(i, piece));
    whole = reader.next({.of_job = size});
    most = std::max(most, foliot::test::live_bytes() - before);
  }
  EXPECT_EQ(whole.value().body.size(), size);
  EXPECT_LE(most, size + 2 * piece);
  whole.reset();
  EXPECT_LE(foliot::test::live_bytes() - before, 2 * piece) << "of the reader";

  reader.add("FOUND 2 1\r\ny\r\n" + bytes);  // at once
  EXPECT_EQ(reader.next({.of_job = size}).value().body, "y");
  EXPECT_EQ(reader.next({.of_job = size}).value().body.size(), size);
  EXPECT_TRUE(reader.is_empty());
  EXPECT_LE(foliot::test::live_bytes() - before, 2 * piece);
}

TEST(BeanstalkReply, WhatIsNone) {
  for (const std::string bytes : {"\r\n",
                                  " \r\n",
                                  "hello\r\n",
                                  "HTTP/1.1 400 Bad Request\r\n",
                                  "RESERVED 1\r\n",
                                  "RESERVED 1 x\r\n",
                                  "RESERVED x 1\r\n",
                                  "FOUND 1 2 3\r\n",
                                  "FOUND 1 -2\r\n",
                                  "OK\r\n",
                                  "OK 1 2\r\n",
                                  "OK 1073741825\r\n",
                                  "OK 1\r\nabc",
                                  "FOUND 1 1\r\nabc",
                                  "FOUND 1 5\r\nabcdefg",
                                  "OK 101\r\n",
                                  "INSERTED  1\r\n",
                                  "INSERTED 1 2\r\n",
                                  "INSERTED\r\n",
                                  "INSERTED x\r\n",
                                  "INSERTED -1\r\n",
                                  "INSERTED +1\r\n",
                                  "INSERTED 18446744073709551616\r\n",
                                  "IS_RESERVED\r\n",
                                  "KEPT a\r\n",
                                  "BURIED x\r\n",
                                  "USING\r\n",
                                  "USING a b\r\n",
                                  "DELETED 1\r\n",
                                  "NOT_FOUND x\r\n",
                                  "RESERVED 18446744073709551616 1\r\n"}) {
    EXPECT_THROW(static_cast<void>(all_of(bytes, 1)), no_reply) << bytes;
  }
  EXPECT_THROW(static_cast<void>(all_of(std::string(300, 'A'), 300)), no_reply);
  EXPECT_TRUE(all_of(std::string(299, 'A'), 299).empty()) << "it may become a line";
}

TEST(BeanstalkReply, WhatIsLeft) {
  reply_reader reader;
  EXPECT_TRUE(reader.is_empty());
  reader.add("DELETED\r\nDELETED\r\n");
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.is_empty());
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.is_empty());
  reader.add("O");
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.is_empty());
}

TEST(BeanstalkReply, Dictionaries) {
  const std::string text =
      "---\nid: 7\nidle: 8\nname: \"a b\"\nkey: \"x\\\"y\\\\z\"\nempty: \"\"\nplain: t.1\nrest: 1x";
  EXPECT_EQ(dictionary_number(text, "id"), 7u);
  EXPECT_EQ(dictionary_number(text, "idle"), 8u);
  EXPECT_EQ(dictionary_value(text, "name"), "a b");
  EXPECT_EQ(dictionary_value(text, "key"), "x\"y\\z");
  EXPECT_EQ(dictionary_value(text, "empty"), "");
  EXPECT_EQ(dictionary_value(text, "plain"), "t.1");
  EXPECT_EQ(dictionary_number(text, "rest"), std::nullopt);
  EXPECT_EQ(dictionary_value(text, "i"), std::nullopt);
  EXPECT_EQ(dictionary_value("", "id"), std::nullopt);
  EXPECT_THAT(list_entries("---\n- default\n- \"b\"\n"), testing::ElementsAre("default", "b"));
}

}  // namespace
}  // namespace foliot::client

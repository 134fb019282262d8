#include "job/event_lines.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/job_text.hpp"

namespace foliot::program::terminal {
namespace {

struct reader {
  event_lines lines;
  std::vector<std::string> seen;
  bool feed(std::string_view piece) {
    return lines.feed(piece, [this](const server_event& one) { seen.push_back(one.name + "|" + one.data); });
  }
};

constexpr std::string_view two =
    "retry: 2000\nid: a-1\n\n:\nid: a-2\nevent: put\ndata: {}\n\nevent:due\ndata:1\ndata: 2\n\n";

TEST(EventLines, ReadEvents) {
  reader all;
  EXPECT_TRUE(all.feed(two));
  EXPECT_EQ(all.seen, (std::vector<std::string>{"put|{}", "due|1\n2"}));
  EXPECT_EQ(all.lines.last_id(), "a-2");
  EXPECT_EQ(all.lines.retry(), 2000U);
}

TEST(EventLines, ReadTheSameInAnyPiecesAndWithAnyLineEnds) {
  for (const std::string_view end : {"\n", "\r", "\r\n"}) {
    std::string text;
    for (const char c : two) c == '\n' ? text += end : text += c;
    for (std::size_t size = 1; size < text.size(); ++size) {
      reader all;
      for (std::size_t at = 0; at < text.size(); at += size)
        EXPECT_TRUE(all.feed(std::string_view(text).substr(at, size)));
      EXPECT_EQ(all.seen, (std::vector<std::string>{"put|{}", "due|1\n2"})) << size;
    }
  }
}

TEST(EventLines, AnEventThatIsCutOffIsNoneAndItsIdIsNotKept) {
  reader all;
  EXPECT_TRUE(all.feed("id: 1\ndata: x\n\nid: 2\ndata: y\n"));
  all.lines.restart();
  EXPECT_TRUE(all.feed("\ndata: z\n\n"));
  EXPECT_EQ(all.seen, (std::vector<std::string>{"|x", "|z"}));
  EXPECT_EQ(all.lines.last_id(), "1");
}

TEST(EventLines, RefuseWhatIsTooLong) {
  const std::string half(event_lines::longest / 2 + 1, 'x');
  reader line;
  EXPECT_TRUE(line.feed("data: " + half));
  EXPECT_FALSE(line.feed(half));
  reader event;
  EXPECT_TRUE(event.feed("data: " + half + "\n"));
  EXPECT_FALSE(event.feed("data: " + half + "\n"));
}

TEST(EventLines, IgnoreWhatTheyDoNotKnow) {
  reader all;
  EXPECT_TRUE(all.feed(std::string_view("retry: soon\nretry:\nfoo: bar\nid: a\0b\nevent\ndata\n\n", 48)));
  EXPECT_EQ(all.seen, (std::vector<std::string>{"|"}));
  EXPECT_FALSE(all.lines.retry());
}

TEST(EventText, IsALineForPeopleOrOfJson) {
  const std::string data =
      R"({"tube":"news","id":"1","key":"a\u001b[2J\u202eb","reason":"cancelled","at":"2026-11-29T06:00:00.000Z"})";
  EXPECT_EQ(event_text("ended", "e-1", data, false),
            "2026-11-29T06:00:00.000Z  ended     news                  job 1 'a\\x1b[2J\\xe2\\x80\\xaeb': cancelled\n");
  EXPECT_EQ(
      event_text("ended", "e-1", data, true),
      R"({"event":"ended","id":"e-1","data":{"tube":"news","id":"1","key":"a\u001b[2J\u202eb","reason":"cancelled","at":"2026-11-29T06:00:00.000Z"}})"
      "\n");
  EXPECT_EQ(event_text("missed", "", R"({"count":3})", false),
            std::string(26, ' ') + "missed" + std::string(26, ' ') + "3 events were left out\n");
  EXPECT_EQ(event_text("missed", "", R"({"at_most":3})", false).substr(58), "at most 3 events were left out\n");
  EXPECT_EQ(event_text("missed", "", "{}", false).substr(58), "events may have been left out\n");
  EXPECT_EQ(event_text("\x1b[2J", "", "no JSON", false), std::string(26, ' ') + "\\x1b[2J\n");
}

}  // namespace
}  // namespace foliot::program::terminal

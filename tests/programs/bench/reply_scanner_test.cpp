#include "bench/serve/reply_scanner.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace foliot::program::bench {
namespace {

/// What the scanner finds, one text for each reply, if the bytes come in pieces of that many.
std::vector<std::string> found_in(std::string_view bytes, std::size_t piece) {
  reply_scanner scanner;
  std::vector<std::string> found;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    scanner.append(bytes.substr(0, piece));
    while (const auto got = scanner.next()) {
      found.push_back(fmt::format("{} {} {} {}", static_cast<int>(got->kind), got->number, got->line, got->body));
    }
  }
  return found;
}

std::string text_of(reply_kind kind, std::string_view rest) {
  return fmt::format("{} {}", static_cast<int>(kind), rest);
}

TEST(ReplyScanner, FindsTheSameRepliesHoweverTheBytesAreCut) {
  const std::string_view bytes =
      "USING x\r\nINSERTED 18446744073709551615\r\nRESERVED 7 12\r\nDELETED\r\nab\n\r\nDELETED\r\nFOUND 8 0\r\n\r\n"
      "OK 3\r\na:1\r\nWATCHING 2\r\nTIMED_OUT\r\nNOT_FOUND\r\nOUT_OF_MEMORY\r\nKICKED 5\r\nRELEASED\r\n";
  const std::vector<std::string> wanted{
      text_of(reply_kind::used, "0 USING x "),
      text_of(reply_kind::inserted, "18446744073709551615 INSERTED 18446744073709551615 "),
      text_of(reply_kind::reserved, "7 RESERVED 7 12 DELETED\r\nab\n"),
      text_of(reply_kind::deleted, "0 DELETED "),
      text_of(reply_kind::found, "8 FOUND 8 0 "),
      text_of(reply_kind::ok, "3 OK 3 a:1"),
      text_of(reply_kind::watching, "2 WATCHING 2 "),
      text_of(reply_kind::timed_out, "0 TIMED_OUT "),
      text_of(reply_kind::not_found, "0 NOT_FOUND "),
      text_of(reply_kind::other, "0 OUT_OF_MEMORY "),
      text_of(reply_kind::kicked, "5 KICKED 5 "),
      text_of(reply_kind::released, "0 RELEASED "),
  };
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(found_in(bytes, piece), wanted) << piece;
}

}  // namespace
}  // namespace foliot::program::bench

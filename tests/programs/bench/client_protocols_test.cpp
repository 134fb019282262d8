// The replies that each protocol of the load generator finds, and the commands that it writes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/serve/beanstalk_protocol.hpp"
#include "bench/serve/http_protocol.hpp"
#include "bench/serve/reply_scanner.hpp"

namespace foliot::program::bench {
namespace {

/// What the scanner finds, one text for each reply, if the bytes come in pieces of that many.
std::vector<std::string> found_in(const client_protocol& of, std::string_view bytes, std::size_t piece) {
  reply_scanner scanner(of);
  std::vector<std::string> found;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    scanner.append(bytes.substr(0, piece));
    while (const auto got = scanner.next()) {
      found.push_back(fmt::format("{} {} {} {} {}", static_cast<int>(got->kind), got->number, got->line,
                                  got->reservation, got->body));
    }
  }
  return found;
}

std::string text_of(reply_kind kind, std::string_view rest) {
  return fmt::format("{} {}", static_cast<int>(kind), rest);
}

TEST(BeanstalkProtocol, FindsTheSameRepliesHoweverTheBytesAreCut) {
  const std::string_view bytes =
      "AUTHENTICATED 4f7k2m9q\r\nUSING x\r\nINSERTED 18446744073709551615\r\nREPLACED 9\r\nRESERVED 7 12\r\n"
      "DELETED\r\nab\n\r\nDELETED\r\nFOUND 8 0\r\n\r\nOK 3\r\na:1\r\nWATCHING 2\r\nTIMED_OUT\r\nNOT_FOUND\r\n"
      "OUT_OF_MEMORY\r\nKICKED 5\r\nRELEASED\r\n";
  const std::vector<std::string> wanted{
      text_of(reply_kind::signed_in, "4 AUTHENTICATED 4f7k2m9q  "),
      text_of(reply_kind::used, "0 USING x  "),
      text_of(reply_kind::inserted, "18446744073709551615 INSERTED 18446744073709551615  "),
      text_of(reply_kind::replaced, "9 REPLACED 9  "),
      text_of(reply_kind::reserved, "7 RESERVED 7 12  DELETED\r\nab\n"),
      text_of(reply_kind::deleted, "0 DELETED  "),
      text_of(reply_kind::found, "8 FOUND 8 0  "),
      text_of(reply_kind::ok, "3 OK 3  a:1"),
      text_of(reply_kind::watching, "2 WATCHING 2  "),
      text_of(reply_kind::timed_out, "0 TIMED_OUT  "),
      text_of(reply_kind::not_found, "0 NOT_FOUND  "),
      text_of(reply_kind::other, "0 OUT_OF_MEMORY  "),
      text_of(reply_kind::kicked, "5 KICKED 5  "),
      text_of(reply_kind::released, "0 RELEASED  "),
  };
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(found_in(plain_beanstalk(), bytes, piece), wanted) << piece;
  }
}

std::string response(std::string_view status, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nDate: Sun, 29 Nov 2026 05:40:00 GMT\r\nContent-Length: {}\r\n\r\n{}", status,
                     body.size(), body);
}

TEST(HttpProtocol, FindsTheSameRepliesHoweverTheBytesAreCut) {
  constexpr std::string_view inserted = R"({"id":"18446744073709551615","outcome":"inserted"})";
  constexpr std::string_view replaced = R"({"id":"9","outcome":"replaced"})";
  constexpr std::string_view batch = R"({"results":[{"status":201,"id":"5","outcome":"inserted"}]})";
  constexpr std::string_view reserved = R"({"jobs":[{"reservation":"5-1-1","id":"5","tube":"mail"}]})";
  constexpr std::string_view mixed = R"({"results":[{"status":507}]})";
  const std::string bytes = response("201 Created", inserted) + response("200 OK", replaced) +
                            response("200 OK", batch) + response("200 OK", reserved) +
                            response("200 OK", R"({"outcome":"finished"})") + response("200 OK", R"({"jobs":[]})") +
                            response("207 Multi-Status", mixed) + response("503 Service Unavailable", "") +
                            response("200 OK", R"({"tubes":[]})");
  const std::vector<std::string> wanted{
      text_of(reply_kind::inserted, fmt::format("18446744073709551615 HTTP/1.1 201 Created  {}", inserted)),
      text_of(reply_kind::replaced, fmt::format("9 HTTP/1.1 200 OK  {}", replaced)),
      text_of(reply_kind::ok, fmt::format("5 HTTP/1.1 200 OK  {}", batch)),
      text_of(reply_kind::reserved, fmt::format("5 HTTP/1.1 200 OK 5-1-1 {}", reserved)),
      text_of(reply_kind::deleted, R"(0 HTTP/1.1 200 OK  {"outcome":"finished"})"),
      text_of(reply_kind::timed_out, R"(0 HTTP/1.1 200 OK  {"jobs":[]})"),
      text_of(reply_kind::other, fmt::format("0 HTTP/1.1 207 Multi-Status  {}", mixed)),
      text_of(reply_kind::other, "0 HTTP/1.1 503 Service Unavailable  "),
      text_of(reply_kind::ok, R"(0 HTTP/1.1 200 OK  {"tubes":[]})"),
  };
  const http_protocol protocol;
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(found_in(protocol, bytes, piece), wanted) << piece;
  }
}

TEST(HttpProtocol, ARequestIsWholeAndShowsItsToken) {
  EXPECT_EQ(http_protocol("foliot_x").put("mail", 3).bytes,
            "POST /v1/tubes/mail/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer foliot_x\r\n"
            "Content-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nxxx");
  EXPECT_EQ(http_protocol().finish({.reservation = "5-1-1"}).bytes,
            "POST /v1/reservations/5-1-1/finish HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
}

TEST(ClientProtocols, ABatchIsOneRequestOfHttpAndManyCommandsOfBeanstalk) {
  const std::vector<keyed_put> jobs{{"a", 5}, {"b", 6}};
  const commands http = http_protocol().replace_many("mail", jobs, 1);
  EXPECT_EQ(http.count, 1U);
  EXPECT_TRUE(http.bytes.ends_with(R"({"jobs":[{"tube":"mail","key":"a","existing":"replace","delay":"5s","text":"x"},)"
                                   R"({"tube":"mail","key":"b","existing":"replace","delay":"6s","text":"x"}]})"))
      << http.bytes;
  const commands beanstalk = plain_beanstalk().replace_many("mail", jobs, 1);
  EXPECT_EQ(beanstalk.count, 2U);
  EXPECT_EQ(beanstalk.bytes, "x-put replace a 0 5000 600000 1\r\nx\r\nx-put replace b 0 6000 600000 1\r\nx\r\n");
}

}  // namespace
}  // namespace foliot::program::bench

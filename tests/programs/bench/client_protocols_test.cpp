// The replies that each protocol of the load generator finds, and the commands that it writes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/serve/beanstalk_protocol.hpp"
#include "bench/serve/http_protocol.hpp"
#include "bench/serve/load_generator.hpp"
#include "bench/serve/nats_protocol.hpp"

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

TEST(ClientProtocols, ADelayedJobHasItsDueTimeOrItsDelay) {
  const delayed_put job{.number = 7, .due = 1'000'000'000'005, .delay = 60, .body = "xyz"};
  EXPECT_EQ(plain_beanstalk().put_delayed("mail", job).bytes, "put 0 60 600 3\r\nxyz\r\n");
  EXPECT_TRUE(
      http_protocol().put_delayed("mail", job).bytes.starts_with("POST /v1/tubes/mail/jobs?delay=60s HTTP/1.1\r\n"));
  EXPECT_EQ(nats_protocol().put_delayed("mail", job).bytes,
            "HPUB mail.later.7 _INBOX.<client> 91 94\r\nNATS/1.0\r\nNats-Schedule: @at 2001-09-09T01:46:40.005Z\r\n"
            "Nats-Schedule-Target: mail.ready\r\n\r\nxyz\r\n");
}

TEST(NatsProtocol, FindsTheSameRepliesHoweverTheBytesAreCut) {
  const std::string_view bytes =
      "INFO {\"server_name\":\"one\"}\r\nPONG\r\n"
      "MSG _INBOX.00000003 1 25\r\n{\"stream\":\"mail\",\"seq\":9}\r\nPING\r\n"
      "MSG mail.ready 1 $JS.ACK.mail.workers.1.2.3.4.5 4\r\na\r\nb\r\n"
      "HMSG mail.ready 1 $JS.ACK.mail.workers.1.3.3.4.5 31 33\r\nNATS/1.0\r\nNats-Scheduler: x\r\n\r\nab\r\n"
      "MSG _INBOX.00000003 1 0\r\n\r\n"
      "INFO {\"server_name\":\"two\"}\r\nMSG _INBOX.00000003 1 12\r\n{\"type\":\"y\"}\r\n"
      "MSG _INBOX.00000003 1 22\r\n{\"error\":{\"code\":400}}\r\n"
      "HMSG _INBOX.00000003 1 32 32\r\nNATS/1.0 408 Request Timeout\r\n\r\n\r\n"
      "-ERR 'Unknown Protocol Operation'\r\n";
  const std::vector<std::string> wanted{
      text_of(reply_kind::ok, R"(0 PONG  INFO {"server_name":"one"})"),
      text_of(reply_kind::inserted, R"(9 MSG _INBOX.00000003 1 25  {"stream":"mail","seq":9})"),
      text_of(reply_kind::reserved,
              "0 MSG mail.ready 1 $JS.ACK.mail.workers.1.2.3.4.5 4 $JS.ACK.mail.workers.1.2.3.4.5 "
              "a\r\nb"),
      text_of(reply_kind::reserved,
              "0 HMSG mail.ready 1 $JS.ACK.mail.workers.1.3.3.4.5 31 33 "
              "$JS.ACK.mail.workers.1.3.3.4.5 ab"),
      text_of(reply_kind::deleted, "0 MSG _INBOX.00000003 1 0  "),
      text_of(reply_kind::ok, R"(0 MSG _INBOX.00000003 1 12  {"type":"y"})"),
      text_of(reply_kind::other, R"(0 {"error":{"code":400}}  {"error":{"code":400}})"),
      text_of(reply_kind::other, "0 NATS/1.0 408 Request Timeout  "),
      text_of(reply_kind::other, "0 -ERR 'Unknown Protocol Operation'  "),
  };
  const nats_protocol protocol;
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
    EXPECT_EQ(found_in(protocol, bytes, piece), wanted) << piece;
}

TEST(NatsProtocol, EachReplyGoesToItsClient) {
  const nats_protocol protocol;
  EXPECT_EQ(protocol.put("mail", 2).bytes, "PUB mail.ready _INBOX.<client> 2\r\nxx\r\n");
  EXPECT_EQ(protocol.finish({.reservation = "$JS.ACK.x"}).bytes, "PUB $JS.ACK.x _INBOX.<client> 4\r\n+ACK\r\n");
  EXPECT_EQ(protocol.client_number(), "<client>");
  EXPECT_EQ(plain_beanstalk().client_number(), "");
  for (const opening& each : protocol.enter("mail")) {
    EXPECT_EQ(each.wanted, reply_kind::ok);
    EXPECT_NE(each.bytes.find(protocol.client_number()), std::string::npos) << each.bytes;
  }
}

}  // namespace
}  // namespace foliot::program::bench

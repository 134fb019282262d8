#include "copy/server_link.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/run.hpp>

#include "text/printable.hpp"

namespace foliot::program::copying {

namespace {

using namespace std::chrono_literals;

constexpr duration longest_silence = 60s;
constexpr std::size_t buffer_size = std::size_t{1} << 16;
/// The servers tell 16 digits. With so many, a key has room for an id.
constexpr std::size_t longest_instance = 64;

std::string_view first_line(std::string_view request) { return request.substr(0, request.find('\r')); }

}  // namespace

task<> server_link::connect() {
  auto connecting = at_.connect(runtime::now() + longest_silence);
  auto got = co_await connecting;
  if (!got) throw failure(fmt::format("cannot connect to {}{}: {}", name(), at_.way, got.error().message()));
  peer_ = std::move(*got);
  buffer_.resize(buffer_size);
}

/// Before each piece that is sent or read, so that a slow connection has time for it.
void server_link::renew_deadline() { peer_->set_deadline(runtime::now() + longest_silence); }

task<> server_link::send(std::string_view text) {
  while (!text.empty()) {
    renew_deadline();
    auto writing = peer_->write_some(text.substr(0, buffer_size));
    const auto written = co_await writing;
    if (!written) throw failure(fmt::format("the connection to {} ended: {}", name(), written.error().message()));
    text.remove_prefix(*written);
  }
}

task<std::vector<server_reply>> server_link::exchange(std::string requests, std::size_t count, wanted_replies wanted) {
  auto sending = send(requests);
  co_await sending;
  std::vector<server_reply> all;
  all.reserve(count);
  std::uint64_t kept = 0;
  while (all.size() < count) {
    std::optional<server_reply> next;
    try {
      const std::uint64_t left = wanted.in_all - std::min(wanted.in_all, kept);
      next = replies_.next(
          {wanted.of_list, kept == 0 && wanted.first_in_any_case ? wanted.of_job : std::min(wanted.of_job, left)});
    } catch (const client::no_reply& error) {
      throw failure(fmt::format("{} sent something else than a reply: {}", name(), error.what()));
    }
    if (next) {
      if (next->word != "OK") kept += next->body.size();
      all.push_back(std::move(*next));
      continue;
    }
    auto reading = read_more();
    const bool goes_on = co_await reading;
    if (!goes_on) throw failure(fmt::format("the server at {} closed the connection", name()));
  }
  if (!replies_.is_empty()) {
    const std::string first = all.empty() ? std::string() : fmt::format(", the first of which is {}", all.front().word);
    throw failure(fmt::format("{} sent more than the {} {} that it was asked for{}", name(), count,
                              count == 1 ? "reply" : "replies", first));
  }
  co_return all;
}

task<server_reply> server_link::ask(std::string request, std::uint64_t of_list) {
  wanted_replies wanted;
  wanted.of_list = of_list;
  auto asking = exchange(std::move(request), 1, wanted);
  auto replies = co_await asking;
  co_return std::move(replies.front());
}

task<server_facts> server_link::learn() {
  const std::string stats = "stats\r\n";
  const std::string extended = "x-stats-job 0\r\n";
  const std::string reserving = "reserve-job 0\r\n";
  auto asking = exchange(stats + extended + reserving, 3);
  const auto replies = co_await asking;
  expect(replies[0], "OK", stats);
  if (replies[1].word != "UNKNOWN_COMMAND") expect(replies[1], "NOT_FOUND", extended);
  if (replies[2].word != "UNKNOWN_COMMAND") expect(replies[2], "NOT_FOUND", reserving);
  server_facts facts;
  facts.is_foliot = replies[1].word != "UNKNOWN_COMMAND";
  facts.can_reserve_job = replies[2].word != "UNKNOWN_COMMAND";
  facts.instance = client::dictionary_value(replies[0].body, "id").value_or("");
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (facts.instance.size() > longest_instance || !std::ranges::all_of(facts.instance, is_digit)) facts.instance = "";
  facts.max_job_size = client::dictionary_number(replies[0].body, "max-job-size").value_or(65'535);
  if (facts.is_foliot)
    facts.most_field_bytes = client::dictionary_number(replies[0].body, "foliot-field-bytes").value_or(0);
  co_return facts;
}

task<> server_link::quit() {
  renew_deadline();
  constexpr std::string_view request = "quit\r\n";
  auto writing = peer_->write_some(request);
  const auto written = co_await writing;
  if (!written || *written < request.size()) co_return;  // the connection has ended by itself
  for (bool goes_on = true; goes_on;) {
    auto reading = peer_->read_some(std::span<char>(buffer_));
    const auto got = co_await reading;
    goes_on = got && *got > 0;
  }
  peer_.reset();
}

void server_link::expect_using(const server_reply& reply, std::string_view tube, const std::string& request) const {
  expect(reply, "USING", request);
  if (reply.name != tube)
    throw contradiction(fmt::format("uses tube '{}' where it was asked for '{}'", printable(reply.name), tube));
}

void server_link::expect(const server_reply& reply, std::string_view word, const std::string& request) const {
  if (reply.word != word) throw unexpected(request, reply);
  const bool has_id = word == "INSERTED" || word == "REPLACED" || word == "KEPT" || word == "IS_RESERVED" ||
                      word == "RESERVED" || word == "FOUND";
  if (!has_id || (reply.number > 0 && reply.number <= client::highest_id)) return;
  throw contradiction(fmt::format("answered {} {} to '{}', and {}", word, reply.number, first_line(request),
                                  reply.number == 0 ? "ids begin at 1" : "no server has given so many ids"));
}

failure server_link::unexpected(const std::string& request, const server_reply& reply) const {
  return failure(fmt::format("{} answered {} to '{}'", name(), reply.word, first_line(request)));
}

failure server_link::contradiction(std::string_view how) const {
  return failure(fmt::format("{} contradicts itself: it {}", name(), how));
}

task<bool> server_link::read_more() {
  renew_deadline();
  auto reading = peer_->read_some(std::span<char>(buffer_));
  const auto got = co_await reading;
  if (!got && got.error() == runtime::io_errc::deadline_exceeded)
    throw failure(fmt::format("{} has not answered for a minute", name()));
  if (!got) throw failure(fmt::format("the connection to {} ended: {}", name(), got.error().message()));
  replies_.add(std::string_view(buffer_.data(), *got));
  co_return *got > 0;
}

}  // namespace foliot::program::copying

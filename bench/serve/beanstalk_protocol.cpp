#include "beanstalk_protocol.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace foliot::program::bench {

namespace {

constexpr std::array<std::pair<std::string_view, reply_kind>, 16> first_words{{
    {"INSERTED", reply_kind::inserted},
    {"REPLACED", reply_kind::replaced},
    {"RESERVED", reply_kind::reserved},
    {"DELETED", reply_kind::deleted},
    {"RELEASED", reply_kind::released},
    {"BURIED", reply_kind::buried},
    {"TOUCHED", reply_kind::touched},
    {"KICKED", reply_kind::kicked},
    {"USING", reply_kind::used},
    {"WATCHING", reply_kind::watching},
    {"AUTHENTICATED", reply_kind::signed_in},
    {"FOUND", reply_kind::found},
    {"OK", reply_kind::ok},
    {"NOT_FOUND", reply_kind::not_found},
    {"DEADLINE_SOON", reply_kind::deadline_soon},
    {"TIMED_OUT", reply_kind::timed_out},
}};

reply_kind kind_of_word(std::string_view word) noexcept {
  const auto known = std::ranges::find(first_words, word, &std::pair<std::string_view, reply_kind>::first);
  return known == first_words.end() ? reply_kind::other : known->second;
}

std::uint64_t leading_number(std::string_view text) noexcept {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool has_body(reply_kind kind) noexcept {
  return kind == reply_kind::reserved || kind == reply_kind::found || kind == reply_kind::ok;
}

}  // namespace

std::optional<found_reply> beanstalk_protocol::find_reply(std::string_view bytes) const {
  const std::size_t newline = bytes.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  reply found;
  found.line = bytes.substr(0, newline > 0 && bytes[newline - 1] == '\r' ? newline - 1 : newline);
  const std::size_t word = std::min(found.line.find(' '), found.line.size());
  found.kind = kind_of_word(found.line.substr(0, word));
  if (word < found.line.size()) found.number = leading_number(found.line.substr(word + 1));
  std::size_t length = newline + 1;
  if (has_body(found.kind)) {
    const std::size_t body = leading_number(found.line.substr(found.line.rfind(' ') + 1));
    if (bytes.size() - length < body + 2) return std::nullopt;
    found.body = bytes.substr(length, body);
    length += body + 2;
  }
  return found_reply{found, length};
}

std::vector<opening> beanstalk_protocol::sign_in() const {
  if (token_.empty()) return {};
  return {{fmt::format("x-auth {}\r\n", token_), reply_kind::signed_in}};
}

std::vector<opening> beanstalk_protocol::enter(std::string_view tube) const {
  std::vector<opening> all = sign_in();
  all.push_back({fmt::format("use {}\r\n", tube), reply_kind::used});
  all.push_back({fmt::format("watch {}\r\n", tube), reply_kind::watching});
  if (tube != "default") all.push_back({"ignore default\r\n", reply_kind::watching});
  return all;
}

commands beanstalk_protocol::put(std::string_view, std::size_t body) const {
  return {fmt::format("put 0 0 600 {}\r\n{:x<{}}\r\n", body, "", body)};
}

commands beanstalk_protocol::put_many(std::string_view tube, std::size_t jobs, std::size_t body) const {
  const std::string one = put(tube, body).bytes;
  commands all{.count = jobs};
  for (std::size_t i = 0; i < jobs; ++i) all.bytes += one;
  return all;
}

commands beanstalk_protocol::put_delayed(std::string_view, const delayed_put& job) const {
  return {fmt::format("put 0 {} 600 {}\r\n{}\r\n", job.delay, job.body.size(), job.body)};
}

commands beanstalk_protocol::replace(std::string_view, const keyed_put& job, std::size_t body) const {
  return {fmt::format("x-put replace {} 0 {} 600000 {}\r\n{:x<{}}\r\n", job.key, 1000 * job.delay, body, "", body)};
}

commands beanstalk_protocol::replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                          std::size_t body) const {
  commands all{.count = jobs.size()};
  for (const keyed_put& each : jobs) all.bytes += replace(tube, each, body).bytes;
  return all;
}

commands beanstalk_protocol::reserve(std::string_view) const { return {"reserve\r\n"}; }

commands beanstalk_protocol::finish(const reply& reserved) const {
  std::array<char, 40> command{'d', 'e', 'l', 'e', 't', 'e', ' '};
  char* const end = std::to_chars(command.data() + 7, command.data() + command.size() - 2, reserved.number).ptr;
  end[0] = '\r';
  end[1] = '\n';
  return {std::string(command.data(), end + 2)};
}

const client_protocol& plain_beanstalk() noexcept {
  static const beanstalk_protocol only;
  return only;
}

}  // namespace foliot::program::bench

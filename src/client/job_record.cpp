#include <foliot/client/job_record.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/client/reply.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/names.hpp>

namespace foliot::client {

namespace {

std::optional<jobs::job_state> state_of(std::string_view text) {
  if (text == "delayed") return jobs::job_state::delayed;
  if (text == "ready") return jobs::job_state::ready;
  if (text == "reserved") return jobs::job_state::reserved;
  if (text == "buried") return jobs::job_state::buried;
  return std::nullopt;
}

std::optional<unsigned> hexadecimal_digit(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  return std::nullopt;
}

/// The fields of a line, which a server shows in hexadecimal; none if there is no such line.
std::optional<jobs::job_fields> fields_of(std::string_view dictionary, std::string_view key) {
  const std::string digits = dictionary_value(dictionary, key).value_or("");
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    const auto high = hexadecimal_digit(digits[at]);
    const auto low = hexadecimal_digit(digits[at + 1]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>(*high << 4 | *low);
  }
  return jobs::job_fields::parse(bytes);
}

}  // namespace

std::optional<job_record> parse_job(std::string_view dictionary) {
  const auto number = [&](std::string_view key) { return dictionary_number(dictionary, key); };
  const auto id = number("id");
  const auto tube = dictionary_value(dictionary, "tube");
  const auto state = state_of(dictionary_value(dictionary, "state").value_or(""));
  const auto priority = number("pri");
  const auto ttr = number("ttr");
  const auto left = number("time-left");
  const auto releases = number("releases");
  const auto buries = number("buries");
  const auto kicks = number("kicks");
  if (!id || !tube || !state || !priority || !ttr || !left || !releases || !buries || !kicks) return std::nullopt;
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (!jobs::is_tube_name(*tube) || *priority > most || *ttr > most) return std::nullopt;
  job_record job;
  job.id = *id;
  job.tube = *tube;
  job.state = *state;
  job.priority = static_cast<jobs::priority>(*priority);
  job.ttr = std::chrono::seconds(*ttr);
  const auto exact = number("ttr-ms");
  if (exact.value_or(0) > static_cast<std::uint64_t>(jobs::longest_time.count())) return std::nullopt;
  if (exact) job.ttr = jobs::milliseconds(*exact);
  job.seconds_left = *left;
  job.due = number("due-ms");
  job.key = dictionary_value(dictionary, "key").value_or("");
  constexpr std::uint64_t end_of_clock = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  if (job.id > highest_id || job.due.value_or(0) > end_of_clock) return std::nullopt;
  std::optional<jobs::job_fields> fields = fields_of(dictionary, "fields");
  std::optional<jobs::job_fields> history = fields_of(dictionary, "history");
  if (!fields || !history) return std::nullopt;
  job.fields = *std::move(fields);
  job.history = *std::move(history);
  job.counters.releases = static_cast<std::uint32_t>(*releases);
  job.counters.buries = static_cast<std::uint32_t>(*buries);
  job.counters.kicks = static_cast<std::uint32_t>(*kicks);
  return job;
}

}  // namespace foliot::client

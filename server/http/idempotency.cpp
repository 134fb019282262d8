#include "idempotency.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <variant>

#include <fmt/format.h>
#include <foliot/jobs/job_tries.hpp>

#include "inputs.hpp"
#include "job_headers.hpp"
#include "server/access/digest.hpp"
#include "text/failure.hpp"

namespace foliot::program::http {

namespace {

sha256_digest digest_or_refusal(std::string_view text) {
  try {
    return sha256_of(text);
  } catch (const failure&) {
    throw wrong_input(problem{501, "this server was built without OpenSSL, which an Idempotency-Key needs",
                              where::header, std::string(idempotency_field)});
  }
}

std::string_view bytes_of(const jobs::sha256& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool is_visible_in_key(char c) noexcept { return c > ' ' && c < '\x7f'; }

/// The text of a quoted string (a String of RFC 8941); nothing if it is malformed.
std::optional<std::string> unquoted(std::string_view value) {
  if (value.size() < 2 || value.back() != '"') return std::nullopt;
  value = value.substr(1, value.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '"') return std::nullopt;
    if (value[i] == '\\' && (++i == value.size() || (value[i] != '"' && value[i] != '\\'))) return std::nullopt;
    text += value[i];
  }
  return text;
}

}  // namespace

digest_of_parts& digest_of_parts::add(std::string_view part) {
  add(std::uint64_t{part.size()});
  encoding_ += part;
  return *this;
}

digest_of_parts& digest_of_parts::add(std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) encoding_ += static_cast<char>(number >> shift & 0xff);
  return *this;
}

digest_of_parts& digest_of_parts::add_digest_of(std::string_view part) {
  const sha256_digest digest = digest_or_refusal(part);
  encoding_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return *this;
}

jobs::sha256 digest_of_parts::get() const { return std::bit_cast<jobs::sha256>(digest_or_refusal(encoding_)); }

std::optional<std::string> parse_idempotency_key(std::string_view value) {
  std::optional<std::string> text = value.starts_with('"') ? unquoted(value) : std::string(value);
  if (!text || text->empty() || text->size() > longest_idempotency_key) return std::nullopt;
  if (!std::ranges::all_of(*text, is_visible_in_key)) return std::nullopt;
  return text;
}

std::optional<idempotency_key> idempotency_key::of(const request& what, const rights& owner,
                                                   std::initializer_list<std::string_view> resource) {
  const auto given = what.find(idempotency_field);
  if (!given) return std::nullopt;
  const std::optional<std::string> text = parse_idempotency_key(*given);
  if (!text) {
    throw wrong_input(problem{400,
                              fmt::format("Idempotency-Key must be 1 to {} visible characters of ASCII, with or "
                                          "without double quotes around them",
                                          longest_idempotency_key),
                              where::header, std::string(idempotency_field)});
  }
  digest_of_parts parts;
  parts.add(owner.id().empty() ? "listener" : "access").add(owner.id().empty() ? "http" : owner.id());
  parts.add(what.method).add(std::uint64_t{resource.size()});
  for (const std::string_view each : resource) parts.add(each);
  parts.add(*text);
  return idempotency_key(parts.get());
}

jobs::sha256 idempotency_key::at(std::size_t place) const {
  return digest_of_parts().add(bytes_of(digest_)).add(std::uint64_t{place}).get();
}

jobs::sha256 request_digest(const jobs::put& what, std::optional<jobs::milliseconds> expires_in) {
  digest_of_parts parts;
  parts.add("put").add(what.tube).add(what.key);
  parts.add(static_cast<std::uint64_t>(what.existing)).add(what.expected);
  parts.add(std::uint64_t{what.due.index()});
  if (const auto* const delay = std::get_if<jobs::milliseconds>(&what.due)) {
    parts.add(static_cast<std::uint64_t>(delay->count()));
  } else {
    parts.add(static_cast<std::uint64_t>(std::get<jobs::utc_time>(what.due).time_since_epoch().count()));
  }
  parts.add(std::uint64_t{what.priority}).add(static_cast<std::uint64_t>(what.ttr.count()));
  parts.add_digest_of(what.body).add(content_type_of(what.fields));
  for (const auto& [name, value] : headers_of(what.fields)) {
    if (!is_of_trace_context(name)) parts.add(name).add(value);
  }
  // Only where they are there: what has none has the digest that earlier versions made.
  if (const auto group = what.fields.find(jobs::tag_of_group)) parts.add("group").add(*group);
  if (expires_in) {
    parts.add("expires_in").add(static_cast<std::uint64_t>(expires_in->count()));
  } else if (const auto expires = what.fields.find(jobs::tag_of_expiry)) {
    parts.add("expires").add(*expires);
  }
  return parts.get();
}

jobs::sha256 request_digest_of_batch(const json& entries, bool is_atomic) {
  return digest_of_parts().add("batch").add(is_atomic ? 1U : 0U).add_digest_of(json_text(entries)).get();
}

keyed_places::place enter_if_free(keyed_places& under_way, const idempotency_key& key) {
  return under_way.enter(bytes_of(key.digest()));
}

keyed_places::place enter(keyed_places& under_way, const idempotency_key& key) {
  keyed_places::place mine = enter_if_free(under_way, key);
  if (mine) return mine;
  problem wrong{409, "a request with this Idempotency-Key is under way: send it again in a second", where::header,
                std::string(idempotency_field), problem_outcome::under_way};
  wrong.retry_after = std::chrono::seconds(1);
  throw wrong_input(std::move(wrong));
}

problem problem_of_other_request() {
  return {422, "this Idempotency-Key was sent before with another request: nothing was done, use a new one",
          where::header, std::string(idempotency_field), problem_outcome::other_request};
}

void advise_to_repeat(problem& wrong) {
  if (wrong.outcome == problem_outcome::unknown)
    wrong.detail += ": send it again with the same Idempotency-Key, and it happens once";
}

void mark_replayed(response& made) { made.fields.push_back({"Idempotency-Replayed", "true"}); }

}  // namespace foliot::program::http

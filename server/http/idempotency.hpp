// Requests that happen once, however often a client sends them: those with a field `Idempotency-Key`.
//
// A key is 1 to 255 visible characters of ASCII, bare or as the quoted string of
// draft-ietf-httpapi-idempotency-key-header: `k-1` and `"k-1"` are the same key. Two keys are told apart by all of
//   - their owner: the access token or the client certificate, by the id of its entry; without a file of access tokens
//     all clients of HTTP together, at whatever listener and node, for a client may repeat its request at another one;
//   - the method and the resource: `POST` and a tube, `PUT` and a tube and a key, `POST` and the batch or the reserve.
//     It does not matter whether the names travel in the path, the query or the body;
//   - the client's text; and for an entry of a batch its place.
// The store gets their SHA-256, and another one of all that the request asks for, by which it knows another request
// with the same key. Both are made of parts with their lengths in front: no two lists of parts have the same bytes.
// What a request asks for are its values, not its bytes: the order of the members of JSON and the trace context are
// none of them. A change of what goes into a digest makes every repeat that crosses it a new request, or another one.
//
// Thread safety: idempotency_key and digest_of_parts as an int; functions any task.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/once.hpp>
#include <foliot/jobs/operations.hpp>

#include "json.hpp"
#include "message.hpp"
#include "problem.hpp"
#include "server/access/rights.hpp"
#include "server/core/keyed_places.hpp"

namespace foliot::program::http {

inline constexpr std::string_view idempotency_field = "idempotency-key";
inline constexpr std::size_t longest_idempotency_key = 255;
/// How long a put or a batch is remembered.
inline constexpr jobs::milliseconds idempotency_lifetime = std::chrono::hours(24);
/// How long a reserve is remembered. There are many more of them, and stores in this process keep them in memory.
inline constexpr jobs::milliseconds lifetime_of_reserve = std::chrono::hours(1);

/// The SHA-256 of a list of parts. Its functions throw wrong_input (501) if the program was built without OpenSSL.
class digest_of_parts {
 public:
  digest_of_parts& add(std::string_view part);
  digest_of_parts& add(std::uint64_t number);
  /// A part that may be large: its own digest is added, so that it is not copied.
  digest_of_parts& add_digest_of(std::string_view part);
  [[nodiscard]] jobs::sha256 get() const;

 private:
  std::string encoding_;
};

/// The key of a request: its client's text, with all that tells it from the same text elsewhere.
class idempotency_key {
 public:
  /// That of the request; nothing if it has none. Throws wrong_input if it is malformed.
  [[nodiscard]] static std::optional<idempotency_key> of(const request& what, const rights& owner,
                                                         std::initializer_list<std::string_view> resource);

  [[nodiscard]] const jobs::sha256& digest() const noexcept { return digest_; }
  /// The key of the entry at this place.
  [[nodiscard]] jobs::sha256 at(std::size_t place) const;

 private:
  explicit idempotency_key(const jobs::sha256& digest) noexcept : digest_(digest) {}

  jobs::sha256 digest_;
};

/// The client's text in a field; nothing if it is malformed.
[[nodiscard]] std::optional<std::string> parse_idempotency_key(std::string_view value);

/// What a put asks for. `expires_in`: the length that it names in the place of a time, which is another one with each
/// repeat.
[[nodiscard]] jobs::sha256 request_digest(const jobs::put& what,
                                          std::optional<jobs::milliseconds> expires_in = std::nullopt);
/// What a batch asks for, with this array of entries.
[[nodiscard]] jobs::sha256 request_digest_of_batch(const json& entries, bool is_atomic);

/// A place among the requests that are under way at this server, until it is destroyed; none if one with the same key
/// has it.
[[nodiscard]] keyed_places::place enter_if_free(keyed_places& under_way, const idempotency_key& key);
/// The same. Throws wrong_input (409) if there is none: the store would make the second request wait, and the client
/// shall rather do so.
[[nodiscard]] keyed_places::place enter(keyed_places& under_way, const idempotency_key& key);

/// The problem of a request whose key was sent with another one.
[[nodiscard]] problem problem_of_other_request();
/// Says in the problem of a request with a key that a repeat is safe, if it is not known whether the request happened.
void advise_to_repeat(problem& wrong);
/// Marks the answer as that of an earlier request.
void mark_replayed(response& made);

}  // namespace foliot::program::http

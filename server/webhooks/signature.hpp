// The signatures of Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`, by secrets that the sender and the
// receiver share.
//
//   const auto secret = signing_secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
//   signing_secrets all(*secret);
//   all.replace(*next, now + 24h);              // the old secret stays valid for a day, beside the new one
//   const std::string field = all.sign({.id = "msg_1", .timestamp = 1614265330, .body = body}, now);
//
//   verify({.id = id, .timestamp = timestamp, .body = body}, field, all, now) == verdict::genuine
//
// The body is signed as the bytes that are sent. The id stays over all attempts of a message; the timestamp is that of
// the attempt, in seconds since 1970. Public-key signatures (`v1a`) are neither made nor verified: a receiver ignores
// versions that it does not know.
//
// Secrets: the object has the two states of SHA-256 that the key leads to, not the key. They are wiped when the object
// ends. Nothing here prints a secret, and no error text has a part of one.
//
// Thread safety: values; const members from any thread. Signing needs no memory but that of its result.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::webhooks {

/// A time of the wall clock, to the second.
using unix_seconds = std::chrono::sys_seconds;

/// What is signed.
struct signed_message {
  std::string_view id;         ///< see is_message_id()
  std::int64_t timestamp = 0;  ///< of the attempt, in seconds since 1970
  std::string_view body;
};

/// The names of the headers, as they are sent.
inline constexpr std::string_view id_header = "webhook-id";
inline constexpr std::string_view timestamp_header = "webhook-timestamp";
inline constexpr std::string_view signature_header = "webhook-signature";

/// Whether a message can have that id: 1 to 256 visible characters of ASCII, none of them a full stop, which ends it
/// where it is signed.
[[nodiscard]] bool is_message_id(std::string_view id) noexcept;

/// One secret.
class signing_secret {
 public:
  /// What the specification asks for, in bytes; make() gives `made_bytes`.
  static constexpr std::size_t least_bytes = 24;
  static constexpr std::size_t most_bytes = 64;
  static constexpr std::size_t made_bytes = 32;
  /// Secrets of other senders have down to this many bytes.
  static constexpr std::size_t least_imported_bytes = 16;

  /// Reads `whsec_` and the bytes in base64; the prefix may be missing, as in the reference implementations. Returns
  /// what is wrong with the text, without any of it.
  [[nodiscard]] static std::expected<signing_secret, std::string> parse(std::string_view text);
  /// A new secret: its text, which the caller shows once, stores and wipes (wipe() in wiping_allocator.hpp). Throws
  /// std::system_error if the system has no random bytes.
  [[nodiscard]] static std::string make();

  signing_secret(const signing_secret&) noexcept = default;
  signing_secret& operator=(const signing_secret&) noexcept = default;
  ~signing_secret();

  /// Whether it has fewer bytes than the specification asks for: the operator should be warned.
  [[nodiscard]] bool is_short() const noexcept { return size_ < least_bytes; }
  /// The HMAC over `id.timestamp.body`.
  [[nodiscard]] std::array<unsigned char, 32> mac_of(const signed_message& message) const noexcept;

 private:
  /// The eight words of SHA-256 after its first block.
  using midstate = std::array<std::uint32_t, 8>;

  explicit signing_secret(std::string_view key) noexcept;

  midstate inner_{};
  midstate outer_{};
  std::size_t size_ = 0;
};

/// The secrets of a target: the present one, and earlier ones that are valid for a time beside it.
class signing_secrets {
 public:
  /// At most so many secrets are valid at once; one more drops the one that ends first.
  static constexpr std::size_t most = 4;

  explicit signing_secrets(const signing_secret& present) : present_(present) {}

  /// `next` becomes the present secret. The one before it stays valid until `old_until`.
  void replace(const signing_secret& next, unix_seconds old_until);
  /// Drops the secrets whose time is over.
  void forget_old(unix_seconds now) noexcept;

  /// The value of `webhook-signature`: `v1,…` for each secret that is valid now, the present one first, with blanks
  /// between them.
  [[nodiscard]] std::string sign(const signed_message& message, unix_seconds now) const;
  /// The secrets that are valid now, the present one first.
  [[nodiscard]] std::vector<const signing_secret*> valid_at(unix_seconds now) const;
  /// How many secrets are valid now.
  [[nodiscard]] std::size_t count(unix_seconds now) const noexcept;

 private:
  struct old_secret {
    signing_secret secret;
    unix_seconds until;
  };

  signing_secret present_;
  std::vector<old_secret> old_;  // the latest first
};

/// What a look at a signature finds.
enum class verdict : std::uint8_t {
  genuine,
  too_old,    ///< the timestamp is further in the past than the tolerance
  too_new,    ///< the same in the future
  forged,     ///< no signature of the header is that of a valid secret
  malformed,  ///< the id cannot be one, or the header has more than 16 signatures
};

/// How far the timestamp may be from the receiver's clock, as the reference implementations have it.
inline constexpr std::chrono::seconds default_tolerance{300};

/// Verifies a received message. `signatures` is the value of `webhook-signature`. Compares in a time that does not
/// depend on the bytes. O(signatures × secrets).
[[nodiscard]] verdict verify(const signed_message& message, std::string_view signatures, const signing_secrets& secrets,
                             unix_seconds now, std::chrono::seconds tolerance = default_tolerance);

}  // namespace foliot::program::webhooks

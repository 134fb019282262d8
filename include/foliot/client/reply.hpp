// The replies of a beanstalk server, as its client reads them: bytes in, replies out. And what lies in the dictionaries
// and lists of the statistics.
//
// A program that uses a client (job_client.hpp) does not need this header: it is for programs with connections of their
// own.
//
//   reply_reader replies;
//   replies.add(bytes);
//   while (auto reply = replies.next()) …      // reply->word == "RESERVED", reply->number, reply->body
//
// The reader takes the bytes in any pieces and knows no connection. O(bytes) in time; it holds the bytes of one
// incomplete reply, no more of its body than the caller wants, and the bytes that were added after it. A body that is
// wanted gets its memory as a whole when its line is read; the reader keeps at most 64 KiB once all bytes are read.
//
// Thread safety: none, one thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>

namespace foliot::client {

/// A reply of a server. A word of the protocol has the arguments that belong to it.
struct server_reply {
  std::string word;          ///< its first word: INSERTED, NOT_FOUND, …
  std::uint64_t number = 0;  ///< of INSERTED, RESERVED, FOUND, KICKED, …: the id or the count; else 0
  std::string body;          ///< of RESERVED and FOUND the job's, of OK the dictionary or the list; else empty
  std::uint64_t size = 0;    ///< of the body in bytes: `body` is empty if it was not wanted
  std::string name;          ///< of USING the tube, of AUTHENTICATED the id of the token; else empty

  friend bool operator==(const server_reply&, const server_reply&) = default;
};

/// The bytes are no reply of a beanstalk server. The text shows them.
class FOLIOT_EXPORT no_reply : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How many bytes of a reply are wanted.
struct wanted_bytes {
  std::uint64_t of_list = 65'536;  ///< of a dictionary or a list: one that is longer is no reply
  std::uint64_t of_job = 0;        ///< of the body of a job: one that is longer is dropped as it comes
};

/// Reads replies from bytes in any pieces; see the head of this file.
class FOLIOT_EXPORT reply_reader {
 public:
  /// Takes the next bytes of the server.
  void add(std::string_view bytes);
  /// The next reply, or nothing while it is incomplete. `wanted` counts when the line of a reply is read; its body is
  /// read with the same value in later calls. Throws no_reply; the reader cannot be used afterwards.
  [[nodiscard]] std::optional<server_reply> next(const wanted_bytes& wanted = {});
  /// Whether all bytes so far belonged to replies that next() has returned.
  [[nodiscard]] bool is_empty() const noexcept { return !begun_ && begin_ == unread_.size(); }

 private:
  void read_line(const wanted_bytes& wanted);
  std::size_t take_body(std::string_view bytes);
  bool read_body();

  std::string unread_;
  std::size_t begin_ = 0;              // of what is unread, in unread_
  std::optional<server_reply> begun_;  // its line is read, its body is not complete
  bool keeps_body_ = true;
  std::uint64_t body_left_ = 0;  // of the body, still to come
};

/// The value behind `key` in a dictionary, without the quotes of 1.13 and foliot and the backslashes in them; nothing
/// if there is no such line.
[[nodiscard]] FOLIOT_EXPORT std::optional<std::string> dictionary_value(std::string_view dictionary,
                                                                        std::string_view key);
/// The same for a number; nothing also if the value is none.
[[nodiscard]] FOLIOT_EXPORT std::optional<std::uint64_t> dictionary_number(std::string_view dictionary,
                                                                           std::string_view key);
/// The entries of a list.
[[nodiscard]] FOLIOT_EXPORT std::vector<std::string> list_entries(std::string_view list);

}  // namespace foliot::client

// The replies of a beanstalk server, as its client reads them: bytes in, replies out. And what lies in the dictionaries
// and lists of the statistics.
//
//   reply_reader replies;
//   replies.add(bytes);
//   while (auto reply = replies.next()) …      // reply->word == "RESERVED", reply->number, reply->body
//
// The reader takes the bytes in any pieces and knows no connection. O(bytes) in time; it holds the bytes of the one
// reply that is not complete, at most 1 GiB and a line.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::copying {

/// A reply of a server.
struct server_reply {
  std::string word;          ///< its first word: INSERTED, NOT_FOUND, …
  std::uint64_t number = 0;  ///< of INSERTED, RESERVED, FOUND, KICKED, …: the id or the count; else 0
  std::string body;          ///< of RESERVED and FOUND the job's, of OK the dictionary or the list; else empty

  friend bool operator==(const server_reply&, const server_reply&) = default;
};

/// The bytes are no reply of a beanstalk server. The text shows them.
class no_reply : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class reply_reader {
 public:
  /// Takes the next bytes of the server.
  void add(std::string_view bytes);
  /// The next reply; nothing until all of it has been added. Throws no_reply; the reader is of no use afterwards.
  [[nodiscard]] std::optional<server_reply> next();

 private:
  std::string unread_;
  std::size_t begin_ = 0;  // of what is unread, in unread_
};

/// The value behind `key` in a dictionary, without the quotes of 1.13 and foliot and the backslashes in them; nothing
/// if there is no such line.
[[nodiscard]] std::optional<std::string> dictionary_value(std::string_view dictionary, std::string_view key);
/// The same for a number; nothing also if the value is none.
[[nodiscard]] std::optional<std::uint64_t> dictionary_number(std::string_view dictionary, std::string_view key);
/// The entries of a list.
[[nodiscard]] std::vector<std::string> list_entries(std::string_view list);

}  // namespace foliot::program::copying

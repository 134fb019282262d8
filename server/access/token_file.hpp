// The file of access tokens: a text that people can read and edit, with an entry for each access token and for each
// certificate of a client.
//
//   # Comments begin the line.
//   [token 4f7k2m9q]
//   name = billing
//   sha256 = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//   scopes = put look
//   tubes = billing. invoices.
//   ends = 2027-01-01T00:00:00Z
//
//   [certificate workers]
//   name = the workers in the cellar
//   fingerprint = 3A:12:…:FE
//   scopes = reserve
//   tubes = *
//   ends = never
//
// An entry has all five lines, in any order. `sha256` is the digest of the token's text. `tubes` has beginnings of
// names, so that `bill` allows `billing`, too; `*` stands for all tubes. `ends` is a time of RFC 3339. The words of a
// list are separated by spaces or commas.
//
// An empty file has no entry, and so lets nobody in. A file with a mistake has none of its entries.
//
// Thread safety: values, and functions without state. O(bytes of the file).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>

#include "rights.hpp"

namespace foliot::program {

/// An entry of the file.
struct access_entry {
  enum class kind : std::uint8_t { token, certificate };

  kind what = kind::token;
  std::shared_ptr<const rights> given;
  /// Its lines, counted from 1.
  std::size_t first_line = 0;
  std::size_t last_line = 0;
};

/// What a text has.
struct read_tokens {
  std::vector<access_entry> entries;
  /// A sentence for each mistake, with the file and the line.
  std::vector<std::string> mistakes;
};

/// Reads a text. `file` is the name for the sentences.
[[nodiscard]] read_tokens parse_tokens(std::string_view file, std::string_view text);

/// Why a file of tokens cannot be used. Never empty.
class token_file_error : public std::runtime_error {
 public:
  explicit token_file_error(std::vector<std::string> mistakes, bool is_missing = false);
  /// A sentence for each of them.
  [[nodiscard]] const std::vector<std::string>& mistakes() const noexcept { return mistakes_; }
  /// Whether there is no such file.
  [[nodiscard]] bool is_missing() const noexcept { return is_missing_; }

 private:
  std::vector<std::string> mistakes_;
  bool is_missing_;
};

/// What tells one state of a file from another.
struct file_state {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::int64_t size = -1;  ///< -1: there is no such file
  std::int64_t modified = 0;
  std::int64_t changed = 0;

  friend bool operator==(const file_state&, const file_state&) noexcept = default;
};

/// The present state. Never throws: a file that cannot be looked at counts as none.
[[nodiscard]] file_state state_of_file(const std::string& path) noexcept;

struct token_file {
  std::string text;
  std::vector<access_entry> entries;
  /// A sentence if users other than its owner can change it, or others than those of its group can read it; else empty.
  std::string warning;
};

/// The largest file that is read.
inline constexpr std::size_t most_token_file_bytes = std::size_t{16} << 20;

/// Reads a file. Throws token_file_error, and std::bad_alloc.
[[nodiscard]] token_file read_token_file(const std::string& path);

/// The lines of an entry.
[[nodiscard]] std::string text_of(const access_entry& entry);
/// The text with another entry at its end.
[[nodiscard]] std::string with_entry(std::string text, const access_entry& added);
/// The text without the lines of this entry, and without the empty ones behind it. All others stay as they are.
[[nodiscard]] std::string without_entry(std::string_view text, const access_entry& removed);

/// What is wrong with the words of such a line, as a sentence; empty: nothing.
[[nodiscard]] std::string read_scopes(std::string_view words, scope_set& into);
[[nodiscard]] std::string read_prefixes(std::string_view words, std::vector<std::string>& into);
[[nodiscard]] std::string read_end(std::string_view word, instant& into);
[[nodiscard]] std::string read_name(std::string_view text, std::string& into);

}  // namespace foliot::program

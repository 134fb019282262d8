// The file of access tokens, on the command line: server/access/token_file.hpp.
//
// The file is changed as a whole: other programs see the old one or the new one, which has reached the disk when a
// command returns. Two commands at once wait for each other. Only the file's owner can use it.
//
// Thread safety: none, one thread.
#pragma once

#include <string>
#include <vector>

namespace foliot::program {

struct token_options {
  std::string file;
  std::string name;
  std::string scopes;
  std::string tubes = "*";
  std::string ends;         ///< a time, a duration from now, or never
  std::string fingerprint;  ///< of a certificate, for which the entry is; empty: for a new access token
};

/// Adds an entry, and prints the access token, or the id of the entry of a certificate. The file is made if it is
/// missing. Throws failure.
void make_token(const token_options& options);

/// Prints the entries, without digests. Throws failure.
void list_tokens(const std::string& file);

/// Takes the entries with these ids out of the file: all of them, or none. Throws failure.
void revoke_tokens(const std::string& file, const std::vector<std::string>& ids);

}  // namespace foliot::program

// The files of a server's TLS, and whether they have changed. Symbolic links are followed, also those of folders on the
// way: where one is swapped, as certbot and Kubernetes do it, the path leads to another file, and that is a change.
//
//   const tls_files_state before = state_of(files);
//   …
//   if (state_of(files) != before) …                      // another file, another length, or written to
//
// Thread safety: any thread. Cost: a system call for each file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace foliot::program {

/// The paths. All texts in the files are PEM.
struct tls_files {
  /// The server's certificate, followed by those of the authorities between it and a root. Empty: there is no TLS.
  std::string certificate;
  /// The certificate's key. Empty: it is in the file of the certificate.
  std::string key;
  /// The authorities that sign the certificates of clients. Empty: clients are not asked for certificates.
  std::string client_authorities;

  [[nodiscard]] bool is_none() const noexcept { return certificate.empty(); }
  /// The path of the file with the key.
  [[nodiscard]] const std::string& of_key() const noexcept { return key.empty() ? certificate : key; }
  /// Those that are named.
  [[nodiscard]] std::vector<std::string> all() const;
};

/// What the system tells of the files. Equal: nobody has changed one of them meanwhile.
struct tls_files_state {
  /// Of one file: the error of the call, the device, the number on it, the length, and the nanoseconds since 1970 at
  /// which the text, and anything of the file, was changed last.
  using file = std::array<std::int64_t, 6>;

  std::vector<file> all;

  [[nodiscard]] bool operator==(const tls_files_state&) const = default;
};

/// Throws std::bad_alloc. A file that is missing has a state, too.
[[nodiscard]] tls_files_state state_of(const tls_files& files);

/// A sentence on why the file cannot be read as text in PEM; empty if it can be. A file that is no regular one, and one
/// of more than 1 MiB, could keep the reader for ever.
[[nodiscard]] std::string why_unreadable(const std::string& path);

}  // namespace foliot::program

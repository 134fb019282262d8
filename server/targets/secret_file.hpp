// The secrets by which deliveries are signed: the operator's file of them, which a running server reads again when it
// has changed.
//
//   # Comments begin the line.
//   [secret billing]
//   present = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw…
//   previous = whsec_…                      valid beside it
//   previous_until = 2027-01-01T00:00:00Z   until then; without it for as long as it stands here
//
// While there is a previous secret, each delivery has two signatures, so receivers change to the present one when they
// like. A new secret is 24 to 64 random bytes in base64 behind `whsec_`; 32 are advised.
//
// The file must be its owner's alone (chmod 600): a file that its group or others can read is refused. It is looked at
// four times a second, and read when it is another one than before and has stayed as it is between two looks. If it
// cannot be read then, or has a mistake, the secrets stay as they were, and the log says why, once for each state of
// it. No text of a secret is kept, logged or told: only the states of SHA-256 to which it leads (signature.hpp).
//
// Thread safety: watch() is one task; the others, any thread.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/task.hpp>

#include "server/access/token_file.hpp"
#include "server/core/server_log.hpp"
#include "server/webhooks/signature.hpp"

namespace foliot::program {

using named_secrets = std::map<std::string, std::shared_ptr<const webhooks::signing_secrets>, std::less<>>;

/// The secrets of a text, or a sentence for each mistake, none of which has a part of a secret. `file`: its name there.
[[nodiscard]] std::expected<named_secrets, std::vector<std::string>> parse_secrets(std::string_view file,
                                                                                   std::string_view text);

class secret_file {
 public:
  static constexpr duration between_looks = duration::nanoseconds(250'000'000);
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;

  /// Reads the file. Throws failure if that is not possible or it has a mistake.
  secret_file(std::string path, const server_log& log);
  secret_file(const secret_file&) = delete;
  secret_file& operator=(const secret_file&) = delete;

  /// Null if there is no such secret.
  [[nodiscard]] std::shared_ptr<const webhooks::signing_secrets> find(std::string_view name) const;
  /// Another number whenever the secrets are others.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(seam::relaxed); }
  /// With the next look the file is read again, whether it has changed or not.
  void read_again() noexcept { is_asked_.store(true, seam::relaxed); }
  /// Looks at the file again and again, until it is destroyed.
  [[nodiscard]] task<> watch();

 private:
  void read(const file_state& now);
  void take(named_secrets secrets);

  const std::string path_;
  const server_log& log_;
  mutable mutex lock_{lock_rank::object};
  named_secrets secrets_ FOLIOT_GUARDED_BY(lock_);
  // Neither orders anything.
  seam::atomic<std::uint64_t> version_{1};
  seam::atomic<bool> is_asked_{false};
  // Of the task of watch().
  file_state read_;
  file_state seen_;
};

}  // namespace foliot::program

// The file of access tokens of a running server: who has access by it, and that it is read again when it has changed or
// somebody asks for it.
//
// The file is looked at four times a second, and read when it is another one than before and has stayed as it is
// between two looks: so an editor that writes it piece by piece is not read in the middle. If it cannot be read, or has
// a mistake, everybody keeps the access they have, until the file is right again; then is_good() is false, and the log
// says why, once for each state of the file.
//
//   watched_tokens tokens(path, log);                     // or throws failure
//   runtime::spawn(tokens.watch(), "watches the access tokens");
//   … tokens.who().of_token(text) …
//
// Thread safety: watch() is one task; the others, any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/task.hpp>

#include "authority.hpp"
#include "failed_attempts.hpp"
#include "server/core/server_log.hpp"
#include "token_file.hpp"

namespace foliot::program {

class watched_tokens {
 public:
  /// The time between two looks at the file.
  static constexpr duration between_looks = duration::nanoseconds(250'000'000);

  /// Reads the file. Throws failure if that is not possible or the file has a mistake; the log gets a sentence for
  /// each. `wall` is the clock by which tokens end, `monotonic` that of failed attempts.
  watched_tokens(std::string path, const server_log& log, const clock& wall = wall_clock::instance(),
                 const clock& monotonic = monotonic_clock::instance());
  watched_tokens(const watched_tokens&) = delete;
  watched_tokens& operator=(const watched_tokens&) = delete;

  [[nodiscard]] authority& who() noexcept { return *who_; }
  [[nodiscard]] failed_attempts& attempts() noexcept { return attempts_; }
  /// Whether the file that was read last was right.
  [[nodiscard]] bool is_good() const noexcept { return is_good_.load(seam::relaxed); }

  /// With the next look the file is read again, whether it has changed or not.
  void read_again() noexcept { is_asked_.store(true, seam::relaxed); }
  /// Looks at the file again and again, and tells those whose rights have ended. Goes on where memory is missing, or
  /// ends the process. Until it is destroyed.
  [[nodiscard]] task<> watch();
  /// One look.
  [[nodiscard]] task<> look();

 private:
  void read(const file_state& now);
  void say_mistakes(const token_file_error& error) const;

  const std::string path_;
  const server_log& log_;
  std::optional<authority> who_;
  failed_attempts attempts_;
  // Neither orders anything.
  seam::atomic<bool> is_good_{true};
  seam::atomic<bool> is_asked_{false};
  // Of the task of watch().
  file_state read_;  // when the file was read last, or was found to be wrong
  file_state seen_;  // at the last look
};

}  // namespace foliot::program

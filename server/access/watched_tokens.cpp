#include "watched_tokens.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "server/core/process_end.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

/// A file with more mistakes is probably another one.
constexpr std::size_t most_mistakes_told = 20;

std::string counted(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

}  // namespace

watched_tokens::watched_tokens(std::string path, const server_log& log, const clock& wall, const clock& monotonic)
    : path_(std::move(path)), log_(log), attempts_(monotonic), read_(state_of_file(path_)), seen_(read_) {
  try {
    token_file file = read_token_file(path_);
    if (!file.warning.empty()) log_.warning(file.warning);
    log_.info(fmt::format(
        "access tokens are in {}: {}", path_,
        file.entries.empty() ? "it is empty, so nobody has access" : counted(file.entries.size(), "entry", "entries")));
    who_.emplace(std::move(file.entries), wall, [&log](std::string_view change) { log.audit(change); });
  } catch (const token_file_error& error) {
    if (error.mistakes().size() > 1) say_mistakes(error);
    const std::string how =
        error.is_missing()
            ? fmt::format("; make it: foliot token make '{}' --name NAME --scopes SCOPES --ends WHEN", path_)
            : std::string();
    throw failure(fmt::format("--tokens: {}{}", error.what(), how));
  }
}

void watched_tokens::say_mistakes(const token_file_error& error) const {
  const std::vector<std::string>& all = error.mistakes();
  for (std::size_t i = 0; i < std::min(all.size(), most_mistakes_told); ++i) log_.warning(all[i]);
  if (all.size() > most_mistakes_told) {
    log_.warning(fmt::format("{} more in {}", counted(all.size() - most_mistakes_told, "mistake", "mistakes"), path_));
  }
}

task<> watched_tokens::watch() {
  shortage lacking;
  for (;;) {
    try {
      co_await runtime::sleep(between_looks);
      co_await look();
      lacking.end();
    } catch (const std::bad_alloc&) {
      lacking.note();
    } catch (const std::system_error& error) {  // no thread to read with
      log_.warning("--tokens", fmt::format("cannot look at the access tokens: {}", error.code().message()));
    }
  }
}

task<> watched_tokens::look() {
  who_->end_expired();
  const file_state now = state_of_file(path_);
  const bool is_settled = now == std::exchange(seen_, now);
  const bool is_asked = is_asked_.exchange(false, seam::relaxed);
  if (!is_asked && (now == read_ || !is_settled)) co_return;
  auto reading = [this, &now] { read(now); };
  co_await runtime::blocking(reading);
}

void watched_tokens::read(const file_state& now) {
  try {
    token_file file = read_token_file(path_);
    if (state_of_file(path_) != now) return;  // it is being written; the next looks will tell
    const std::size_t entries = file.entries.size();
    const std::size_t ended = who_->replace(std::move(file.entries));
    read_ = now;
    is_good_.store(true, seam::relaxed);
    log_.info(fmt::format("the access tokens were read again: {}; the rights of {} have ended",
                          counted(entries, "entry", "entries"), counted(ended, "connection", "connections")));
    if (!file.warning.empty()) log_.warning(file.warning);
  } catch (const token_file_error& error) {
    if (state_of_file(path_) != now) return;
    read_ = now;
    is_good_.store(false, seam::relaxed);
    say_mistakes(error);
    log_.warning(fmt::format("the access tokens stay as they were, until {} is right", path_));
  }
}

}  // namespace foliot::program

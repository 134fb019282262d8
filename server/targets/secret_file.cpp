#include "secret_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "server/core/wiping_allocator.hpp"
#include "server/http/times.hpp"
#include "target_plan.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

std::string_view without_blanks(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Reads the lines of a file of secrets.
class secret_reader {
 public:
  explicit secret_reader(std::string_view file) : file_(file) {}

  void read(std::string_view line) {
    ++line_;
    line = without_blanks(line);
    if (line.empty() || line.front() == '#') return;
    if (line.front() == '[') return begin(line);
    const std::size_t equals = line.find('=');
    // The line is not shown: it may be a secret.
    if (equals == std::string_view::npos)
      return complain("this is neither `[secret NAME]` nor `present = whsec_…` nor a comment");
    const std::string_view key = without_blanks(line.substr(0, equals));
    const std::string_view value = without_blanks(line.substr(equals + 1));
    if (name_.empty()) return complain("this line belongs to no secret: `[secret NAME]` comes first");
    if (key == "present") return read_secret(key, value, present_);
    if (key == "previous") return read_secret(key, value, previous_);
    if (key == "previous_until") return read_until(value);
    complain("a secret has `present`, `previous` and `previous_until`, and nothing else");
  }
  [[nodiscard]] std::expected<named_secrets, std::vector<std::string>> end() {
    finish();
    if (!mistakes_.empty()) return std::unexpected(std::move(mistakes_));
    return std::move(secrets_);
  }

 private:
  void complain(std::string_view what) { mistakes_.push_back(fmt::format("{}:{}: {}", file_, line_, what)); }
  void begin(std::string_view line) {
    finish();
    constexpr std::string_view head = "[secret ";
    if (!line.starts_with(head) || !line.ends_with(']')) return complain("an entry begins with `[secret NAME]`");
    const std::string_view name = without_blanks(line.substr(head.size(), line.size() - head.size() - 1));
    if (!is_secret_name(name)) return complain(fmt::format("the name of a secret has {}", form_of_secret_names));
    if (secrets_.contains(name)) return complain(fmt::format("there are two secrets '{}'", name));
    name_ = name;
  }
  void read_secret(std::string_view key, std::string_view value, std::optional<webhooks::signing_secret>& into) {
    if (into) return complain(fmt::format("`{}` is there twice", key));
    auto read = webhooks::signing_secret::parse(value);
    if (!read) return complain(fmt::format("`{}`: {}", key, read.error()));
    into = *read;
  }
  void read_until(std::string_view value) {
    until_ = http::parse_time(value);
    if (!until_) complain("`previous_until` must be a time such as 2027-01-01T00:00:00Z");
  }
  void finish() {
    const std::string name = std::exchange(name_, {});
    const auto present = std::exchange(present_, std::nullopt);
    const auto previous = std::exchange(previous_, std::nullopt);
    const auto until = std::exchange(until_, std::nullopt);
    if (name.empty()) return;
    if (!present) return complain(fmt::format("the secret '{}' before this line has no `present`", name));
    if (until && !previous) return complain(fmt::format("'{}' has `previous_until`, and no `previous`", name));
    auto made = std::make_shared<webhooks::signing_secrets>(previous ? *previous : *present);
    if (previous)
      made->replace(*present, until ? std::chrono::floor<std::chrono::seconds>(*until) : webhooks::unix_seconds::max());
    secrets_.emplace(name, std::move(made));
  }

  const std::string_view file_;
  std::size_t line_ = 0;
  std::string name_;
  std::optional<webhooks::signing_secret> present_;
  std::optional<webhooks::signing_secret> previous_;
  std::optional<jobs::utc_time> until_;
  named_secrets secrets_;
  std::vector<std::string> mistakes_;
};

using read_secrets_result = std::expected<named_secrets, std::vector<std::string>>;

read_secrets_result cannot_read_secrets(const std::string& path, std::string_view why) {
  return std::unexpected(std::vector{fmt::format("the webhook secrets cannot be read from '{}': {}", path, why)});
}

/// Reads an open file, whose text is wiped behind.
read_secrets_result read_open_secrets(int descriptor, const std::string& path) {
  struct stat seen{};
  if (::fstat(descriptor, &seen) != 0) return cannot_read_secrets(path, std::generic_category().message(errno));
  if (!S_ISREG(seen.st_mode)) return cannot_read_secrets(path, "it is no file");
  if ((seen.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return cannot_read_secrets(path, fmt::format("others than its owner can use it: chmod 600 '{}'", path));
  wiped_string text;
  struct wiped_piece {
    std::array<char, 4096> bytes{};
    wiped_piece() = default;
    wiped_piece(const wiped_piece&) = delete;
    wiped_piece& operator=(const wiped_piece&) = delete;
    ~wiped_piece() { wipe(bytes); }
  };
  wiped_piece piece;
  for (;;) {
    const auto got = ::read(descriptor, piece.bytes.data(), piece.bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read_secrets(path, std::generic_category().message(errno));
    if (got == 0) break;
    text.append(piece.bytes.data(), static_cast<std::size_t>(got));
    if (text.size() > secret_file::most_bytes) return cannot_read_secrets(path, "it is larger than 1 MiB");
  }
  return parse_secrets(path, text);
}

read_secrets_result read_secret_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return cannot_read_secrets(path, std::generic_category().message(errno));
  read_secrets_result read = read_open_secrets(descriptor, path);
  ::close(descriptor);
  return read;
}

}  // namespace

std::expected<named_secrets, std::vector<std::string>> parse_secrets(std::string_view file, std::string_view text) {
  secret_reader reader(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.end();
}

secret_file::secret_file(std::string path, const server_log& log)
    : path_(std::move(path)), log_(log), read_(state_of_file(path_)), seen_(read_) {
  auto read = read_secret_file(path_);
  if (!read) throw failure(fmt::format("--webhook-secrets: {}", read.error().front()));
  log_.info(fmt::format("webhook secrets are in {}: {}", path_, read->size()));
  take(std::move(*read));
}

void secret_file::take(named_secrets secrets) {
  {
    const lock held(lock_);
    secrets_ = std::move(secrets);
  }
  version_.fetch_add(1, seam::relaxed);
}

std::shared_ptr<const webhooks::signing_secrets> secret_file::find(std::string_view name) const {
  const lock held(lock_);
  const auto found = secrets_.find(name);
  return found == secrets_.end() ? nullptr : found->second;
}

void secret_file::read(const file_state& now) {
  auto read = read_secret_file(path_);
  if (state_of_file(path_) != now) return;  // it is being written; the next looks will tell
  read_ = now;
  if (!read) {
    for (const std::string& each : read.error()) log_.warning(each);
    return log_.warning(fmt::format("the webhook secrets stay as they were, until {} is right", path_));
  }
  log_.info(fmt::format("the webhook secrets were read again: {}", read->size()));
  take(std::move(*read));
}

task<> secret_file::watch() {
  for (;;) {
    co_await runtime::sleep(between_looks);
    try {
      const file_state now = state_of_file(path_);
      const bool is_settled = now == std::exchange(seen_, now);
      const bool is_asked = is_asked_.exchange(false, seam::relaxed);
      if (!is_asked && (now == read_ || !is_settled)) continue;
      auto reading = [this, &now] { read(now); };
      co_await runtime::blocking(reading);
    } catch (const std::bad_alloc&) {
      // With the next look.
    } catch (const std::system_error&) {
      // No thread to read with: with the next look.
    }
  }
}

}  // namespace foliot::program

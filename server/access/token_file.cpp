#include "token_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <foliot/jobs/limits.hpp>

#include "access_token.hpp"
#include "server/core/tube_name.hpp"
#include "text/printable.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t longest_name = 100;
constexpr std::size_t longest_certificate_id = 32;
constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// The words of a list.
std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view between = " \t\r\n,";
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(between); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(between, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(between, end);
  }
  return words;
}

bool is_id_of(access_entry::kind what, std::string_view id) noexcept {
  if (what == access_entry::kind::token) return access_token::is_id(id);
  const auto fits = [](char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-'; };
  return !id.empty() && id.size() <= longest_certificate_id && std::ranges::all_of(id, fits);
}

std::string_view name_of(access_entry::kind what) noexcept {
  return what == access_entry::kind::token ? "token" : "certificate";
}

std::string_view digest_key(access_entry::kind what) noexcept {
  return what == access_entry::kind::token ? "sha256" : "fingerprint";
}

/// Reads the lines of a text one by one.
class token_reader {
 public:
  explicit token_reader(std::string_view file) noexcept : file_(file) {}

  void read(std::string_view line);
  [[nodiscard]] read_tokens end();

 private:
  /// An entry whose lines are being read.
  struct begun_entry {
    access_entry entry;
    std::string id;
    std::string name;
    sha256_digest digest{};
    scope_set scopes;
    std::vector<std::string> prefixes;
    instant ends = instant::never();
    std::vector<std::string_view> keys;  // that it has, of the constants
    bool is_right = true;
  };

  void begin_entry(std::string_view heading);
  void read_value(std::string_view key, std::string_view value);
  [[nodiscard]] std::string take(begun_entry& into, std::string_view key, std::string_view value) const;
  void end_entry();
  void say(std::size_t line, std::string_view sentence) {
    found_.mistakes.push_back(fmt::format("{}:{}: {}", printable(file_), line, sentence));
  }

  const std::string_view file_;
  read_tokens found_;
  std::optional<begun_entry> begun_;
  bool skips_ = false;  // the lines of an entry whose heading is wrong
  std::size_t line_ = 0;
  std::map<std::string, std::size_t, std::less<>> ids_;  // and the lines that have them
  std::map<sha256_digest, std::size_t> tokens_;          // the same
  std::map<sha256_digest, std::size_t> certificates_;
};

constexpr std::array<std::string_view, 4> keys_of_all{"name", "scopes", "tubes", "ends"};

void token_reader::read(std::string_view line) {
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  line = trimmed(line);
  if (line.empty() || line.starts_with('#')) return;
  if (line.starts_with('[')) {
    end_entry();
    return begin_entry(line);
  }
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return say(line_, "this is neither a comment nor [token ID], [certificate ID] or 'key = value'");
  }
  read_value(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
}

void token_reader::begin_entry(std::string_view heading) {
  using enum access_entry::kind;
  skips_ = true;
  const std::vector<std::string_view> words =
      heading.ends_with(']') ? words_of(heading.substr(1, heading.size() - 2)) : std::vector<std::string_view>();
  if (words.size() != 2 || (words[0] != "token" && words[0] != "certificate")) {
    return say(line_, "an entry begins with [token ID] or [certificate ID]");
  }
  begun_entry made;
  made.entry.what = words[0] == "token" ? token : certificate;
  if (!is_id_of(made.entry.what, words[1])) {
    return say(line_, fmt::format("'{}' is not the id of a {}: {}", printable(words[1]), words[0],
                                  made.entry.what == token
                                      ? "8 letters from a to z and digits, as they stand in the token behind foliot_"
                                      : "1 to 32 letters from a to z, digits and -"));
  }
  made.id = words[1];
  if (const auto [there, is_new] = ids_.try_emplace(made.id, line_); !is_new) {
    return say(line_, fmt::format("the id '{}' is taken by the entry in line {}", words[1], there->second));
  }
  made.entry.first_line = made.entry.last_line = line_;
  begun_ = std::move(made);
  skips_ = false;
}

void token_reader::read_value(std::string_view key, std::string_view value) {
  if (skips_) return;
  if (!begun_) return say(line_, "before this line there must be [token ID] or [certificate ID]");
  begun_->entry.last_line = line_;
  const std::string_view digest = digest_key(begun_->entry.what);
  const auto known = std::ranges::find(keys_of_all, key);
  const std::string_view constant = known != keys_of_all.end() ? *known : digest;
  if (known == keys_of_all.end() && key != digest) {
    begun_->is_right = false;
    return say(line_, fmt::format("a {} has no '{}': its lines are name, {}, scopes, tubes and ends",
                                  name_of(begun_->entry.what), printable(key), digest));
  }
  const bool is_new = std::ranges::find(begun_->keys, constant) == begun_->keys.end();
  const std::string wrong = is_new ? take(*begun_, constant, value) : fmt::format("a second '{}'", constant);
  if (is_new) begun_->keys.push_back(constant);
  if (wrong.empty()) return;
  begun_->is_right = false;
  say(line_, wrong);
}

std::string token_reader::take(begun_entry& into, std::string_view key, std::string_view value) const {
  if (key == "name") return read_name(value, into.name);
  if (key == "scopes") return read_scopes(value, into.scopes);
  if (key == "tubes") return read_prefixes(value, into.prefixes);
  if (key == "ends") return read_end(value, into.ends);
  const auto read = parse_digest(value);
  if (!read) return fmt::format("{} needs 64 hexadecimal digits", key);
  into.digest = *read;
  return {};
}

void token_reader::end_entry() {
  if (!begun_) return;
  begun_entry ended = std::move(*begun_);
  begun_.reset();
  std::vector<std::string_view> missing;
  const auto need = [&](std::string_view key) {
    if (std::ranges::find(ended.keys, key) == ended.keys.end()) missing.push_back(key);
  };
  need(digest_key(ended.entry.what));
  for (const std::string_view each : keys_of_all) need(each);
  for (const std::string_view each : missing) {
    say(ended.entry.first_line,
        fmt::format("the {} '{}' has no line '{} = …'", name_of(ended.entry.what), ended.id, each));
  }
  if (!missing.empty() || !ended.is_right) return;
  auto& digests = ended.entry.what == access_entry::kind::token ? tokens_ : certificates_;
  if (const auto [there, is_new] = digests.try_emplace(ended.digest, ended.entry.first_line); !is_new) {
    return say(ended.entry.first_line,
               fmt::format("the {} '{}' has the same {} as the entry in line {}", name_of(ended.entry.what), ended.id,
                           digest_key(ended.entry.what), there->second));
  }
  ended.entry.given = std::make_shared<const rights>(std::move(ended.id), std::move(ended.name), ended.scopes,
                                                     std::move(ended.prefixes), ended.ends, ended.digest);
  found_.entries.push_back(std::move(ended.entry));
}

read_tokens token_reader::end() {
  end_entry();
  if (!found_.mistakes.empty()) found_.entries.clear();
  return std::move(found_);
}

std::int64_t nanoseconds_of(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

file_state state_of(const struct stat& seen) noexcept {
  return {seen.st_dev, seen.st_ino, seen.st_size, nanoseconds_of(seen.st_mtim), nanoseconds_of(seen.st_ctim)};
}

[[noreturn]] void refuse(std::string sentence, bool is_missing = false) {
  std::vector<std::string> only;
  only.push_back(std::move(sentence));
  throw token_file_error(std::move(only), is_missing);
}

[[noreturn]] void refuse(const std::string& path, int error) {
  refuse(fmt::format("cannot read '{}': {}", path, std::generic_category().message(error)), error == ENOENT);
}

/// A descriptor that is closed at the end.
class open_file {
 public:
  explicit open_file(const std::string& path) noexcept
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
};

std::string text_in(const open_file& file, const std::string& path) {
  std::string text;
  std::array<char, 65'536> piece{};
  for (;;) {
    const auto got = ::read(file.descriptor(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > most_token_file_bytes) {
      refuse(fmt::format("'{}' has more than {} bytes, too many for a file of access tokens", path,
                         most_token_file_bytes));
    }
  }
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

}  // namespace

token_file_error::token_file_error(std::vector<std::string> mistakes, bool is_missing)
    : std::runtime_error(mistakes.size() == 1 ? mistakes.front()
                                              : fmt::format("{} (and {} more)", mistakes.front(), mistakes.size() - 1)),
      mistakes_(std::move(mistakes)),
      is_missing_(is_missing) {}

read_tokens parse_tokens(std::string_view file, std::string_view text) {
  token_reader reader(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.end();
}

std::string read_scopes(std::string_view words, scope_set& into) {
  into = scope_set();
  for (const std::string_view each : words_of(words)) {
    const auto known = scope_named(each);
    if (!known) {
      return fmt::format("'{}' is not a scope: write some of put, reserve, look, change and administer",
                         printable(each));
    }
    into.add(*known);
  }
  return into.is_empty() ? "no scope: write some of put, reserve, look, change and administer" : std::string();
}

std::string read_prefixes(std::string_view words, std::vector<std::string>& into) {
  into.clear();
  for (const std::string_view each : words_of(words)) {
    if (each == "*") {
      into.emplace_back();
    } else if (each.find('*') != std::string_view::npos) {
      return fmt::format("'{}' has a *: a beginning of names of tubes stands without it, and * alone for all tubes",
                         printable(each));
    } else if (each.size() > jobs::longest_tube_name) {
      return fmt::format("a name of a tube with {} bytes: it has at most {}", each.size(), jobs::longest_tube_name);
    } else if (!is_tube_name(each)) {
      return fmt::format("no name of a tube begins with '{}': it must have {}", printable(each), rule_of_tube_names);
    } else {
      into.emplace_back(each);
    }
  }
  return into.empty() ? "no tube: write beginnings of names of tubes, or * for all tubes" : std::string();
}

std::string read_end(std::string_view word, instant& into) {
  into = instant::never();
  if (word == "never") return {};
  const auto read = parse_iso_time(word);
  if (!read) {
    return fmt::format("'{}' is not a time: write one such as 2027-01-01T00:00:00Z, or never", printable(word));
  }
  into = *read;
  return {};
}

std::string read_name(std::string_view text, std::string& into) {
  if (text.empty()) return "no name: say whose this is, and what for";
  if (text.size() > longest_name) {
    return fmt::format("a name of {} bytes: it has at most {}", text.size(), longest_name);
  }
  if (printable(text) != text || trimmed(text) != text) {
    return "the name has control characters, or is not UTF-8, or has spaces at an end";
  }
  into = text;
  return {};
}

file_state state_of_file(const std::string& path) noexcept {
  struct stat seen{};
  return ::stat(path.c_str(), &seen) == 0 ? state_of(seen) : file_state();
}

token_file read_token_file(const std::string& path) {
  const open_file file(path);
  if (file.descriptor() < 0) refuse(path, errno);
  struct stat seen{};
  if (::fstat(file.descriptor(), &seen) != 0) refuse(path, errno);
  if (!S_ISREG(seen.st_mode)) refuse(fmt::format("'{}' is not a file of access tokens", path));
  token_file found;
  found.text = text_in(file, path);
  read_tokens read = parse_tokens(path, found.text);
  if (!read.mistakes.empty()) throw token_file_error(std::move(read.mistakes));
  found.entries = std::move(read.entries);
  constexpr unsigned others = S_IWGRP | S_IXGRP | S_IRWXO;  // its group may read it: the server may be one of that
  if ((seen.st_mode & others) != 0) {
    found.warning = fmt::format("others than its owner can use '{}': chmod 600 '{}'", path, path);
  }
  return found;
}

std::string text_of(const access_entry& entry) {
  const rights& given = *entry.given;
  std::string scopes;
  for (const named_scope& each : all_scopes) {
    if (!given.may(each.what)) continue;
    if (!scopes.empty()) scopes += ' ';
    scopes += each.name;
  }
  std::string ends = "never";
  if (!given.ends().is_never()) {
    ends.clear();
    append_iso_time(ends, given.ends());
  }
  return fmt::format("[{} {}]\nname = {}\n{} = {}\nscopes = {}\ntubes = {}\nends = {}\n", name_of(entry.what),
                     given.id(), given.name(), digest_key(entry.what), hexadecimal(given.proof()), scopes,
                     given.has_all_tubes() ? "*" : joined(given.prefixes()), ends);
}

std::string with_entry(std::string text, const access_entry& added) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (!text.empty()) text += '\n';
  return text + text_of(added);
}

std::string without_entry(std::string_view text, const access_entry& removed) {
  std::string kept;
  bool is_behind = false;  // of the entry, and no other line has come since
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end);
    const bool is_removed = removed.first_line <= line && line <= removed.last_line;
    const bool is_empty = one.find_first_not_of(" \t\r\n") == std::string_view::npos;
    is_behind = is_removed || (is_behind && is_empty);
    if (!is_behind) kept += one;
  }
  return kept;
}

}  // namespace foliot::program

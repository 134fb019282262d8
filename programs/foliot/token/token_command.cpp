// The file of access tokens, on the command line: server/access/token_file.hpp.
//
// The file is changed as a whole: other programs see the old one or the new one, which has reached the disk when a
// command returns. Two commands at once wait for each other. Only the file's owner can use it.
//
// Thread safety: none, one thread.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "server/access/access_token.hpp"
#include "server/access/token_file.hpp"
#include "temporary_file.hpp"
#include "text/duration_text.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

struct token_options {
  std::string file;
  std::string name;
  std::string scopes;
  std::string tubes = "*";
  std::string ends;         ///< a time, a duration from now, or never
  std::string fingerprint;  ///< of a certificate, for which the entry is; empty: for a new access token
};

/// The folder of the file, which other commands that change the file leave alone meanwhile.
class locked_folder {
 public:
  explicit locked_folder(const std::string& name)
      : name_(name), descriptor_(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw system_failure("open the folder", name_, errno);
    while (::flock(descriptor_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      ::close(descriptor_);
      throw system_failure("lock the folder", name_, error);
    }
  }
  ~locked_folder() { ::close(descriptor_); }
  locked_folder(const locked_folder&) = delete;
  locked_folder& operator=(const locked_folder&) = delete;

  /// Has the names of its files reach the disk.
  void sync() const {
    if (::fsync(descriptor_) != 0) throw system_failure("write", name_, errno);
  }

 private:
  const std::string name_;
  const int descriptor_;
};

/// Where the file is, or is to be: not a link to it, which would be replaced by a file.
std::string place_of(const std::string& file) {
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(file, error);
  return error ? file : place.string();
}

void write_all(int to, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const auto written = ::write(to, text.data(), text.size());
    if (written < 0 && errno != EINTR) throw system_failure("write", name, errno);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Puts the text in the place of the file, for its owner alone, and for its group if that may read the present one.
void replace(const std::string& place, std::string_view text, const locked_folder& in) {
  ::mode_t mode = 0600;
  temporary_file next(place);
  struct stat before{};
  if (::stat(place.c_str(), &before) == 0) {
    // The file belongs to the user of the server, also if root changes it; or the server reads it as one of its group.
    const bool keeps_group = ::fchown(next.descriptor(), before.st_uid, before.st_gid) == 0;
    if (keeps_group) mode |= before.st_mode & S_IRGRP;
  }
  if (::fchmod(next.descriptor(), mode) != 0) throw system_failure("write", place, errno);
  write_all(next.descriptor(), text, place);
  if (::fsync(next.descriptor()) != 0) throw system_failure("write", place, errno);
  next.publish();
  in.sync();
}

/// The file; an empty one if it is missing and may be.
token_file read(const std::string& place, bool may_be_missing) {
  try {
    return read_token_file(place);
  } catch (const token_file_error& error) {
    if (error.is_missing() && may_be_missing) return {};
    throw failure(error.what());
  }
}

/// Puts what `next` makes of the file in its place.
void change(const std::string& file, bool may_be_missing, const std::function<std::string(const token_file&)>& next) {
  const std::string place = place_of(file);
  const std::string folder = std::filesystem::path(place).parent_path().string();
  const locked_folder locked(folder.empty() ? "." : folder);
  const std::string text = next(read(place, may_be_missing));
  const read_tokens again = parse_tokens(place, text);
  if (!again.mistakes.empty()) throw failure(again.mistakes.front());  // the server would refuse the file
  replace(place, text, locked);
}

/// Throws failure with the sentence, if it is one.
void expect_right(std::string_view option, const std::string& sentence) {
  if (!sentence.empty()) throw failure(fmt::format("{}: {}", option, sentence));
}

instant end_of(const std::string& text) {
  instant end;
  if (const auto length = parse_duration(text)) {
    std::string written;
    append_iso_time(written, wall_clock::instance().now() + *length);
    expect_right("--ends", read_end(written, end));  // the year may be beyond those that can be read
    return end;
  }
  const std::string wrong = read_end(text, end);
  expect_right("--ends", wrong.empty() ? wrong : wrong + ", or a duration from now such as 90d");
  return end;
}

/// To the second: that is enough, and reads better.
instant whole_second(instant time) {
  constexpr std::int64_t second = 1'000'000'000;
  return time.is_never() ? time : instant::from_nanoseconds(time.nanoseconds() / second * second);
}

/// Reads the beginnings of names of tubes between commas, or in lines. In the file blanks may stand between them, too;
/// here one is more likely a mistake, which would give rights to other tubes than those that are meant.
std::vector<std::string> prefixes_of(const std::string& tubes) {
  std::vector<std::string> prefixes;
  expect_right("--tubes", read_prefixes(tubes, prefixes));
  constexpr std::string_view between = ",\n";
  constexpr std::string_view blanks = " \t\r";
  for (std::size_t begin = 0; begin < tubes.size();) {
    const std::size_t end = std::min(tubes.find_first_of(between, begin), tubes.size());
    std::string_view each = std::string_view(tubes).substr(begin, end - begin);
    each.remove_prefix(std::min(each.find_first_not_of(blanks), each.size()));
    each = each.substr(0, each.find_last_not_of(blanks) + 1);
    if (each.find_first_of(blanks) != std::string_view::npos) {
      throw failure(fmt::format("--tubes: '{}' has a blank, as no name of a tube: write a comma between two beginnings",
                                printable(each)));
    }
    begin = end + 1;
  }
  return prefixes;
}

access_entry entry_of(const token_options& options, const std::string& id, const sha256_digest& proof) {
  std::string name;
  expect_right("--name", read_name(options.name, name));
  scope_set scopes;
  expect_right("--scopes", read_scopes(options.scopes, scopes));
  std::vector<std::string> prefixes = prefixes_of(options.tubes);
  const instant ends = whole_second(end_of(options.ends));
  if (ends <= wall_clock::instance().now()) {  // nobody wants a token that lets nobody in
    throw failure(
        fmt::format("--ends: {} has passed: write a time to come, a duration such as 90d, or never", options.ends));
  }
  access_entry made;
  made.what = options.fingerprint.empty() ? access_entry::kind::token : access_entry::kind::certificate;
  made.given = std::make_shared<const rights>(id, std::move(name), scopes, std::move(prefixes), ends, proof);
  return made;
}

bool has_id(const token_file& in, std::string_view id) {
  return std::ranges::any_of(in.entries, [id](const access_entry& each) { return each.given->id() == id; });
}

sha256_digest proof_of(const std::string& fingerprint) {
  const auto read = parse_digest(fingerprint);
  if (!read) {
    throw failure(
        fmt::format("--certificate: '{}' is not a SHA-256 fingerprint: take that of 'openssl x509 -in FILE -noout "
                    "-fingerprint -sha256'",
                    printable(fingerprint)));
  }
  return *read;
}

/// The text with the new entry. Throws failure if the file has the certificate already.
std::string with_new_entry(const token_file& now, const access_entry& added) {
  for (const access_entry& each : now.entries) {
    if (each.what == added.what && each.given->proof() == added.given->proof()) {
      throw failure(fmt::format("the certificate has an entry with the id '{}': revoke that first", each.given->id()));
    }
  }
  return with_entry(now.text, added);
}

std::string text_of_prefixes(const rights& given) {
  if (given.has_all_tubes()) return "*";
  std::string text;
  for (const std::string& each : given.prefixes()) text += (text.empty() ? "" : " ") + printable(each);
  return text;
}

std::string text_of_scopes(const rights& given) {
  std::string text;
  for (const named_scope& each : all_scopes) {
    if (given.may(each.what)) text += fmt::format("{}{}", text.empty() ? "" : " ", each.name);
  }
  return text;
}

std::string text_of_end(const rights& given) {
  if (given.ends().is_never()) return "never";
  std::string text;
  append_iso_time(text, given.ends());
  return given.ends() <= wall_clock::instance().now() ? text + " (ended)" : text;
}

/// Takes the entries with these ids out of the file: all of them, or none. Throws failure.
void revoke_tokens(const std::string& file, const std::vector<std::string>& ids) {
  change(file, false, [&](const token_file& now) {
    for (const std::string& each : ids) {
      if (const auto whole = access_token::parse(each)) {
        throw failure(
            fmt::format("this is a whole token, whose secret others can see among the arguments of programs: "
                        "revoke it by its id, {}",
                        whole->id()));
      }
      if (!has_id(now, each)) throw failure(fmt::format("'{}' has no entry with the id '{}'", file, printable(each)));
    }
    std::string text = now.text;
    for (auto entry = now.entries.rbegin(); entry != now.entries.rend(); ++entry) {  // so that the lines stay right
      if (std::ranges::find(ids, entry->given->id()) != ids.end()) text = without_entry(text, *entry);
    }
    return text;
  });
}

/// Adds an entry, and prints the access token, or the id of the entry of a certificate. The file is made if it is
/// missing. Throws failure.
void make_token(const token_options& options) {
  const bool is_certificate = !options.fingerprint.empty();
  std::string shown;
  std::string id;
  change(options.file, true, [&](const token_file& now) {
    do {
      shown = is_certificate ? access_token::new_id() : access_token::make();
      id = is_certificate ? shown : std::string(access_token::parse(shown)->id());
    } while (has_id(now, id));
    const sha256_digest proof = is_certificate ? proof_of(options.fingerprint) : sha256_of(shown);
    return with_new_entry(now, entry_of(options, id, proof));
  });
  std::signal(SIGPIPE, SIG_IGN);  // so that a reader that has gone is a failure
  try {
    print(shown + "\n");
  } catch (const failure&) {
    revoke_tokens(options.file, {id});  // nobody has seen it
    throw;
  }
}

/// Prints the entries, without digests. Throws failure.
void list_tokens(const std::string& file) {
  const token_file now = read(file, false);
  using row = std::array<std::string, 6>;
  std::vector<row> rows{{"ID", "KIND", "NAME", "SCOPES", "TUBES", "ENDS"}};
  for (const access_entry& each : now.entries) {
    const rights& given = *each.given;
    rows.push_back({given.id(), each.what == access_entry::kind::token ? "token" : "certificate", given.name(),
                    text_of_scopes(given), text_of_prefixes(given), text_of_end(given)});
  }
  std::string text;
  for (const row& one : rows) {
    for (std::size_t i = 0; i + 1 < one.size(); ++i) {
      const auto widest = std::ranges::max(rows, {}, [i](const row& each) { return each[i].size(); });
      text += fmt::format("{:<{}}", one[i], widest[i].size() + 2);
    }
    text += one.back() + "\n";
  }
  print(text);
  if (!now.warning.empty()) report(now.warning);
}

struct token_arguments {
  token_options options;
  std::vector<std::string> revoked;
};

void add_file(CLI::App& line, token_arguments& all, const char* text) {
  line.add_option("FILE", all.options.file, text)->type_name("")->required();
}

void add_make(CLI::App& token, const std::shared_ptr<token_arguments>& all, command& chosen) {
  CLI::App* line = token.add_subcommand("make", "Make an access token, and print it: it is not shown again");
  add_file(*line, *all, "The file of access tokens; made if it is missing");
  line->add_option("--name", all->options.name, "Whose it is, and what for")->type_name("NAME")->required();
  line->add_option("--scopes", all->options.scopes,
                   "What it allows: some of put, reserve, look, change and\n"
                   "administer, with commas between them")
      ->type_name("SCOPES")
      ->required();
  line->add_option("--tubes", all->options.tubes,
                   "Which tubes: beginnings of their names, with commas between\n"
                   "them, or * for all tubes")
      ->type_name("PREFIXES")
      ->capture_default_str();
  line->add_option("--ends", all->options.ends,
                   "When it ends: a time such as 2027-01-01T00:00:00Z, a duration\n"
                   "from now such as 90d, or never")
      ->type_name("WHEN")
      ->required();
  line->add_option("--certificate", all->options.fingerprint,
                   "Give the rights to the clients with this certificate instead,\n"
                   "and print the id of the entry")
      ->type_name("FINGERPRINT")
      ->check([](const std::string& given) {  // as where openssl has failed: nobody is to get a token instead
        return given.empty() ? std::string("the fingerprint is empty") : std::string();
      });
  line->footer(
      "--name, --scopes and --ends are needed. The scopes:\n"
      "  put         put jobs\n"
      "  reserve     reserve jobs; finish, release, bury and touch them\n"
      "  look        see, count and list jobs and tubes\n"
      "  change      cancel, reschedule, fire and kick jobs\n"
      "  administer  pause and clear tubes\n"
      "\n"
      "A client of HTTP shows the token as 'Authorization: Bearer TOKEN', a client of\n"
      "beanstalkd by the line 'x-auth TOKEN' before all others.");
  line->callback([all, &chosen] { chosen = [all] { make_token(all->options); }; });
}

}  // namespace

void add_token(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<token_arguments>();
  CLI::App* token = program.add_subcommand("token", "Make, list and revoke the access tokens of a server");
  token->require_subcommand(1);
  add_make(*token, all, chosen);
  CLI::App* list = token->add_subcommand("list", "Show who has access, and to what");
  add_file(*list, *all, "The file of access tokens");
  list->callback([all, &chosen] { chosen = [all] { list_tokens(all->options.file); }; });
  CLI::App* revoke = token->add_subcommand("revoke", "Take access away");
  add_file(*revoke, *all, "The file of access tokens");
  revoke->add_option("ID", all->revoked, "Of the entries, as 'foliot token list' shows them")
      ->type_name("")
      ->required();
  revoke->callback([all, &chosen] { chosen = [all] { revoke_tokens(all->options.file, all->revoked); }; });
  token->footer(
      "  foliot token make tokens --name 'the shop' --scopes put --tubes mail. --ends 365d\n"
      "  foliot token list tokens\n"
      "  foliot token revoke tokens 4f7k2m9q\n"
      "\n"
      "The server reads the file by 'foliot serve --tokens tokens', and again when it\n"
      "changes. It has the rights of each token and its SHA-256, not the token itself.\n"
      "People may edit it.");
}

}  // namespace foliot::program

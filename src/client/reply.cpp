#include <foliot/client/reply.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace foliot::client {

namespace {

/// The longest line is USING with a tube's name of 200 bytes.
constexpr std::size_t longest_line = 300;
constexpr std::uint64_t longest_body = std::uint64_t{1} << 30;
constexpr std::string_view crlf = "\r\n";
/// A buffer that is empty, and larger than this, is freed.
constexpr std::size_t most_kept = std::size_t{1} << 16;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// The words of a line; empty where there are more than three, or two spaces in a row.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t end = line.find(' ');
    words.push_back(line.substr(0, end));
    if (words.back().empty() || words.size() > 3) return {};
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end + 1);
  }
}

bool is_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return ('A' <= c && c <= 'Z') || c == '_'; });
}

/// What follows the word of a reply.
enum class argument : std::uint8_t {
  none,
  number,
  number_or_none,
  name,
  length,         ///< and a body
  id_and_length,  ///< and the body of a job
  unknown,        ///< anything: the word is none of those that are known
};

struct reply_form {
  std::string_view word;
  argument what;
};

/// The replies whose form is known; others have words that no command expects.
constexpr std::array forms{
    reply_form{"OK", argument::length},
    reply_form{"RESERVED", argument::id_and_length},
    reply_form{"FOUND", argument::id_and_length},
    reply_form{"INSERTED", argument::number},
    reply_form{"REPLACED", argument::number},
    reply_form{"KEPT", argument::number},
    reply_form{"EXISTS", argument::number},
    reply_form{"IS_RESERVED", argument::number},
    reply_form{"CANCELLED", argument::number},
    reply_form{"RESCHEDULED", argument::number},
    reply_form{"FIRED", argument::number},
    reply_form{"WATCHING", argument::number},
    reply_form{"BURIED", argument::number_or_none},
    reply_form{"KICKED", argument::number_or_none},
    reply_form{"USING", argument::name},
    reply_form{"AUTHENTICATED", argument::name},
    reply_form{"DELETED", argument::none},
    reply_form{"NOT_FOUND", argument::none},
    reply_form{"RELEASED", argument::none},
    reply_form{"TOUCHED", argument::none},
    reply_form{"GONE", argument::none},
    reply_form{"TIMED_OUT", argument::none},
    reply_form{"DEADLINE_SOON", argument::none},
    reply_form{"DRAINING", argument::none},
    reply_form{"JOB_TOO_BIG", argument::none},
    reply_form{"OUT_OF_MEMORY", argument::none},
    reply_form{"INTERNAL_ERROR", argument::none},
    reply_form{"UNKNOWN_COMMAND", argument::none},
    reply_form{"BAD_FORMAT", argument::none},
    reply_form{"FORBIDDEN", argument::none},
    reply_form{"BAD_TOKEN", argument::none},
    reply_form{"NOT_AUTHENTICATED", argument::none},
};

argument argument_of(std::string_view word) {
  const auto* const found = std::ranges::find(forms, word, &reply_form::word);
  return found != forms.end() ? found->what : argument::unknown;
}

/// A reply from the words of its line, without its body; nothing if they do not have its form.
std::optional<server_reply> reply_of(const std::vector<std::string_view>& words) {
  if (words.empty() || !is_word(words[0])) return std::nullopt;
  server_reply reply;
  reply.word = words[0];
  const auto take_number = [&words](std::size_t at, std::uint64_t& to) {
    const auto number = number_of(words[at]);
    to = number.value_or(0);
    return number.has_value();
  };
  bool is_right = words.size() == 2;
  switch (argument_of(words[0])) {
    case argument::none: is_right = words.size() == 1; break;
    case argument::unknown: is_right = words.size() <= 2; break;
    case argument::number_or_none: is_right = words.size() == 1 || (is_right && take_number(1, reply.number)); break;
    case argument::number: is_right = is_right && take_number(1, reply.number); break;
    case argument::length: is_right = is_right && take_number(1, reply.size); break;
    case argument::name:
      if (is_right) reply.name = words[1];
      break;
    case argument::id_and_length:
      is_right = words.size() == 3 && take_number(1, reply.number) && take_number(2, reply.size);
      break;
  }
  return is_right ? std::optional(std::move(reply)) : std::nullopt;
}

no_reply refusal(std::string_view line) {
  return no_reply("'" + std::string(line.substr(0, 60)) + "' is no reply of a beanstalk server");
}

std::string unquoted(std::string_view value) {
  if (value.size() < 2 || !value.starts_with('"') || !value.ends_with('"')) return std::string(value);
  value = value.substr(1, value.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

/// Calls `use` with each line.
template <class Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    use(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

void reply_reader::add(std::string_view bytes) {
  if (begin_ > 0) unread_.erase(0, std::exchange(begin_, 0));
  if (begun_ && unread_.empty()) bytes.remove_prefix(take_body(bytes));
  unread_ += bytes;
}

std::optional<server_reply> reply_reader::next(const wanted_bytes& wanted) {
  if (!begun_) read_line(wanted);
  const bool is_complete = begun_ && read_body();
  if (begin_ == unread_.size() && unread_.capacity() > most_kept) {
    std::string().swap(unread_);
    begin_ = 0;
  }
  return is_complete ? std::exchange(begun_, std::nullopt) : std::nullopt;
}

void reply_reader::read_line(const wanted_bytes& wanted) {
  const std::string_view unread = std::string_view(unread_).substr(begin_);
  const std::size_t end = unread.substr(0, longest_line).find(crlf);
  if (end == std::string_view::npos) {
    if (unread.size() >= longest_line) throw refusal(unread);
    return;
  }
  const std::string_view line = unread.substr(0, end);
  auto reply = reply_of(words_of(line));
  if (!reply || reply->size > longest_body) throw refusal(line);
  const bool is_list = reply->word == "OK";
  if (is_list && reply->size > wanted.of_list) {
    throw no_reply("'" + std::string(line) + "' announces more than the " + std::to_string(wanted.of_list) +
                   " bytes that this reply may have");
  }
  keeps_body_ = is_list || reply->size <= wanted.of_job;
  body_left_ = reply->size;
  if (keeps_body_) reply->body.reserve(static_cast<std::size_t>(reply->size));
  begin_ += end + crlf.size();
  begun_ = std::move(reply);
}

/// Takes what begins the bytes and belongs to the body; returns how much that is.
std::size_t reply_reader::take_body(std::string_view bytes) {
  const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, bytes.size()));
  if (keeps_body_) begun_->body += bytes.substr(0, taken);
  body_left_ -= taken;
  return taken;
}

/// Whether the body and its end are there.
bool reply_reader::read_body() {
  if (begun_->word != "OK" && begun_->word != "RESERVED" && begun_->word != "FOUND") return true;
  begin_ += take_body(std::string_view(unread_).substr(begin_));
  const std::string_view end = std::string_view(unread_).substr(begin_, crlf.size());
  if (body_left_ > 0 || end.size() < crlf.size()) return false;
  if (end != crlf) throw no_reply("the body behind " + begun_->word + " does not end where its line says");
  begin_ += crlf.size();
  return true;
}

std::optional<std::string> dictionary_value(std::string_view dictionary, std::string_view key) {
  std::optional<std::string> found;
  each_line(dictionary, [&](std::string_view line) {
    if (found || line.size() < key.size() + 2 || !line.starts_with(key)) return;
    if (line.substr(key.size(), 2) == ": ") found = unquoted(line.substr(key.size() + 2));
  });
  return found;
}

std::optional<std::uint64_t> dictionary_number(std::string_view dictionary, std::string_view key) {
  const auto value = dictionary_value(dictionary, key);
  return value ? number_of(*value) : std::nullopt;
}

std::vector<std::string> list_entries(std::string_view list) {
  std::vector<std::string> entries;
  each_line(list, [&](std::string_view line) {
    if (line.starts_with("- ")) entries.push_back(unquoted(line.substr(2)));
  });
  return entries;
}

}  // namespace foliot::client

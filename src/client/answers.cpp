// What the replies of a server mean: answer_in() of commands.hpp.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <variant>

#include <foliot/client/commands.hpp>
#include <foliot/jobs/names.hpp>

namespace foliot::client {

namespace {

using kind = client_error::kind;
using replies_to = std::span<server_reply>;

std::unexpected<client_error> wrong_answer(const std::string& what, bool changes) {
  return std::unexpected(client_error{kind::bad_answer, changes, {}, "the server's answer cannot be right: " + what});
}

/// The error that the reply says, or that it is no reply to such a command.
std::unexpected<client_error> error_of(const server_reply& reply, bool changes, bool is_foliot) {
  if (auto refusal = refusal_in(reply, changes, is_foliot)) return std::unexpected(*std::move(refusal));
  const bool is_refused = reply.word == "BAD_FORMAT";  // what a server does not understand it does not execute
  return wrong_answer("it is " + reply.word, changes && !is_refused);
}

bool is_id(std::uint64_t number) { return number > 0 && number <= highest_id; }

std::unexpected<client_error> no_id(const server_reply& reply, bool changes) {
  return wrong_answer(reply.word + " " + std::to_string(reply.number) + " has no id of a job", changes);
}

template <class Kind>
struct meaning {
  std::string_view word;
  Kind what;
};

/// The meaning of the reply's word; nothing if it is none of these.
template <class Kind, std::size_t Count>
std::optional<Kind> meaning_of(const server_reply& reply, const std::array<meaning<Kind>, Count>& table) {
  for (const meaning<Kind>& each : table) {
    if (each.word == reply.word) return each.what;
  }
  return std::nullopt;
}

result_of<jobs::finish> held_answer(replies_to replies, std::string_view word, bool is_foliot) {
  const server_reply& reply = replies.front();
  using enum jobs::holder_answer::kind;
  jobs::holder_answer answer;
  if (reply.word == "NOT_FOUND") {
    answer.what = not_held;
  } else if (reply.word == "OUT_OF_MEMORY") {
    answer.what = no_space;
  } else if (reply.word != word) {
    return error_of(reply, true, is_foliot);
  }
  return answer;
}

result_of<jobs::cancel> change_answer_of(const jobs::job_name& name, replies_to replies, std::string_view done,
                                         bool is_foliot) {
  const server_reply& reply = replies.front();
  jobs::change_answer answer;
  if (reply.word == "GONE" || reply.word == "OUT_OF_MEMORY") {
    answer.what = reply.word == "GONE" ? jobs::change_answer::kind::gone : jobs::change_answer::kind::no_space;
    return answer;
  }
  if (reply.word != done && reply.word != "IS_RESERVED") return error_of(reply, true, is_foliot);
  if (!is_id(reply.number)) return no_id(reply, true);
  const auto* const id = std::get_if<jobs::job_id>(&name);
  if (id != nullptr && *id != reply.number) {
    return wrong_answer(
        "it is about job " + std::to_string(reply.number) + " where job " + std::to_string(*id) + " was meant", true);
  }
  answer.what = reply.word == done ? jobs::change_answer::kind::done : jobs::change_answer::kind::reserved;
  answer.id = reply.number;
  return answer;
}

result_of<jobs::count_tube> counts_in(const server_reply& reply, bool is_foliot) {
  if (reply.word != "OK") return error_of(reply, false, is_foliot);
  jobs::count_answer answer;
  const auto take = [&reply](std::string_view key, std::uint64_t& to) {
    const auto number = dictionary_number(reply.body, key);
    to = number.value_or(0);
    return number.has_value();
  };
  if (take("current-jobs-urgent", answer.counts.urgent) && take("current-jobs-ready", answer.counts.ready) &&
      take("current-jobs-reserved", answer.counts.reserved) && take("current-jobs-delayed", answer.counts.delayed) &&
      take("current-jobs-buried", answer.counts.buried))
    return answer;
  // foliot leaves the counts out while its store is unavailable, and for a token that does not include all tubes.
  return std::unexpected(client_error{
      kind::unavailable, false, {}, "the server does not say how many jobs it has: is its store available?"});
}

/// Takes `begin` off the front of the text.
bool skip(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& to) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, to);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

bool take_hexadecimal(std::string_view& text, char& to) {
  unsigned value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 2), value, 16);
  if (error != std::errc() || stop != text.data() + 2) return false;
  to = static_cast<char>(value);
  text.remove_prefix(2);
  return true;
}

/// A text in quotes, with the escapes of YAML that foliot writes.
bool take_quoted(std::string_view& text, std::string& to) {
  if (!skip(text, "\"")) return false;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return true;
    char read = c;
    if (c == '\\') {
      if (text.empty()) return false;
      const char escaped = text.front();
      text.remove_prefix(1);
      read = escaped == 'n' ? '\n' : escaped;
      if (escaped == 'x' && !take_hexadecimal(text, read)) return false;
    }
    to += read;
  }
  return false;
}

/// A word of small letters.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

struct listed_due {
  jobs::due_job job;
  bool is_delayed = false;  // a client skips one in another state
};

/// A job of a list of what is due: `{id: 7, tube: "mail", state: delayed, due-ms: 1893456000000}`.
std::optional<listed_due> due_job_in(std::string_view line) {
  listed_due found;
  std::int64_t due = 0;
  std::string_view state;
  const bool is_right = skip(line, "{id: ") && take_number(line, found.job.id) && skip(line, ", tube: ") &&
                        take_quoted(line, found.job.tube) && skip(line, ", state: ") &&
                        !(state = take_word(line)).empty() && skip(line, ", due-ms: ") && take_number(line, due) &&
                        line == "}";
  if (!is_right || !is_id(found.job.id) || due < 0 || jobs::milliseconds(due) > jobs::latest_due().time_since_epoch())
    return std::nullopt;
  found.job.due = jobs::utc_time(jobs::milliseconds(due));
  found.is_delayed = state == "delayed";
  return found;
}

}  // namespace

std::optional<client_error> refusal_in(const server_reply& reply, bool changes, bool is_foliot) {
  struct row {
    std::string_view word;
    kind what;
    std::string_view text;
  };
  constexpr std::array table{
      row{"OUT_OF_MEMORY", kind::no_space, "the server has no room for it, or has refused it by a limit"},
      row{"FORBIDDEN", kind::forbidden, "the access token does not allow it"},
      row{"NOT_AUTHENTICATED", kind::not_signed_in, "the server wants an access token that is valid"},
      row{"BAD_TOKEN", kind::not_signed_in, "the access token is none: it has a typing error"},
      row{"DRAINING", kind::draining, "the server drains: it takes no more jobs until it is started again"},
      row{"JOB_TOO_BIG", kind::too_large, "the body is too big for the server"},
      row{"UNKNOWN_COMMAND", kind::unknown_command, "the server does not know the command"},
      row{"INTERNAL_ERROR", kind::unavailable, "the server's store does not answer, or is held up"}};
  for (const row& each : table) {
    if (each.word != reply.word) continue;
    const bool is_in_doubt = changes && each.what == kind::unavailable && !is_foliot;
    return client_error{each.what, is_in_doubt, {}, std::string(each.text)};
  }
  return std::nullopt;
}

result_of<jobs::put> answer_in(const jobs::put& what, replies_to replies, bool is_foliot) {
  using enum jobs::put_answer::kind;
  const server_reply& reply = replies.front();
  if (reply.word == "BURIED") {
    return std::unexpected(
        client_error{kind::no_space, true, {}, "the server has put the job, and buried it for want of room"});
  }
  if (reply.word == "OUT_OF_MEMORY") return jobs::put_answer{.what = no_space};
  constexpr std::array table{meaning{"INSERTED", inserted}, meaning{"KEPT", kept}, meaning{"REPLACED", replaced},
                             meaning{"EXISTS", exists}, meaning{"IS_RESERVED", reserved}};
  const auto found = meaning_of(reply, table);
  const bool fits =
      found &&
      (*found == inserted || (!what.key.empty() && (*found == kept     ? what.existing == jobs::on_existing::keep
                                                    : *found == exists ? what.existing == jobs::on_existing::refuse
                                                                       : what.existing == jobs::on_existing::replace)));
  if (!fits) return error_of(reply, true, is_foliot);
  if (!is_id(reply.number)) return no_id(reply, true);
  return jobs::put_answer{.what = *found, .id = reply.number};
}

result_of<reserve> answer_in(const reserve&, replies_to replies, bool is_foliot) {
  server_reply& reply = replies.front();
  reserve_answer answer;
  if (reply.word == "TIMED_OUT") return answer;
  answer.what = reserve_answer::kind::deadline_soon;
  if (reply.word == "DEADLINE_SOON") return answer;
  if (reply.word != "RESERVED") return error_of(reply, false, is_foliot);
  if (!is_id(reply.number)) return no_id(reply, false);
  if (reply.body.size() < reply.size) {
    answer.what = reserve_answer::kind::too_large;
    answer.unread = unread_job{jobs::reservation{.id = reply.number}, reply.size};
    return answer;
  }
  answer.what = reserve_answer::kind::reserved;
  answer.job = reserved_job{jobs::reservation{.id = reply.number}, std::move(reply.body)};
  return answer;
}

result_of<jobs::finish> answer_in(const jobs::finish&, replies_to replies, bool is_foliot) {
  return held_answer(replies, "DELETED", is_foliot);
}

result_of<jobs::touch> answer_in(const jobs::touch&, replies_to replies, bool is_foliot) {
  return held_answer(replies, "TOUCHED", is_foliot);
}

result_of<jobs::bury> answer_in(const jobs::bury&, replies_to replies, bool is_foliot) {
  return held_answer(replies, "BURIED", is_foliot);
}

result_of<jobs::release> answer_in(const jobs::release&, replies_to replies, bool is_foliot) {
  if (replies.front().word == "BURIED") {
    return std::unexpected(
        client_error{kind::no_space, true, {}, "the server has buried the job, for want of room to release it"});
  }
  return held_answer(replies, "RELEASED", is_foliot);
}

result_of<jobs::cancel> answer_in(const jobs::cancel& what, replies_to replies, bool is_foliot) {
  return change_answer_of(what.name, replies, "CANCELLED", is_foliot);
}

result_of<jobs::reschedule> answer_in(const jobs::reschedule& what, replies_to replies, bool is_foliot) {
  return change_answer_of(what.name, replies, "RESCHEDULED", is_foliot);
}

result_of<jobs::fire_now> answer_in(const jobs::fire_now& what, replies_to replies, bool is_foliot) {
  return change_answer_of(what.name, replies, "FIRED", is_foliot);
}

result_of<jobs::kick> answer_in(const jobs::kick& what, replies_to replies, bool is_foliot) {
  const server_reply& reply = replies.front();
  if (reply.word == "OUT_OF_MEMORY") return jobs::bulk_answer{.changed = 0, .what = jobs::bulk_answer::kind::no_space};
  if (reply.word != "KICKED") return error_of(reply, true, is_foliot);
  if (reply.number > what.count) return wrong_answer("it has kicked more jobs than were asked for", true);
  return jobs::bulk_answer{.changed = reply.number};
}

result_of<jobs::peek> answer_in(const jobs::peek& what, replies_to replies, bool is_foliot) {
  peek_answer answer;
  for (server_reply& each : replies) {
    if (each.word == "NOT_FOUND") return peek_answer();  // of the second one: it has ended meanwhile
    const bool is_body = &each != replies.data();
    if (each.word != (is_body ? "FOUND" : "OK")) return error_of(each, false, is_foliot);
    if (!is_body) {
      answer.job = parse_job(each.body);
      if (!answer.job) return wrong_answer("it does not describe a job", false);
    }
    const jobs::job_id id = is_body ? each.number : answer.job->id;
    const auto* const wanted = std::get_if<jobs::job_id>(&what.name);
    if (wanted != nullptr && *wanted != id) {
      return wrong_answer(
          "it shows job " + std::to_string(id) + " where job " + std::to_string(*wanted) + " was asked for", false);
    }
    if (!is_body) continue;
    if (each.body.size() < each.size) {
      return std::unexpected(client_error{kind::too_large,
                                          false,
                                          {},
                                          "the body of job " + std::to_string(id) + " has " +
                                              std::to_string(each.size) + " bytes, over the limit of this client"});
    }
    answer.body = std::move(each.body);
  }
  return answer;
}

result_of<jobs::count_tube> answer_in(const jobs::count_tube&, replies_to replies, bool is_foliot) {
  if (replies.front().word == "NOT_FOUND") return jobs::count_answer();
  return counts_in(replies.front(), is_foliot);
}

result_of<jobs::count_all> answer_in(const jobs::count_all&, replies_to replies, bool is_foliot) {
  return counts_in(replies.front(), is_foliot);
}

result_of<jobs::list_tubes> answer_in(const jobs::list_tubes&, replies_to replies, bool is_foliot) {
  const server_reply& reply = replies.front();
  if (reply.word != "OK") return error_of(reply, false, is_foliot);
  return jobs::tubes_answer{.tubes = list_entries(reply.body)};
}

result_of<jobs::list_due> answer_in(const jobs::list_due& what, replies_to replies, bool is_foliot) {
  const server_reply& reply = replies.front();
  if (reply.word != "OK") return error_of(reply, false, is_foliot);
  jobs::due_answer answer;
  std::string_view left = reply.body;
  if (!skip(left, "---\n")) return wrong_answer("it is no list", false);
  while (!left.empty()) {
    const std::size_t end = left.find('\n');
    std::string_view line = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    if (!skip(line, "- ")) return wrong_answer("its list has a line that is no entry", false);
    auto found = due_job_in(line);
    if (!found) return wrong_answer("its list has an entry that is no job", false);
    if (found->is_delayed) answer.jobs.push_back(std::move(found->job));
  }
  if (answer.jobs.size() > what.count) return wrong_answer("its list has more jobs than were asked for", false);
  return answer;
}

}  // namespace foliot::client

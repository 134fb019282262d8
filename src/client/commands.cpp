#include <foliot/client/commands.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include <foliot/jobs/names.hpp>

namespace foliot::client {

namespace {

using kind = client_error::kind;
using encoded = std::expected<command, client_error>;
using problem = std::optional<std::string>;

constexpr std::int64_t longest_wait = std::numeric_limits<std::int32_t>::max();  // in seconds

std::unexpected<client_error> refused(std::string why) {
  return std::unexpected(client_error{kind::bad_request, false, {}, std::move(why)});
}

problem bad_tube(std::string_view tube) {
  if (jobs::is_tube_name(tube)) return std::nullopt;
  if (tube.empty()) return "tube name must not be empty";
  return "tube name must have 1 to 200 of the characters A-Z a-z 0-9 - + / ; . $ _ ( ) and not begin with -, got " +
         std::to_string(tube.size()) + " bytes that are none";
}

problem bad_key(std::string_view key) {
  if (jobs::is_command_key(key)) return std::nullopt;
  return "key must be 1 to " + std::to_string(jobs::longest_command_key) +
         " visible ASCII characters, and not - alone, got " + std::to_string(key.size()) + " bytes that are none";
}

problem bad_token(const jobs::reservation& token) {
  if (token.opening != 0) return std::nullopt;
  return "reservation of job " + std::to_string(token.id) + " must be one that a reserve of a client has brought";
}

std::int64_t seconds_of(jobs::milliseconds time) { return std::chrono::ceil<std::chrono::seconds>(time).count(); }

bool is_whole(jobs::milliseconds time) { return time % std::chrono::seconds(1) == jobs::milliseconds::zero(); }

std::string text_of(jobs::milliseconds time) { return std::to_string(time.count()); }

std::string due_text(const jobs::due_at& due) {
  if (const auto* delay = std::get_if<jobs::milliseconds>(&due)) return text_of(*delay);
  return "@" + text_of(std::get<jobs::utc_time>(due).time_since_epoch());
}

std::string_view policy_of(jobs::on_existing what) {
  switch (what) {
    case jobs::on_existing::keep: return "keep";
    case jobs::on_existing::replace: return "replace";
    case jobs::on_existing::refuse: return "refuse";
  }
  return "keep";
}

/// Whether beanstalkd can have this job as well.
bool is_plain(const jobs::put& what) {
  const auto* const delay = std::get_if<jobs::milliseconds>(&what.due);
  return what.key.empty() && what.fields.empty() && what.history.empty() && delay != nullptr && is_whole(*delay) &&
         is_whole(what.ttr);
}

problem problem_of(const jobs::put& what, const client_limits& limits) {
  if (problem wrong = bad_tube(what.tube)) return wrong;
  if (!what.key.empty()) {
    if (problem wrong = bad_key(what.key)) return wrong;
  }
  if (what.expected != 0 || !what.once.empty())
    return "a put with an expected version or a `once` cannot be asked by the beanstalk protocol: use HTTP";
  if (what.holder)
    return "a put with a holder cannot be asked by the beanstalk protocol: only a program's own store has it";
  return jobs::validate(what, limits.job);
}

/// What the operations that name a job have in common: `word`, the job, and `rest`.
encoded change_of(std::string_view word, const jobs::job_name& name, jobs::job_version expected,
                  const std::string& rest) {
  if (expected != 0) return refused("an expected version cannot be asked by the beanstalk protocol: use HTTP");
  command made;
  made.needs_foliot = true;
  made.changes = true;
  made.bytes = word;
  if (const auto* const id = std::get_if<jobs::job_id>(&name)) {
    made.bytes += std::to_string(*id);
  } else {
    const auto& [tube, key] = std::get<jobs::job_key>(name);
    if (problem wrong = bad_tube(tube)) return refused(*std::move(wrong));
    if (problem wrong = bad_key(key)) return refused(*std::move(wrong));
    made.tube = tube;
    made.bytes += "=" + key;
  }
  made.bytes += rest + "\r\n";
  return made;
}

encoded held_change(const jobs::reservation& token, std::string line) {
  if (problem wrong = bad_token(token)) return refused(*std::move(wrong));
  command made;
  made.bytes = std::move(line) + "\r\n";
  made.connection = token.opening;
  made.changes = true;
  return made;
}

command look_of(std::string bytes) {
  command made;
  made.bytes = std::move(bytes);
  made.is_repeatable = true;
  return made;
}

}  // namespace

encoded command_for(const jobs::put& what, const client_limits& limits) {
  if (problem wrong = problem_of(what, limits)) return refused(*std::move(wrong));
  command made;
  made.tube = what.tube;
  made.changes = true;
  // A second put with `keep` finds the job of the first one, as long as a worker has not ended it. With `refuse` its
  // answer would be wrong. With `replace` it could undo what another client has put in between, and while a worker has
  // the first one its answer would be `reserved`.
  made.is_repeatable = !what.key.empty() && what.existing == jobs::on_existing::keep;
  const std::string priority = std::to_string(what.priority);
  const std::string size = std::to_string(what.body.size());
  if (is_plain(what)) {
    const auto delay = std::get<jobs::milliseconds>(what.due);
    made.bytes = "put " + priority + " " + std::to_string(seconds_of(delay)) + " " +
                 std::to_string(seconds_of(what.ttr)) + " " + size + "\r\n" + what.body + "\r\n";
    return made;
  }
  made.needs_foliot = true;
  const std::string_view fields = what.fields.bytes();
  const std::string_view history = what.history.bytes();
  made.bytes = "x-put " + std::string(policy_of(what.existing)) + " " + (what.key.empty() ? "-" : what.key) + " " +
               priority + " " + due_text(what.due) + " " + text_of(what.ttr) + " " + size;
  if (!fields.empty() || !history.empty())
    made.bytes += " " + std::to_string(fields.size()) + " " + std::to_string(history.size());
  made.bytes += "\r\n";
  made.bytes += what.body;
  made.bytes += fields;
  made.bytes += history;
  made.bytes += "\r\n";
  return made;
}

encoded command_for(const reserve& what, const client_limits& limits) {
  if (what.tubes.empty()) return refused("a reserve must name at least one tube");
  for (const std::string& tube : what.tubes) {
    if (problem wrong = bad_tube(tube)) return refused(*std::move(wrong));
  }
  if (what.wait < jobs::milliseconds::zero() || seconds_of(what.wait) > longest_wait) {
    return refused("the wait of a reserve must be from 0 to " + std::to_string(longest_wait) + " s, got " +
                   text_of(what.wait) + " ms");
  }
  command made;
  made.watched = what.tubes;
  made.wait = what.wait;
  made.is_repeatable = true;  // a reservation of a connection that is lost ends with it
  made.wanted.of_job = limits.most_received;
  return made;
}

encoded command_for(const jobs::finish& what, const client_limits&) {
  return held_change(what.token, "delete " + std::to_string(what.token.id));
}

encoded command_for(const jobs::touch& what, const client_limits&) {
  return held_change(what.token, "touch " + std::to_string(what.token.id));
}

encoded command_for(const jobs::bury& what, const client_limits&) {
  if (!what.priority) return refused("a bury must have a priority, which the beanstalk protocol needs");
  if (what.history) return refused("a bury with a history cannot be asked by the beanstalk protocol: use HTTP");
  return held_change(what.token, "bury " + std::to_string(what.token.id) + " " + std::to_string(*what.priority));
}

encoded command_for(const jobs::release& what, const client_limits& limits) {
  if (!what.priority) return refused("a release must have a priority, which the beanstalk protocol needs");
  if (what.history) return refused("a release with a history cannot be asked by the beanstalk protocol: use HTTP");
  const auto* const delay = std::get_if<jobs::milliseconds>(&what.due);
  if (delay == nullptr) return refused("a release must have a delay, because the beanstalk protocol has no due time");
  if (problem wrong = jobs::validate(what, limits.job)) return refused(*std::move(wrong));
  return held_change(what.token, "release " + std::to_string(what.token.id) + " " + std::to_string(*what.priority) +
                                     " " + std::to_string(seconds_of(*delay)));
}

encoded command_for(const jobs::cancel& what, const client_limits&) {
  encoded made = change_of("x-cancel ", what.name, what.expected, "");
  // No id is given twice. A key may be that of a newer job when it is asked for again.
  if (made) made->is_repeatable = std::holds_alternative<jobs::job_id>(what.name);
  return made;
}

encoded command_for(const jobs::reschedule& what, const client_limits& limits) {
  if (problem wrong = jobs::validate(what, limits.job)) return refused(*std::move(wrong));
  return change_of("x-reschedule ", what.name, what.expected, " " + due_text(what.due));
}

encoded command_for(const jobs::fire_now& what, const client_limits&) {
  return change_of("x-fire ", what.name, what.expected, "");
}

encoded command_for(const jobs::kick& what, const client_limits&) {
  if (problem wrong = bad_tube(what.tube)) return refused(*std::move(wrong));
  if (what.only) return refused("a kick of jobs in one state cannot be asked by the beanstalk protocol: use HTTP");
  command made =
      look_of("kick " + std::to_string(std::min<std::uint64_t>(what.count, std::numeric_limits<std::uint32_t>::max())) +
              "\r\n");
  made.tube = what.tube;
  made.changes = true;
  made.is_repeatable = false;
  return made;
}

encoded command_for(const jobs::peek& what, const client_limits& limits) {
  if (const auto* const key = std::get_if<jobs::job_key>(&what.name)) {
    if (what.with_body) return refused("a peek by a key must be without the body: ask for that by the id");
    encoded made = change_of("x-stats-job ", *key, 0, "");
    if (made) made->changes = false;
    if (made) made->is_repeatable = true;
    return made;
  }
  const std::string id = std::to_string(std::get<jobs::job_id>(what.name));
  const std::string body = what.with_body ? "peek " + id + "\r\n" : "";
  command made = look_of("x-stats-job " + id + "\r\n" + body);
  made.for_others = "stats-job " + id + "\r\n" + body;
  made.replies = what.with_body ? 2 : 1;
  made.wanted.of_job = limits.most_received;
  return made;
}

encoded command_for(const jobs::count_tube& what, const client_limits&) {
  if (problem wrong = bad_tube(what.tube)) return refused(*std::move(wrong));
  return look_of("stats-tube " + what.tube + "\r\n");
}

encoded command_for(const jobs::count_all&, const client_limits&) { return look_of("stats\r\n"); }

encoded command_for(const jobs::list_tubes& what, const client_limits& limits) {
  if (what.count != 0 || what.with_counts || !what.prefix.empty() || !what.after.empty())
    return refused("a page of tubes cannot be asked by the beanstalk protocol: ask for all of them, or use HTTP");
  command made = look_of("list-tubes\r\n");
  made.wanted.of_list = limits.most_received;
  return made;
}

encoded command_for(const jobs::list_due& what, const client_limits& limits) {
  if (problem wrong = jobs::validate(what, limits.job)) return refused(*std::move(wrong));
  constexpr std::size_t longest_prefix = 175;  // that fits into a line beside all other arguments
  if (!what.prefix.empty() && (!jobs::is_tube_name(what.prefix) || what.prefix.size() > longest_prefix)) {
    return refused("the prefix of a list_due must begin the name of a tube, and have at most " +
                   std::to_string(longest_prefix) + " bytes");
  }
  command made = look_of("x-due " + std::to_string(what.count) + " " + due_text(what.from) + " " +
                         std::to_string(what.after) + " " + (what.prefix.empty() ? "-" : what.prefix) + "\r\n");
  made.needs_foliot = true;
  made.wanted.of_list = limits.most_received;
  return made;
}

std::string reserve_line(jobs::milliseconds wait) {
  const std::int64_t seconds = std::clamp<std::int64_t>(seconds_of(wait), 0, longest_wait);
  return "reserve-with-timeout " + std::to_string(seconds) + "\r\n";
}

}  // namespace foliot::client

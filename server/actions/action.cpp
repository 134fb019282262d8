#include "action.hpp"

#include <algorithm>
#include <variant>

#include <nlohmann/json.hpp>

#include "server/access/digest.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {

bool job_filter::matches(const jobs::job& what) const noexcept {
  if (is_of_server(what.tube)) return false;
  const bool is_in =
      tube.empty() ? std::ranges::any_of(within, [&](const std::string& each) { return what.tube.starts_with(each); })
                   : what.tube == tube;
  return is_in && (!state || what.state == *state) && what.key.starts_with(key_prefix);
}

jobs::list_jobs job_filter::page_behind(jobs::job_id id, std::uint32_t count) const {
  jobs::list_jobs page;
  page.tube = tube;
  if (tube.empty()) page.prefixes = within;
  page.after = {0, id};
  page.count = count;
  return page;
}

namespace {

using record_json = nlohmann::json;

/// Of the fields that foliot puts with a job, and of those that it notes in a history.
constexpr jobs::field_tag tag_of_plan = 0x00f0;
constexpr jobs::field_tag tag_of_progress = 0x01f0;

template <class Enumeration, std::size_t Count>
std::optional<Enumeration> value_named(const std::array<std::string_view, Count>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enumeration>(found - names.begin());
}
template <class Enumeration, std::size_t Count>
std::string_view name_in(const std::array<std::string_view, Count>& names, Enumeration what) {
  return names[static_cast<std::size_t>(what)];
}

constexpr std::array<std::string_view, 4> names_of_job_states{"delayed", "ready", "reserved", "buried"};

/// Bytes as a text of JSON: names may be no UTF-8.
std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}
std::string bytes_of(const std::string& hex) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(16 * value(hex[i]) + value(hex[i + 1]));
  return bytes;
}

std::int64_t ms_of(jobs::utc_time time) { return time.time_since_epoch().count(); }
std::optional<jobs::utc_time> time_in(const record_json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end()) return std::nullopt;
  return jobs::utc_time(jobs::milliseconds(found->get<std::int64_t>()));
}

/// What `read` makes of the JSON of a field; nothing if it is none, or lacks something.
template <class Read>
auto read_field(std::string_view text, const Read& read) -> decltype(read(record_json())) {
  try {
    return read(record_json::parse(text));
  } catch (const record_json::exception&) {
    return std::nullopt;
  }
}

job_filter filter_in(const record_json& from) {
  job_filter made;
  made.tube = bytes_of(from.value("tube", ""));
  made.prefix = bytes_of(from.value("prefix", ""));
  for (const record_json& each : from.value("within", record_json::array())) {
    made.within.push_back(bytes_of(each.get<std::string>()));
  }
  made.state = value_named<jobs::job_state>(names_of_job_states, from.value("state", ""));
  made.key_prefix = bytes_of(from.value("key_prefix", ""));
  made.text = bytes_of(from.value("text", ""));
  return made;
}

std::optional<action_plan> plan_in(const record_json& from) {
  action_plan made;
  const auto kind = value_named<action_kind>(names_of_kinds, from.at("do").get<std::string>());
  if (!kind) return std::nullopt;
  made.what = *kind;
  made.filter = filter_in(from.at("filter"));
  if (const auto time = time_in(from, "due")) made.due = *time;
  if (const auto delay = time_in(from, "delay")) made.due = delay->time_since_epoch();
  made.owner = bytes_of(from.value("owner", ""));
  const auto proof = parse_digest(from.at("proof").get<std::string>());
  if (!proof) return std::nullopt;
  made.proof = *proof;
  return made;
}

std::optional<action_progress> progress_in(const record_json& from) {
  action_progress made;
  const auto state = value_named<action_state>(names_of_action_states, from.at("state").get<std::string>());
  if (!state) return std::nullopt;
  made.state = *state;
  made.reason = from.value("reason", "");
  made.turns = from.at("turns").get<std::uint32_t>();
  made.place = from.at("place").get<jobs::job_id>();
  made.counted = from.at("counted").get<std::uint64_t>();
  made.counted_to = from.at("counted_to").get<jobs::job_id>();
  made.partly = from.at("partly").get<std::uint64_t>();
  made.matched = from.at("matched").get<std::uint64_t>();
  const record_json& outcomes = from.at("outcomes");
  for (std::size_t i = 0; i < made.outcomes.size(); ++i) made.outcomes[i] = outcomes.at(i).get<std::uint64_t>();
  for (const record_json& each : from.at("named")) {
    const auto outcome = value_named<action_outcome>(names_of_outcomes, each.at(1).get<std::string>());
    if (outcome) made.named.emplace_back(each.at(0).get<jobs::job_id>(), *outcome);
  }
  made.doing = from.at("doing").get<std::uint64_t>();
  made.doing_to = from.at("doing_to").get<jobs::job_id>();
  made.doing_versions = from.at("doing_versions").get<std::vector<jobs::job_version>>();
  made.due = time_in(from, "due");
  made.started = time_in(from, "started");
  made.ended = time_in(from, "ended");
  made.kept_until = time_in(from, "kept_until");
  return made;
}

}  // namespace

std::shared_ptr<const rights> action_plan::needs() const {
  scope_set scopes;
  scopes.add(scope::change);
  if (filter.needs_body()) scopes.add(scope::look);
  // Rights have prefixes: that of a tube is its name. The filter keeps to the tube itself.
  std::vector<std::string> prefixes = filter.tube.empty() ? filter.within : std::vector<std::string>{filter.tube};
  return std::make_shared<const rights>(owner, "", scopes, std::move(prefixes), instant::never(), proof);
}

std::optional<jobs::job_fields> action_plan::fields() const {
  record_json all = record_json::object();
  all["do"] = name_in(names_of_kinds, what);
  record_json& which = all["filter"] = record_json::object();
  which["tube"] = hex_of(filter.tube);
  which["prefix"] = hex_of(filter.prefix);
  which["within"] = record_json::array();
  for (const std::string& each : filter.within) which["within"].push_back(hex_of(each));
  if (filter.state) which["state"] = name_in(names_of_job_states, *filter.state);
  which["key_prefix"] = hex_of(filter.key_prefix);
  which["text"] = hex_of(filter.text);
  if (due && std::holds_alternative<jobs::utc_time>(*due)) all["due"] = ms_of(std::get<jobs::utc_time>(*due));
  if (due && std::holds_alternative<jobs::milliseconds>(*due))
    all["delay"] = std::get<jobs::milliseconds>(*due).count();
  all["owner"] = hex_of(owner);
  all["proof"] = hexadecimal(proof);
  jobs::job_fields made;
  if (!made.set(tag_of_plan, all.dump())) return std::nullopt;
  return made;
}

std::optional<action_plan> action_plan::in(const jobs::job_fields& fields) {
  const auto text = fields.find(tag_of_plan);
  return text ? read_field(*text, plan_in) : std::nullopt;
}

void action_progress::note(jobs::job_id id, action_outcome what) {
  ++outcomes[static_cast<std::size_t>(what)];
  if (what != action_outcome::done && named.size() < most_named) named.emplace_back(id, what);
}

void action_progress::end(action_state how, std::string why, jobs::utc_time now) {
  state = how;
  reason = std::move(why);
  matched += doing;
  outcomes[static_cast<std::size_t>(action_outcome::unknown)] += doing;
  doing = 0;
  doing_to = 0;
  doing_versions.clear();
  ended = now;
  kept_until = now + kept_when_ended;
}

jobs::job_fields action_progress::history() const {
  record_json all = record_json::object();
  all["state"] = name_in(names_of_action_states, state);
  if (!reason.empty()) all["reason"] = reason;
  all["turns"] = turns;
  all["place"] = place;
  all["counted"] = counted;
  all["counted_to"] = counted_to;
  all["partly"] = partly;
  all["matched"] = matched;
  all["outcomes"] = outcomes;
  all["named"] = record_json::array();
  for (const auto& [id, outcome] : named) {
    record_json one = record_json::array();
    one.push_back(id);
    one.push_back(name_in(names_of_outcomes, outcome));
    all["named"].push_back(std::move(one));
  }
  all["doing"] = doing;
  all["doing_to"] = doing_to;
  all["doing_versions"] = doing_versions;
  if (due) all["due"] = ms_of(*due);
  if (started) all["started"] = ms_of(*started);
  if (ended) all["ended"] = ms_of(*ended);
  if (kept_until) all["kept_until"] = ms_of(*kept_until);
  jobs::job_fields made;
  static_cast<void>(made.set(tag_of_progress, all.dump()));  // its length has a bound far below that of a history
  return made;
}

std::optional<action_progress> action_progress::in(const jobs::job_fields& history) {
  const auto text = history.find(tag_of_progress);
  return text ? read_field(*text, progress_in) : action_progress();
}

std::optional<action> action::in(const jobs::job& record) {
  if (record.tube != tube_of_actions) return std::nullopt;
  std::optional<action_plan> plan = action_plan::in(record.fields);
  std::optional<action_progress> progress = action_progress::in(record.history);
  if (!plan || !progress) return std::nullopt;
  return action{record.id, record.made, std::move(*plan), std::move(*progress)};
}

}  // namespace foliot::program

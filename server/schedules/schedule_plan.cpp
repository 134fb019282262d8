#include "schedule_plan.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/names.hpp>

#include "server/http/job_headers.hpp"
#include "server/http/object_reader.hpp"
#include "server/http/times.hpp"

namespace foliot::program {

bool is_schedule_name(std::string_view name) noexcept {
  return name.size() <= longest_schedule_name && jobs::is_tube_name(name);
}

std::string key_of_schedule(std::string_view tube, std::string_view name) {
  std::string key(tube);
  key += ':';
  key += name;
  return key;
}

std::optional<std::pair<std::string_view, std::string_view>> schedule_of_key(std::string_view key) noexcept {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view tube = key.substr(0, colon);
  const std::string_view name = key.substr(colon + 1);
  if (!jobs::is_tube_name(tube) || !is_schedule_name(name)) return std::nullopt;
  return std::pair(tube, name);
}

namespace {

using http::json;
using http::ordered_json;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::size_t most_planned_rules = 100;
constexpr std::size_t most_excluded_dates = 10'000;
constexpr std::uint64_t most_counted_of_plan = 1'000'000;
constexpr seconds longest_planned_jitter = std::chrono::days(7);
constexpr seconds longest_planned_length = std::chrono::days(36'600);
/// The occurrence needs room in the fields of its job, beside the content type and the headers.
constexpr std::size_t most_template_fields = jobs::most_field_bytes - 1024;

constexpr std::array<std::string_view, 2> names_of_gaps{"shift", "skip"};
constexpr std::array<std::string_view, 3> names_of_overlaps{"first", "last", "both"};

using plan_reader = http::object_reader;
using wrong_plan = http::wrong_member;

/// A time in whole seconds, rounded up.
std::optional<sys_seconds> instant_in(plan_reader& in, std::string_view name) {
  const auto found = in.text(name, "\"2026-11-29T05:40:00Z\"");
  if (!found) return std::nullopt;
  const auto read = http::parse_time(*found);
  if (!read) in.refuse(name, fmt::format("`{}` must be a time of RFC 3339 such as 2026-11-29T05:40:00Z", name));
  const auto at = std::chrono::ceil<seconds>(*read);
  if (at < schedule::earliest || at >= schedule::latest)
    in.refuse(name, fmt::format("`{}` must be within the years 1 to 9999", name));
  return at;
}

/// Whether the rule counts from an anchor.
bool needs_anchor(const planned_rule& one) {
  if (!one.text.contains("every")) return false;
  const auto rule = schedule::rule::parse(one.text, {.cron = one.dialect});
  return rule && rule->kind() == schedule::rule_kind::every && !one.text.contains(" from ");
}

planned_rule read_rule(const json& from, const std::string& pointer) {
  planned_rule made;
  std::string pointer_to_text = pointer;
  if (from.is_text()) {
    made.text = from.text();
  } else if (from.is_object()) {
    plan_reader in(from, pointer, "a rule");
    made.text = in.text("text", "\"0 9 * * MON-FRI\"").value_or("");
    if (const auto name = in.text("dialect", "\"quartz\"")) {
      const auto dialect = schedule::dialect_named(*name);
      if (!dialect) in.refuse("dialect", "`dialect` must be `vixie`, `seconds`, `quartz` or `eventbridge`");
      made.dialect = *dialect;
    }
    made.anchor = instant_in(in, "anchor");
    in.expect_no_others();
    pointer_to_text += "/text";
  } else {
    throw wrong_plan(pointer, "a rule must be a string such as \"0 9 * * MON-FRI\", or an object with `text`");
  }
  const auto rule = schedule::rule::parse(made.text, {.cron = made.dialect});
  if (!rule) throw wrong_plan(pointer_to_text, rule.error().message());
  if (made.anchor && !needs_anchor(made))
    throw wrong_plan(pointer + "/anchor", "an anchor belongs to `every` without `from`: leave it out");
  return made;
}

std::vector<planned_rule> read_rules(const json& from, const std::string& pointer) {
  if (!from.is_array())
    throw wrong_plan(pointer, "rules must be an array of strings, or of objects with `text` and `dialect`");
  if (from.size() > most_planned_rules)
    throw wrong_plan(pointer, "there are more than 100 rules: make several schedules");
  std::vector<planned_rule> made;
  for (const json& each : from) made.push_back(read_rule(each, fmt::format("{}/{}", pointer, made.size())));
  return made;
}

void read_exclusions(const json& from, schedule_plan& into) {
  plan_reader in(from, "/exclude", "`exclude`");
  if (const json* const dates = in.find("dates")) {
    if (!dates->is_array()) in.refuse("dates", "`dates` must be an array of days such as \"2026-12-25\"");
    if (dates->size() > most_excluded_dates)
      in.refuse("dates", "there are more than 10000 excluded dates: leave out those that are past");
    std::size_t place = 0;
    for (const json& each : *dates) {
      const auto day = each.is_text() ? schedule::date_of(each.text()) : std::nullopt;
      if (!day || !day->ok())
        throw wrong_plan(fmt::format("/exclude/dates/{}", place),
                         "an excluded date must be a day such as \"2026-12-25\"");
      into.excluded_dates.push_back(*day);
      ++place;
    }
    std::ranges::sort(into.excluded_dates);
    const auto [first, last] = std::ranges::unique(into.excluded_dates);
    into.excluded_dates.erase(first, last);
  }
  if (const json* const rules = in.find("rules")) into.excluded_rules = read_rules(*rules, "/exclude/rules");
  in.expect_no_others();
}

/// The body in `body`, `text` or `base64`. Returns its content type.
std::string_view read_template_body(plan_reader& in, job_template& into) {
  const json* const value = in.find_any("body");
  const auto text = in.text("text", "\"hello\"");
  const auto encoded = in.text("base64", "\"aGVsbG8=\"");
  if ((value != nullptr ? 1 : 0) + (text ? 1 : 0) + (encoded ? 1 : 0) > 1)
    in.refuse("body", "`body`, `text` and `base64` exclude each other: name one");
  if (value != nullptr) {
    into.body = http::json_text(*value);
    into.form = "body";
    return "application/json";
  }
  if (text) {
    into.body = *text;
    into.form = "text";
    return "text/plain; charset=utf-8";
  }
  if (!encoded) return "";
  std::optional<std::string> bytes = http::from_base64(*encoded);
  if (!bytes) in.refuse("base64", "`base64` must be base64 with padding, as RFC 4648 has it");
  into.body = std::move(*bytes);
  into.form = "base64";
  return "application/octet-stream";
}

void read_template_fields(plan_reader& in, std::string_view type, job_template& into) {
  const auto asked = in.text("content_type", "\"text/html\"");
  http::job_headers headers;
  if (const json* const given = in.find("headers")) {
    if (!given->is_object()) in.refuse("headers", "`headers` must be an object of strings");
    for (const json& each : *given) {
      if (!each.is_text())
        throw wrong_plan("/job/headers/" + http::pointer_name(each.name()), "a header must be a string");
      headers.emplace(each.name(), each.text());
    }
  }
  const auto set = http::set_headers(into.fields, asked.value_or(type), headers);
  if (!set && !set.error().name.empty())
    throw wrong_plan("/job/headers/" + http::pointer_name(set.error().name), set.error().detail);
  if (!set) in.refuse(set.error().is_of_type ? "content_type" : "headers", set.error().detail);
  if (into.fields.bytes().size() > most_template_fields)
    in.refuse("headers", fmt::format("content type and headers have at most {} bytes together", most_template_fields));
}

job_template read_template(const json& from, std::size_t longest_body) {
  job_template made;
  plan_reader in(from, "/job", "`job`");
  const std::string_view type = read_template_body(in, made);
  if (made.body.size() > longest_body)
    in.refuse(made.form, fmt::format("the body of a job has at most {} bytes", longest_body));
  if (const auto number = in.number("priority", 0, std::numeric_limits<jobs::priority>::max()))
    made.priority = static_cast<jobs::priority>(*number);
  if (const auto ttr = in.length<jobs::milliseconds>("ttr", jobs::milliseconds(1), jobs::longest_time)) made.ttr = *ttr;
  read_template_fields(in, type, made);
  in.expect_no_others();
  return made;
}

void read_times(plan_reader& in, schedule_plan& into) {
  if (const auto zone = in.text("zone", "\"Europe/Berlin\"")) into.zone = *zone;
  if (into.zone.empty() || into.zone.size() > 200)
    in.refuse("zone", "`zone` must be a name such as Europe/Berlin or UTC");
  if (const json* const exclude = in.find("exclude")) read_exclusions(*exclude, into);
  into.starts = instant_in(in, "starts");
  into.ends = instant_in(in, "ends");
  if (into.starts && into.ends && *into.ends <= *into.starts)
    in.refuse("ends", fmt::format("`ends` must be after `starts`, {}", schedule::text_of(*into.starts)));
  into.count = static_cast<std::uint32_t>(in.number("count", 1, most_counted_of_plan).value_or(0));
  into.jitter = in.length<seconds>("jitter", seconds(0), longest_planned_jitter).value_or(seconds(0));
  if (const auto gap = in.choice("gap", names_of_gaps)) into.gap = static_cast<schedule::gap_policy>(*gap);
  if (const auto overlap = in.choice("overlap", names_of_overlaps))
    into.overlap = static_cast<schedule::overlap_policy>(*overlap);
}

void read_policies(plan_reader& in, schedule_plan& into) {
  if (const auto missed = in.choice("missed", names_of_missed_policies))
    into.missed = static_cast<missed_policy>(*missed);
  if (const auto limit = in.number("missed_limit", 1, most_missed_limit)) {
    if (into.missed != missed_policy::all)
      in.refuse("missed_limit", "`missed_limit` needs \"missed\": \"all\": `none` makes none, and `last` one");
    into.missed_limit = static_cast<std::uint32_t>(*limit);
  }
  if (const auto window = in.length<seconds>("missed_window", seconds(1), longest_planned_length))
    into.missed_window = *window;
  const json* const busy = in.find("busy");
  if (busy != nullptr && busy->is_text() && busy->text() == "disown")
    in.refuse("busy", "`disown` is not supported yet: `busy` must be " + http::listed_words(names_of_busy_policies));
  if (const auto policy = in.choice("busy", names_of_busy_policies)) into.busy = static_cast<busy_policy>(*policy);
  if (const auto limit = in.number("busy_limit", 1, most_busy_limit)) {
    if (into.busy != busy_policy::queue) in.refuse("busy_limit", "`busy_limit` needs \"busy\": \"queue\"");
    into.busy_limit = static_cast<std::uint32_t>(*limit);
  }
  into.deadline = in.length<seconds>("deadline", seconds(1), longest_planned_length);
  if (const auto note = in.text("note", "\"why it is here\"")) into.note = *note;
  if (into.note.size() > longest_note) in.refuse("note", fmt::format("`note` has at most {} bytes", longest_note));
}

/// What a rule `after` cannot have.
void check_delay(const schedule_plan& made) {
  const auto is_delay = [](const planned_rule& each) {
    const auto rule = schedule::rule::parse(each.text, {.cron = each.dialect});
    return rule && rule->kind() == schedule::rule_kind::delay;
  };
  if (std::ranges::any_of(made.rules, is_delay) && made.rules.size() > 1)
    throw wrong_plan("/rules", "a delay from the end of the last run (`after`) is alone: make a schedule for each");
  if (std::ranges::any_of(made.excluded_rules, is_delay))
    throw wrong_plan("/exclude/rules", "`after` excludes nothing: name times that do not depend on runs");
}

ordered_json rule_json(const planned_rule& one) {
  if (one.dialect == schedule::dialect::vixie && !one.anchor) return one.text;
  ordered_json made = ordered_json::object();
  made["text"] = one.text;
  if (one.dialect != schedule::dialect::vixie) made["dialect"] = schedule::name_of(one.dialect);
  if (one.anchor) made["anchor"] = schedule::text_of(*one.anchor);
  return made;
}

ordered_json rules_json(const std::vector<planned_rule>& rules) {
  ordered_json made = ordered_json::array();
  for (const planned_rule& each : rules) made.push_back(rule_json(each));
  return made;
}

std::string_view default_type_of(const job_template& one) noexcept {
  if (one.form == "body") return "application/json";
  if (one.form == "text") return "text/plain; charset=utf-8";
  return one.form == "base64" ? "application/octet-stream" : "";
}

ordered_json template_json(const job_template& one) {
  ordered_json made = ordered_json::object();
  if (one.form == "text") made["text"] = one.body;
  if (one.form == "base64") made["base64"] = http::base64(one.body);
  if (one.form == "body") {
    const auto read = http::parse_json(one.body);
    made["body"] = read ? http::ordered(read->root()) : ordered_json(nullptr);  // read() has made a text of JSON of it
  }
  if (one.priority != 0) made["priority"] = one.priority;
  if (one.ttr != job_template().ttr) made["ttr"] = to_string(duration(one.ttr));
  const std::string_view type = http::content_type_of(one.fields);
  if (type != default_type_of(one)) made["content_type"] = type;
  const http::job_headers headers = http::headers_of(one.fields);
  if (headers.empty()) return made;
  ordered_json& all = made["headers"] = ordered_json::object();
  for (const auto& [name, value] : headers) all[name] = value;
  return made;
}

/// The digest of a plan (FNV-1a), member by member. Each text has its length in front.
class plan_digest {
 public:
  void add(std::string_view text) {
    add(text.size());
    for (const char each : text) add_byte(static_cast<unsigned char>(each));
  }
  template <std::integral Number>
  void add(Number number) {
    for (int shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift & 255U));
  }
  template <class Time>
    requires requires(Time time) { time.time_since_epoch(); }
  void add(Time time) {
    add(time.time_since_epoch().count());
  }
  void add(const std::optional<sys_seconds>& time) {
    add(time.has_value());
    if (time) add(*time);
  }
  void add(const std::vector<planned_rule>& rules) {
    add(rules.size());
    for (const planned_rule& each : rules) {
      add(each.text);
      add(static_cast<std::int64_t>(each.dialect));
      add(each.anchor);
    }
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }

 private:
  void add_byte(unsigned char byte) noexcept { sum_ = (sum_ ^ byte) * 1099511628211U; }

  std::uint64_t sum_ = 14695981039346656037U;
};

template <class Enumeration, std::size_t Count>
std::string_view name_among(const std::array<std::string_view, Count>& names, Enumeration what) {
  return names[static_cast<std::size_t>(what)];
}

}  // namespace

std::expected<schedule_plan, plan_error> schedule_plan::read(const http::json& from, std::size_t longest_body) {
  try {
    schedule_plan made;
    plan_reader in(from, "", "a schedule");
    const http::json* const given = in.find("rules");
    if (given == nullptr) in.refuse("rules", "`rules` is missing: name at least one, such as \"0 9 * * MON-FRI\"");
    made.rules = read_rules(*given, "/rules");
    if (made.rules.empty()) in.refuse("rules", "`rules` is empty: name at least one, such as \"0 9 * * MON-FRI\"");
    read_times(in, made);
    read_policies(in, made);
    if (const http::json* const described = in.find("job")) made.job = read_template(*described, longest_body);
    in.expect_no_others();
    check_delay(made);
    return made;
  } catch (wrong_plan& wrong) {
    return std::unexpected(plan_error{std::move(wrong.pointer()), std::move(wrong.detail())});
  }
}

std::expected<schedule_plan, plan_error> schedule_plan::read(std::string_view text) {
  const auto read = http::parse_json(text);
  if (read) return schedule_plan::read(read->root());
  return std::unexpected(plan_error{read.error().name, read.error().detail});
}

http::ordered_json schedule_plan::json() const {
  const schedule_plan usual;
  ordered_json made = ordered_json::object();
  made["rules"] = rules_json(rules);
  if (zone != usual.zone) made["zone"] = zone;
  if (!excluded_dates.empty() || !excluded_rules.empty()) {
    ordered_json& exclude = made["exclude"] = ordered_json::object();
    if (!excluded_dates.empty()) {
      ordered_json& dates = exclude["dates"] = ordered_json::array();
      for (const std::chrono::year_month_day& day : excluded_dates)
        dates.push_back(schedule::text_of(sys_seconds(std::chrono::sys_days(day))).substr(0, 10));
    }
    if (!excluded_rules.empty()) exclude["rules"] = rules_json(excluded_rules);
  }
  if (starts) made["starts"] = schedule::text_of(*starts);
  if (ends) made["ends"] = schedule::text_of(*ends);
  if (count != 0) made["count"] = count;
  if (jitter != seconds(0)) made["jitter"] = to_string(duration(jitter));
  if (gap != usual.gap) made["gap"] = name_among(names_of_gaps, gap);
  if (overlap != usual.overlap) made["overlap"] = name_among(names_of_overlaps, overlap);
  if (missed != usual.missed) made["missed"] = name_among(names_of_missed_policies, missed);
  if (missed_limit != usual.missed_limit) made["missed_limit"] = missed_limit;
  if (missed_window != usual.missed_window) made["missed_window"] = to_string(duration(missed_window));
  if (busy != usual.busy) made["busy"] = name_among(names_of_busy_policies, busy);
  if (busy_limit != usual.busy_limit) made["busy_limit"] = busy_limit;
  if (deadline) made["deadline"] = to_string(duration(*deadline));
  if (!note.empty()) made["note"] = note;
  ordered_json template_of_job = template_json(job);
  if (!template_of_job.empty()) made["job"] = std::move(template_of_job);
  return made;
}

std::string schedule_plan::text() const { return http::json_text(json()); }

std::optional<plan_error> schedule_plan::fault_as_record() const {
  // The jobs of a turn may have most_of_turn besides the record, or one job more (turn_bounds, change_plan()).
  constexpr std::size_t most_of_turn = std::size_t{8} << 20;
  constexpr std::size_t margin = std::size_t{64} << 10;
  const std::string all = text();
  const std::size_t bytes = all.size() + std::max(job.body.size(), most_of_turn) + margin;
  if (bytes > jobs::most_bytes_put_together) {
    return plan_error{"/job", fmt::format("the plan has {} bytes as JSON, and {} in the body of its job: both have at "
                                          "most {} together, of which the body has half",
                                          all.size(), job.body.size(), jobs::most_bytes_put_together - margin)};
  }
  const auto read = schedule_plan::read(all);
  if (read) return std::nullopt;
  return plan_error{job.form == "body" ? "/job/body" : "/exclude/dates",
                    fmt::format("the plan cannot be kept as JSON: {}: give the body as `text`, or make several "
                                "schedules",
                                read.error().detail)};
}

std::uint64_t schedule_plan::digest() const {
  plan_digest sum;
  sum.add(rules);
  sum.add(zone);
  sum.add(excluded_dates.size());
  for (const std::chrono::year_month_day& day : excluded_dates) sum.add(std::chrono::sys_days(day));
  sum.add(excluded_rules);
  sum.add(starts);
  sum.add(ends);
  sum.add(count);
  sum.add(jitter.count());
  sum.add(static_cast<std::int64_t>(gap));
  sum.add(static_cast<std::int64_t>(overlap));
  sum.add(static_cast<std::int64_t>(missed));
  sum.add(missed_limit);
  sum.add(missed_window.count());
  sum.add(static_cast<std::int64_t>(busy));
  sum.add(busy_limit);
  sum.add(deadline ? deadline->count() : -1);
  sum.add(job.form);
  sum.add(job.body);
  sum.add(job.priority);
  sum.add(job.ttr.count());
  sum.add(job.fields.bytes());
  return sum.value();
}

bool schedule_plan::lacks_anchors() const {
  const auto lacks = [](const planned_rule& each) { return !each.anchor && needs_anchor(each); };
  return std::ranges::any_of(rules, lacks) || std::ranges::any_of(excluded_rules, lacks);
}

void schedule_plan::settle_anchors(const schedule_plan* before, std::chrono::sys_seconds now) {
  const auto settle = [&](std::vector<planned_rule>& all, const std::vector<planned_rule>* old) {
    for (planned_rule& each : all) {
      if (each.anchor || !needs_anchor(each)) continue;
      each.anchor = now;
      if (old == nullptr) continue;
      const auto same = std::ranges::find(*old, each.text, &planned_rule::text);
      if (same != old->end() && same->anchor) each.anchor = same->anchor;
    }
  };
  settle(rules, before == nullptr ? nullptr : &before->rules);
  settle(excluded_rules, before == nullptr ? nullptr : &before->excluded_rules);
}

std::expected<schedule_table, plan_error> schedule_plan::table_in(schedule::zone where, std::string_view tube,
                                                                  std::string_view name) const {
  schedule::timetable_options options;
  options.where = std::move(where);
  options.gap = gap;
  options.overlap = overlap;
  options.excluded_dates = excluded_dates;
  options.starts = starts;
  options.ends = ends;
  options.jitter = jitter;
  const auto add = [](const std::vector<planned_rule>& from, std::string_view pointer,
                      std::vector<schedule::rule>& to) -> std::optional<plan_error> {
    for (std::size_t i = 0; i < from.size(); ++i) {
      auto rule = schedule::rule::parse(from[i].text,
                                        {.cron = from[i].dialect, .anchor = from[i].anchor.value_or(sys_seconds())});
      if (!rule) return plan_error{fmt::format("{}/{}", pointer, i), rule.error().message()};
      to.push_back(*std::move(rule));
    }
    return std::nullopt;
  };
  if (auto wrong = add(rules, "/rules", options.rules)) return std::unexpected(*std::move(wrong));
  if (auto wrong = add(excluded_rules, "/exclude/rules", options.exclusions)) return std::unexpected(*std::move(wrong));
  const bool is_delay = options.rules.front().kind() == schedule::rule_kind::delay;
  const auto is_fixed = [](const schedule::rule& each) { return each.has_fixed_times(); };
  const auto count_of_fixed = static_cast<std::size_t>(std::ranges::count_if(options.rules, is_fixed));
  const bool has_both = count_of_fixed > 0 && count_of_fixed < options.rules.size();
  auto all = schedule::timetable::make(options);
  if (!all) return std::unexpected(plan_error{"/rules", std::move(all.error())});
  schedule_table made{.all = *std::move(all)};
  for (const bool wanted : {true, false}) {
    if (!has_both) break;
    schedule::timetable_options part = options;
    std::erase_if(part.rules, [&](const schedule::rule& each) { return is_fixed(each) != wanted; });
    auto some = schedule::timetable::make(std::move(part));
    if (!some) return std::unexpected(plan_error{"/rules", std::move(some.error())});
    (wanted ? made.fixed : made.elapsed) = *std::move(some);
  }
  made.has_fixed_times = count_of_fixed > 0;
  made.is_delay = is_delay;
  made.name = key_of_schedule(tube, name);
  return made;
}

}  // namespace foliot::program

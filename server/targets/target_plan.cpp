#include "target_plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>

#include "text/duration_text.hpp"
#include "text/nearest.hpp"

namespace foliot::program {

namespace {

using http::json;
using http::ordered_json;

constexpr jobs::milliseconds least_time_out = std::chrono::milliseconds(100);
constexpr jobs::milliseconds longest_delay_of_try = std::chrono::days(30);

/// Reads the members of a plan, and remembers the first that is wrong.
class target_reader {
 public:
  explicit target_reader(const json& of) : object_(of) {}

  [[nodiscard]] bool is_good() const noexcept { return !fault_; }
  [[nodiscard]] target_fault fault() const { return *fault_; }
  void refuse(std::string_view name, std::string detail) {
    if (!fault_) fault_ = target_fault{"/" + http::pointer_name(name), std::move(detail)};
  }
  [[nodiscard]] const json* find(std::string_view name) {
    asked_.emplace_back(name);
    const json* const found = object_.find(name);
    return found != nullptr && found->what() != json::kind::null ? found : nullptr;
  }
  void text(std::string_view name, std::string& into) {
    const json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_text()) return refuse(name, fmt::format("`{}` must be a string", name));
    into = found->text();
  }
  template <class Number>
  void number(std::string_view name, std::uint64_t least, std::uint64_t most, Number& into) {
    const json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_number() || found->number() < least || found->number() > most)
      return refuse(name, fmt::format("`{}` must be a whole number from {} to {}", name, least, most));
    into = static_cast<Number>(found->number());
  }
  void length(std::string_view name, jobs::milliseconds least, jobs::milliseconds most, jobs::milliseconds& into) {
    if (const json* const found = find(name)) read_length(name, *found, least, most, into);
  }
  void read_length(std::string_view name, const json& from, jobs::milliseconds least, jobs::milliseconds most,
                   jobs::milliseconds& into) {
    std::optional<jobs::milliseconds> made;
    if (from.is_text() && from.text() == "0s") {
      made = jobs::milliseconds(0);
    } else if (from.is_text()) {
      const auto read = parse_duration(from.text());
      if (!read) return refuse(name, fmt::format("`{}` must be a length of time such as 15s: {}", name, read.error()));
      made = std::chrono::ceil<jobs::milliseconds>(read->to_chrono());
    } else {
      return refuse(name, fmt::format("`{}` must be a length of time such as \"15s\"", name));
    }
    if (*made < least || *made > most)
      return refuse(
          name, fmt::format("`{}` must be from {} to {}", name, to_string(duration(least)), to_string(duration(most))));
    into = *made;
  }
  void expect_no_others() {
    for (const json& each : object_) {
      if (std::ranges::find(asked_, each.name()) != asked_.end()) continue;
      const auto near = nearest(each.name(), asked_);
      refuse(each.name(),
             near ? fmt::format("a target has no member `{}`: did you mean `{}`?", each.name(), *near)
                  : fmt::format("a target has no member `{}`: it has `{}`", each.name(), fmt::join(asked_, "`, `")));
    }
  }

 private:
  const json& object_;
  std::vector<std::string> asked_;
  std::optional<target_fault> fault_;
};

bool is_plain_header_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// Headers are in the store, and in its backups, as they are: no place for what must be hidden.
bool is_secret_header(std::string_view lower) noexcept {
  return lower == "authorization" || lower == "cookie" || lower == "x-api-key" || lower.ends_with("-token") ||
         lower.ends_with("-secret");
}

void read_target_headers(target_reader& in, target_plan& into) {
  const json* const given = in.find("headers");
  if (given == nullptr) return;
  if (!given->is_object()) return in.refuse("headers", "`headers` must be an object of strings");
  if (given->size() > target_plan::most_headers)
    return in.refuse("headers", fmt::format("a target has at most {} headers", target_plan::most_headers));
  for (const json& each : *given) {
    std::string lower(each.name());
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (!is_plain_header_name(each.name()) || !each.is_text() || each.text().empty() || each.text().size() > 1024)
      return in.refuse("headers",
                       "a header has a name of letters, digits, `-` and `_`, and a string of 1 to 1024 "
                       "bytes as its value");
    if (is_secret_header(lower))
      return in.refuse(
          "headers", fmt::format("the header `{}` would keep a secret in the store as it is: receivers know foliot by "
                                 "the signature",
                                 each.name()));
    if (lower.starts_with("foliot-"))
      return in.refuse("headers", "headers that begin with `foliot-` are those of the delivery itself");
    into.headers.emplace(std::move(lower), each.text());
  }
}

void read_retries(target_reader& in, retry_plan& into) {
  in.number("tries", 1, retry_plan::most_tries, into.tries);
  const json* const given = in.find("delays");
  if (given == nullptr) return;
  if (!given->is_array() || given->empty() || given->size() > retry_plan::most_delays)
    return in.refuse("delays", fmt::format("`delays` must be an array of 1 to {} lengths of time such as \"5s\"",
                                           retry_plan::most_delays));
  into.delays.clear();
  for (const json& each : *given) {
    jobs::milliseconds one{};
    in.read_length("delays", each, jobs::milliseconds(0), longest_delay_of_try, one);
    into.delays.push_back(one);
  }
}

}  // namespace

bool is_secret_name(std::string_view name) noexcept {
  if (name.starts_with("whsec_")) return false;  // it is one
  return !name.empty() && name.size() <= target_plan::longest_secret_name && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::expected<target_plan, target_fault> target_plan::read(const http::json& from) {
  if (!from.is_object())
    return std::unexpected(target_fault{
        "", R"(the body must be a target, such as {"url": "https://hooks.example.com/in", "secret": "billing"})"});
  target_plan made;
  target_reader in(from);
  in.text("url", made.url);
  if (made.url.empty()) in.refuse("url", "`url` is missing: name one such as \"https://hooks.example.com/in\"");
  in.text("secret", made.secret);
  if (made.secret.empty())
    in.refuse("secret", "`secret` is missing: name one of those in the file of --webhook-secrets");
  if (!is_secret_name(made.secret))
    in.refuse("secret", fmt::format("`secret` must be the name of a secret, of {}, and never the secret itself",
                                    form_of_secret_names));
  in.text("content_type", made.content_type);
  if (made.content_type.empty() || made.content_type.size() > 255)
    in.refuse("content_type", "`content_type` must be one such as \"application/json\", of at most 255 bytes");
  in.length("time_out", least_time_out, longest_time_out, made.time_out);
  in.number("at_once", 1, most_at_once, made.at_once);
  in.number("each_second", 0, most_each_second, made.each_second);
  in.number("burst", 0, most_each_second, made.burst);
  read_retries(in, made.retries);
  read_target_headers(in, made);
  in.number("failures_to_open", 0, 1000, made.failures_to_open);
  in.length("first_pause", std::chrono::milliseconds(1), std::chrono::hours(24), made.first_pause);
  in.length("longest_pause", std::chrono::milliseconds(1), std::chrono::hours(24), made.longest_pause);
  if (made.longest_pause < made.first_pause)
    in.refuse("longest_pause", "`longest_pause` must not be shorter than `first_pause`");
  in.expect_no_others();
  if (!in.is_good()) return std::unexpected(in.fault());
  return made;
}

ordered_json target_plan::json() const {
  const auto length_text = [](jobs::milliseconds length) {
    return length == jobs::milliseconds(0) ? std::string("0s") : to_string(duration(length));
  };
  ordered_json all = ordered_json::object();
  all["url"] = url;
  all["secret"] = secret;
  all["content_type"] = content_type;
  all["time_out"] = length_text(time_out);
  all["at_once"] = at_once;
  all["each_second"] = each_second;
  all["burst"] = burst;
  all["tries"] = retries.tries;
  ordered_json& delays = all["delays"] = ordered_json::array();
  for (const jobs::milliseconds each : retries.delays) delays.push_back(length_text(each));
  ordered_json& own = all["headers"] = ordered_json::object();
  for (const auto& [name, value] : headers) own[name] = value;
  all["failures_to_open"] = failures_to_open;
  all["first_pause"] = length_text(first_pause);
  all["longest_pause"] = length_text(longest_pause);
  return all;
}

jobs::milliseconds target_plan::time_out_within(jobs::milliseconds ttr) const noexcept {
  // What is left is for the store to write down how it went.
  const jobs::milliseconds margin = std::min<jobs::milliseconds>(ttr / 2, std::chrono::seconds(2));
  return std::max(std::min(time_out, ttr - margin), jobs::milliseconds(1));
}

}  // namespace foliot::program

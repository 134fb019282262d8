#include "event_requests.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>

#include "load_limits.hpp"
#include "problem.hpp"
#include "server/access/authorized_client.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

/// Events of one piece, so that a piece has some KB.
constexpr std::size_t most_in_piece = 16;
/// After the first event the next ones are waited for so long: many cost few pieces.
constexpr duration gathering = std::chrono::milliseconds(10);

constexpr std::string_view name_of(jobs::event_record::kind what) noexcept {
  using enum jobs::event_record::kind;
  switch (what) {
    case put: return "put";
    case due: return "due";
    case reserved: return "reserved";
    case ended: break;
  }
  return "ended";
}

constexpr std::string_view name_of(jobs::event_record::reason why) noexcept {
  using enum jobs::event_record::reason;
  switch (why) {
    case none: break;
    case finished: return "finished";
    case cancelled: return "cancelled";
    case replaced: return "replaced";
    case cleared: return "cleared";
  }
  return "";
}

void append_event(std::string& to, std::string_view name, const ordered_json& data) {
  fmt::format_to(std::back_inserter(to), "event: {}\ndata: {}\n\n", name, json_text(data));
}

void append_id(std::string& to, const jobs::event_place& where) {
  fmt::format_to(std::back_inserter(to), "id: {}\n", text_of(where));
}

ordered_json value_of(const jobs::event_record& one) {
  ordered_json data = ordered_json::object();
  data["tube"] = one.tube;
  if (one.id != 0) data["id"] = std::to_string(one.id);
  if (!one.key.empty()) data["key"] = one.key;
  if (one.why != jobs::event_record::reason::none) data["reason"] = name_of(one.why);
  if (one.why == jobs::event_record::reason::cleared) data["count"] = one.count;
  data["at"] = time_text(one.at);
  return data;
}

class event_stream final : public streamed_body {
 public:
  explicit event_stream(std::unique_ptr<jobs::event_reader> of) : reader_(std::move(of)) {}

  task<> write_to(piece_writer& out) override {
    std::string text = "retry: 2000\n";
    append_id(text, append_news(text).place);
    text += '\n';
    bool is_written = co_await out.write(text);
    while (is_written) {
      text.clear();
      auto waiting = wait_for_news(text);
      co_await waiting;
      is_written = co_await out.write(text);
    }
  }

 private:
  /// Returns with a text that is not empty. Events that this client does not see wake it, and are no text.
  task<> wait_for_news(std::string& text) {
    const instant end_of_silence = runtime::now() + longest_silence;
    for (;;) {
      const jobs::event_place place = append_news(text).place;
      if (!text.empty()) co_return;
      const duration left = end_of_silence - runtime::now();
      if (left <= duration::zero()) {
        text = ":\n";
        append_id(text, place);
        text += '\n';
        co_return;
      }
      auto what = co_await runtime::select(reader_->more(), runtime::after(left));
      if (what.index() == 0) co_await runtime::sleep(gathering);
    }
  }
  jobs::event_reader::taken append_news(std::string& text) {
    jobs::event_reader::taken some = reader_->take(most_in_piece);
    append_events(text, some);
    return some;
  }

  const std::unique_ptr<jobs::event_reader> reader_;
};

/// Where a client was that comes again; nothing if it is new.
std::optional<jobs::event_place> place_in(const request& what) {
  constexpr std::string_view name = "last-event-id";
  const auto shown = what.find(name);
  if (!shown || shown->empty()) return std::nullopt;
  if (std::ranges::count(what.fields, name, &field::name) > 1) {
    throw wrong_input(problem{400, "Last-Event-ID is given twice", where::header, std::string(name)});
  }
  return event_place_in(*shown).value_or(jobs::event_place());
}

}  // namespace

std::string text_of(const jobs::event_place& where) { return fmt::format("{:016x}-{}", where.series, where.number); }

std::optional<jobs::event_place> event_place_in(std::string_view text) noexcept {
  constexpr std::size_t digits = 16;
  jobs::event_place found;
  if (text.size() < digits + 2 || text[digits] != '-') return std::nullopt;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto series = std::from_chars(begin, begin + digits, found.series, 16);
  const auto number = std::from_chars(begin + digits + 1, end, found.number);
  const bool is_right =
      series.ec == std::errc() && series.ptr == begin + digits && number.ec == std::errc() && number.ptr == end;
  return is_right ? std::optional(found) : std::nullopt;
}

void append_events(std::string& to, const jobs::event_reader::taken& some) {
  using enum jobs::event_reader::missing;
  if (some.missed > 0 || some.how_many == unknown) {
    ordered_json data = ordered_json::object();
    if (some.how_many == exactly) data["count"] = some.missed;
    if (some.how_many == at_most) data["at_most"] = some.missed;
    append_event(to, "missed", data);
  }
  for (std::size_t i = 0; i < some.events.size(); ++i) {
    append_id(to, jobs::event_place{some.place.series, some.numbers[i]});
    append_event(to, name_of(some.events[i].what), value_of(some.events[i]));
  }
}

task<response> show_events(call& by) {
  event_filter which;
  which.tube = by.in.text("tube");
  const std::optional<std::string> prefix = by.in.text("prefix");
  by.in.expect_no_others();
  if (which.tube && prefix) by.in.refuse("prefix", "`tube` and `prefix` exclude each other");
  which.prefix = prefix.value_or("");
  const std::optional<jobs::event_place> after = place_in(by.what);
  by.client.check_events(which);
  const std::string& token = by.client.allowed().id();
  const keyed_places::place among_all = by.state.streams.enter("");
  if (!among_all) co_return respond(problem{503, "the server has as many streams as it may have: try again later"});
  const keyed_places::place of_token = token.empty() ? keyed_places::place() : by.state.streams_of_token.enter(token);
  if (!token.empty() && !of_token) {
    co_return respond_too_many("this access token has as many streams as it may have",
                               problem_outcome::streams_of_token);
  }
  event_stream body(by.client.read_events(std::move(which), after));
  response head{200, "text/event-stream"};
  head.fields.push_back({"X-Accel-Buffering", "no"});  // nginx sends the pieces on
  auto streaming = by.side.stream(head, body);
  response done = co_await streaming;
  co_return done;
}

}  // namespace foliot::program::http

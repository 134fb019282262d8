// `x-due`: a page of what is due next.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "commands.hpp"
#include "session.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

std::optional<list_due> list_due::parse(std::string_view text) {
  arguments left(text);
  const auto count = left.number(jobs::most_listed_due);
  if (!count || *count == 0) return std::nullopt;
  const auto from = left.due();
  if (!from || !std::holds_alternative<jobs::utc_time>(*from)) return std::nullopt;
  const auto after = left.number(max_u64);
  if (!after) return std::nullopt;
  const std::string_view prefix = left.word();
  if (!left.at_end() || (prefix != "-" && !is_tube_name(prefix))) return std::nullopt;
  return list_due{static_cast<std::uint32_t>(*count), std::get<jobs::utc_time>(*from), *after,
                  prefix == "-" ? std::string_view() : prefix};
}

task<> list_due::answer(session& by, list_due what) {
  const std::size_t wanted = what.count * 3 * longest_line;  // as an answer, as a text, and behind the answers
  const bool gets_room = co_await by.take_room(wanted);
  if (!gets_room) co_return;
  jobs::list_due page;
  page.prefix = what.prefix;
  page.from = what.from;
  page.after = what.after;
  page.count = what.count;
  auto listing = by.client().execute(std::move(page));
  const jobs::due_answer listed = co_await listing;
  write(by.answers(), listed.jobs);
}

void list_due::write(std::string& out, std::span<const jobs::due_job> listed) {
  record_list lines(listed.size() * longest_line);
  for (const jobs::due_job& each : listed) {
    lines.begin();
    lines.add("id", each.id);
    lines.add_quoted("tube", each.tube);
    lines.add("state", each.state);
    lines.add("due-ms", static_cast<std::uint64_t>(each.due.time_since_epoch().count()));
    lines.end();
  }
  lines.write(out);
}

}  // namespace foliot::program::beanstalk

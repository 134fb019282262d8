// The answer to `x-due`: a page of what is due next.
#include <string>
#include <utility>

#include "commands.hpp"
#include "session.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

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

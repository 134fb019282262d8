#include "job_filter.hpp"

#include <algorithm>

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

}  // namespace foliot::program

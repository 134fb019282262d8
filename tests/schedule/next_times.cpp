// Answers questions about times, for tests in Python: one a line of standard input, one a line of standard output.
//
//   RULE <tab> ZONE <tab> SECONDS <tab> COUNT <tab> next|previous <tab> shift|skip <tab> first|last|both <tab> DIALECT
//
// SECONDS are those since 1970. The answer is "version" of the zone's data and the times, or "wrong: " and why there
// are none. FOLIOT_ZONES in the environment names another folder than the system's.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/schedule.hpp>

namespace {

namespace schedule = foliot::schedule;

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t tab = line.find('\t');
    cells.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

std::string answer(const std::vector<std::string>& cells, const schedule::zone_directory& zones) {
  if (cells.size() != 8) return "wrong: eight cells are needed";
  const auto cron = schedule::dialect_named(cells[7]);
  if (!cron) return "wrong: no such dialect";
  std::chrono::sys_seconds time(std::chrono::seconds(std::stoll(cells[2])));
  const auto rule = schedule::rule::parse(cells[0], {.cron = *cron, .anchor = time});
  if (!rule) return "wrong: " + rule.error().message();
  const auto where = zones.find(cells[1]);
  if (!where) return "wrong: " + where.error();
  schedule::timetable_options options;
  options.rules.push_back(*rule);
  options.where = *where;
  options.gap = cells[5] == "skip" ? schedule::gap_policy::skip : schedule::gap_policy::shift;
  options.overlap = cells[6] == "both"   ? schedule::overlap_policy::both
                    : cells[6] == "last" ? schedule::overlap_policy::last
                                         : schedule::overlap_policy::first;
  const auto table = schedule::timetable::make(options);
  if (!table) return "wrong: " + table.error();
  std::string text = where->version();
  for (int left = std::stoi(cells[3]); left > 0; --left) {
    const auto found = cells[4] == "previous" ? table->previous(time) : table->next(time);
    if (!found) return text + " never";
    time = found->at;
    text += ' ' + std::to_string(time.time_since_epoch().count());
  }
  return text;
}

}  // namespace

int main() {
  const char* const folder = std::getenv("FOLIOT_ZONES");
  const schedule::zone_directory zones =
      folder == nullptr ? schedule::zone_directory() : schedule::zone_directory(folder);
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(cells_of(line), zones) << '\n';
}

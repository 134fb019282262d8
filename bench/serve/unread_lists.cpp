#include "unread_lists.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "late_jobs.hpp"
#include "load_generator.hpp"
#include "tube.hpp"

namespace foliot::program::bench {

namespace {

/// foliot lets a connection watch 1,000.
constexpr std::size_t tubes_of_a_connection = 900;
constexpr std::size_t name_length = 200;

void make_tubes(load_generator& keepers, std::size_t tubes) {
  for (std::size_t first = 0; first < tubes; first += tubes_of_a_connection) {
    const std::size_t last = std::min(first + tubes_of_a_connection, tubes);
    std::string commands;
    for (std::size_t tube = first; tube < last; ++tube)
      commands += fmt::format("watch t{:0{}}\r\n", tube, name_length - 1);
    keepers.expect(first / tubes_of_a_connection, commands, last - first, reply_kind::watching);
  }
}

}  // namespace

std::vector<serve_figure> measure_unread_lists(const unread_lists& asked, const server_ground& ground) {
  const std::filesystem::path folder = ground.folder / "lists";
  std::filesystem::create_directory(folder);
  const server_process server(ground.kind, folder, ground.settings);
  load_generator keepers(server.address(), (asked.tubes + tubes_of_a_connection - 1) / tubes_of_a_connection);
  make_tubes(keepers, asked.tubes);
  load_generator other(server.address(), 1);
  enter_tube(other, 0, "foliot-bench-steady");
  load_generator readers(server.address(), asked.readers);
  for (std::size_t each = 0; each < readers.size(); ++each) readers.send(each, "list-tubes\r\n");
  readers.turn([](std::size_t, const reply&) {}, duration::zero());  // and never again
  const clock& time = monotonic_clock::instance();
  const instant end = time.now() + asked.length;
  std::vector<std::int64_t> lengths;
  do {
    const instant began = time.now();
    std::uint64_t job = 0;
    other.send(0, "put 0 0 600 1\r\nx\r\nreserve\r\n", 2);
    other.finish([&job](std::size_t, const reply& got) {
      if (got.kind == reply_kind::reserved) job = got.number;
    });
    other.expect(0, fmt::format("delete {}\r\n", job), 1, reply_kind::deleted);
    lengths.push_back((time.now() - began).count());
  } while (time.now() < end);
  std::vector<serve_figure> figures = late_figures(lengths, "lists ");
  for (serve_figure& each : figures) each.name = "lists-" + each.name;
  return figures;
}

}  // namespace foliot::program::bench

#include "server/beanstalk/writer.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

template <class Write>
std::string written(Write write) {
  std::string out = "before ";
  write(out);
  EXPECT_TRUE(out.starts_with("before ")) << "a reply goes behind those that are there";
  return out.substr(7);
}

std::string number(numbered_reply word, std::uint64_t value) {
  return written([&](std::string& out) { write_number(out, word, value); });
}

/// The dictionary in a reply of beanstalkd 1.12, as 1.13 writes it: more of its values are in quotes.
std::string from_1_12(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    std::string line = text.substr(begin, end - begin);
    for (const char* const key : {"name: ", "tube: ", "hostname: ", "os: ", "platform: "}) {
      if (!line.starts_with(key)) continue;
      line.insert(std::string_view(key).size(), "\"");
      line.insert(line.size() - 1, "\"");
    }
    result += line;
    begin = end;
  }
  return result;
}

/// What only foliot has, behind what beanstalkd has.
const std::string figures_of_store =
    "foliot-store-batches: 52\nfoliot-store-operations: 53\nfoliot-store-refused-batches: 54\n"
    "foliot-store-refused-operations: 55\nfoliot-store-unavailable: 1\n"
    "foliot-buffered-bytes: 56\nfoliot-buffered-waiting: 57\nfoliot-buffered-closed: 58\n"
    "foliot-refused-connections: 59\nfoliot-refused-of-address: 60\nfoliot-refused-of-token: 61\n"
    "foliot-slow-clients: 62\nfoliot-field-bytes: 8192\n";

void set_figures_of_store(server_statistics& server) {
  server.store_batches = 52;
  server.store_operations = 53;
  server.store_refused_batches = 54;
  server.store_refused_operations = 55;
  server.store_unavailable = true;
  server.buffered_bytes = 56;
  server.buffered_waiting = 57;
  server.buffered_closed = 58;
  server.refused_connections = 59;
  server.refused_of_address = 60;
  server.refused_of_token = 61;
  server.slow_clients = 62;
}

template <class Statistics>
void check_statistics(const Statistics& what, const std::string& of_1_12) {
  const std::string text = from_1_12(of_1_12);
  EXPECT_EQ(written([&](std::string& out) { write_statistics(out, what); }),
            "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n");
}

TEST(BeanstalkWriter, NumberedReplies) {
  EXPECT_EQ(number(numbered_reply::inserted, 1), "INSERTED 1\r\n");
  EXPECT_EQ(number(numbered_reply::inserted, 18'446'744'073'709'551'615u), "INSERTED 18446744073709551615\r\n");
  EXPECT_EQ(number(numbered_reply::buried, 7), "BURIED 7\r\n");
  EXPECT_EQ(number(numbered_reply::watching, 2), "WATCHING 2\r\n");
  EXPECT_EQ(number(numbered_reply::kicked, 0), "KICKED 0\r\n");
  EXPECT_EQ(number(numbered_reply::kept, 7), "KEPT 7\r\n");
  EXPECT_EQ(number(numbered_reply::replaced, 7), "REPLACED 7\r\n");
  EXPECT_EQ(number(numbered_reply::exists, 7), "EXISTS 7\r\n");
  EXPECT_EQ(number(numbered_reply::is_reserved, 7), "IS_RESERVED 7\r\n");
  EXPECT_EQ(number(numbered_reply::cancelled, 7), "CANCELLED 7\r\n");
  EXPECT_EQ(number(numbered_reply::rescheduled, 7), "RESCHEDULED 7\r\n");
  EXPECT_EQ(number(numbered_reply::fired, 7), "FIRED 7\r\n");
}

TEST(BeanstalkWriter, Jobs) {
  EXPECT_EQ(written([](std::string& out) { write_reserved(out, 5, "a\r\nb"); }), "RESERVED 5 4\r\na\r\nb\r\n");
  EXPECT_EQ(written([](std::string& out) { write_found(out, 5, ""); }), "FOUND 5 0\r\n\r\n");
  EXPECT_EQ(written([](std::string& out) { write_reserved_line(out, 5, 70'000); }), "RESERVED 5 70000\r\n");
}

TEST(BeanstalkWriter, Tubes) {
  EXPECT_EQ(written([](std::string& out) { write_using(out, "a"); }), "USING a\r\n");
  const std::vector<std::string> tubes{"default", "a", "42"};
  EXPECT_EQ(written([&](std::string& out) { write_tubes(out, tubes); }), "OK 23\r\n---\n- default\n- a\n- 42\n\r\n");
  EXPECT_EQ(written([](std::string& out) { write_tubes(out, {}); }), "OK 4\r\n---\n\r\n");
}

TEST(BeanstalkWriter, StatisticsOfAJob) {
  job_statistics job;
  job.id = 2;
  job.tube = "a";
  job.state = jobs::job_state::delayed;
  job.priority = 2000;
  job.delay = 100s;
  job.ttr = 1s;
  job.time_left = 99s;
  check_statistics(job,
                   "---\nid: 2\ntube: a\nstate: delayed\npri: 2000\nage: 0\ndelay: 100\nttr: 1\ntime-left: 99\n"
                   "file: 0\nreserves: 0\ntimeouts: 0\nreleases: 0\nburies: 0\nkicks: 0\n");

  job = {};
  job.id = 3;
  job.tube = "42";
  job.state = jobs::job_state::buried;
  job.priority = 7;
  job.ttr = 10s;
  job.counters.reserves = 1;
  job.counters.buries = 1;
  check_statistics(job,
                   "---\nid: 3\ntube: 42\nstate: buried\npri: 7\nage: 0\ndelay: 0\nttr: 10\ntime-left: 0\n"
                   "file: 0\nreserves: 1\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 0\n");
}

TEST(BeanstalkWriter, EachNumberOfAJobIsInItsPlace) {
  job_statistics job{
      18'446'744'073'709'551'615u, "t", jobs::job_state::reserved, 4'294'967'295, 1s, 2s, 3s, 4s, 5, {6, 7, 8, 9, 10}};
  check_statistics(job,
                   "---\nid: 18446744073709551615\ntube: t\nstate: reserved\npri: 4294967295\nage: 1\ndelay: 2\n"
                   "ttr: 3\ntime-left: 4\nfile: 5\nreserves: 6\ntimeouts: 7\nreleases: 8\nburies: 9\nkicks: 10\n");
  job.state = jobs::job_state::ready;
  EXPECT_NE(written([&](std::string& out) { write_statistics(out, job); }).find("state: ready\n"), std::string::npos);
}

TEST(BeanstalkWriter, ExtendedStatisticsOfAJob) {
  extended_job_statistics what;
  what.job.tube = "t";
  what.key = "a\"b\\c";
  what.due = jobs::utc_time(1'893'456'000'123ms);
  what.ttr = 1500ms;
  const std::string text = written([&](std::string& out) { write_statistics(out, what); });
  EXPECT_TRUE(text.ends_with("kicks: 0\nkey: \"a\\\"b\\\\c\"\ndue-ms: 1893456000123\nttr-ms: 1500\n\r\n")) << text;
  what.key.clear();
  EXPECT_NE(written([&](std::string& out) { write_statistics(out, what); }).find("\nkey: \"\"\n"), std::string::npos);
}

/// The names of a store that other programs use, too.
TEST(BeanstalkWriter, NamesInQuotesHaveEscapes) {
  const std::string name = "a\"b\\c\nd\r\x01\x7f\xc3\xa9";
  const std::string quoted = R"("a\"b\\c\nd\x0d\x01\x7f)"
                             "\xc3\xa9\"";
  const std::vector<jobs::due_job> listed{{7, name, jobs::job_state::delayed, jobs::utc_time(5ms)},
                                          {18'446'744'073'709'551'615u, "b", jobs::job_state::delayed, {}}};
  const std::string lines = "---\n- {id: 7, tube: " + quoted +
                            ", state: delayed, due-ms: 5}\n"
                            "- {id: 18446744073709551615, tube: \"b\", state: delayed, due-ms: 0}\n";
  EXPECT_EQ(written([&](std::string& out) { list_due::write(out, listed); }),
            "OK " + std::to_string(lines.size()) + "\r\n" + lines + "\r\n");
  job_statistics job;
  job.tube = name;
  const std::string of_job = written([&](std::string& out) { write_statistics(out, job); });
  EXPECT_NE(of_job.find("\ntube: " + quoted + "\nstate: "), std::string::npos) << of_job;
  tube_statistics tube;
  tube.name = name;
  const std::string of_tube = written([&](std::string& out) { write_statistics(out, tube); });
  EXPECT_NE(of_tube.find("\nname: " + quoted + "\ntotal-jobs: "), std::string::npos) << of_tube;
}

TEST(BeanstalkWriter, TheLongestLineOfAJobThatIsDueHasItsRoom) {
  const std::vector<jobs::due_job> longest{{18'446'744'073'709'551'615u, std::string(jobs::longest_tube_name, 'x'),
                                            jobs::job_state::delayed, jobs::utc_time(9'223'372'036'854ms)}};
  const std::string line = written([&](std::string& out) { list_due::write(out, longest); });
  EXPECT_LE(line.size(), list_due::longest_line + std::string("OK 1234\r\n---\n\r\n").size());
}

TEST(BeanstalkWriter, StatisticsOfATube) {
  tube_statistics tube;
  tube.name = "a";
  tube.counts = jobs::job_counts{.urgent = 1, .ready = 1, .delayed = 1};
  tube.total_jobs = 2;
  tube.watching_it = 1;
  tube.pauses = 1;
  tube.pause = 100s;
  tube.pause_left = 99s;
  check_statistics(tube,
                   "---\nname: a\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 1\ncurrent-jobs-reserved: 0\n"
                   "current-jobs-delayed: 1\ncurrent-jobs-buried: 0\ntotal-jobs: 2\ncurrent-using: 0\n"
                   "current-watching: 1\ncurrent-waiting: 0\ncmd-delete: 0\ncmd-pause-tube: 1\npause: 100\n"
                   "pause-time-left: 99\n");
  check_statistics(tube_statistics{"b", jobs::job_counts{1, 2, 3, 4, 5}, 6, 7, 8, 9, 10, 11, 12s, 13s},
                   "---\nname: b\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\n"
                   "current-jobs-delayed: 4\ncurrent-jobs-buried: 5\ntotal-jobs: 6\ncurrent-using: 7\n"
                   "current-watching: 8\ncurrent-waiting: 9\ncmd-delete: 10\ncmd-pause-tube: 11\npause: 12\n"
                   "pause-time-left: 13\n");
}

/// The expected text is an answer of beanstalkd 1.12, with the values of its process.
TEST(BeanstalkWriter, StatisticsOfTheServer) {
  server_statistics server;
  server.counts = jobs::job_counts{1, 1, 0, 1, 1};
  const auto count = [&]<class Command>(Command) -> std::uint64_t& {
    return server.commands[static_cast<std::size_t>(verb_of<Command>)];
  };
  count(put_line()) = 3;
  count(use()) = 2;
  count(watch()) = 1;
  count(bury()) = 1;
  count(stats()) = 1;
  count(stats_job()) = 3;
  count(stats_tube()) = 2;
  count(list_tubes()) = 1;
  count(list_tubes_watched()) = 1;
  count(pause_tube()) = 1;
  count(reserve_job()) = 77;  // not shown
  server.total_jobs = 3;
  server.max_job_size = 65'535;
  server.current_tubes = 3;
  server.current_connections = 1;
  server.current_producers = 1;
  server.current_workers = 1;
  server.total_connections = 2;
  server.pid = 14'086;
  server.version = "1.12";
  server.user_time = 931us;
  server.max_log_size = 10'485'760;
  server.instance = 0xf672ff74f9cf73b6;
  server.hostname = "vm";
  server.os = "#1 SMP PREEMPT_DYNAMIC @0";
  server.platform = "x86_64";
  set_figures_of_store(server);
  check_statistics(
      server,
      "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 1\ncurrent-jobs-reserved: 0\ncurrent-jobs-delayed: 1\n"
      "current-jobs-buried: 1\ncmd-put: 3\ncmd-peek: 0\ncmd-peek-ready: 0\ncmd-peek-delayed: 0\ncmd-peek-buried: 0\n"
      "cmd-reserve: 0\ncmd-reserve-with-timeout: 0\ncmd-delete: 0\ncmd-release: 0\ncmd-use: 2\ncmd-watch: 1\n"
      "cmd-ignore: 0\ncmd-bury: 1\ncmd-kick: 0\ncmd-touch: 0\ncmd-stats: 1\ncmd-stats-job: 3\ncmd-stats-tube: 2\n"
      "cmd-list-tubes: 1\ncmd-list-tube-used: 0\ncmd-list-tubes-watched: 1\ncmd-pause-tube: 1\njob-timeouts: 0\n"
      "total-jobs: 3\nmax-job-size: 65535\ncurrent-tubes: 3\ncurrent-connections: 1\ncurrent-producers: 1\n"
      "current-workers: 1\ncurrent-waiting: 0\ntotal-connections: 2\npid: 14086\nversion: \"1.12\"\n"
      "rusage-utime: 0.000931\nrusage-stime: 0.000000\nuptime: 0\nbinlog-oldest-index: 0\nbinlog-current-index: 0\n"
      "binlog-records-migrated: 0\nbinlog-records-written: 0\nbinlog-max-size: 10485760\ndraining: false\n"
      "id: f672ff74f9cf73b6\nhostname: vm\nos: #1 SMP PREEMPT_DYNAMIC @0\nplatform: x86_64\n" +
          figures_of_store);
}

/// For a client that may not see all tubes. All figures of the others are set.
TEST(BeanstalkWriter, StatisticsWithoutTheOtherClientsAreAboutTheServerItself) {
  server_statistics server;
  server.tells_of_all_clients = false;
  server.commands.fill(90);
  server.job_timeouts = server.total_jobs = 91;
  server.current_tubes = 92;
  server.current_connections = server.current_producers = server.current_workers = server.current_waiting = 93;
  server.total_connections = 94;
  server.user_time = server.system_time = 95s;
  set_figures_of_store(server);
  server.tls = {.ends = 96, .left = 97s, .taken = 98, .is_refused = true, .failed = 99};
  server.max_job_size = 65'535;
  server.pid = 1;
  server.version = "2";
  server.uptime = 3s;
  server.draining = true;
  server.instance = 4;
  server.hostname = "vm";
  server.os = "os";
  server.platform = "p";
  check_statistics(server,
                   "---\nmax-job-size: 65535\npid: 1\nversion: \"2\"\nuptime: 3\nbinlog-oldest-index: 0\n"
                   "binlog-current-index: 0\nbinlog-records-migrated: 0\nbinlog-records-written: 0\n"
                   "binlog-max-size: 0\ndraining: true\nid: 0000000000000004\nhostname: vm\nos: os\nplatform: p\n"
                   "foliot-field-bytes: 8192\n");
}

TEST(BeanstalkWriter, StatisticsOfTlsAreTheLast) {
  server_statistics server;
  set_figures_of_store(server);
  const std::string without = written([&](std::string& out) { write_statistics(out, server); });
  EXPECT_EQ(without.find("tls"), std::string::npos);
  EXPECT_TRUE(without.ends_with(figures_of_store + "\r\n"));
  server.tls = {.ends = 1'800'000'000, .left = 86'400s, .taken = 59, .is_refused = true, .failed = 60};
  const std::string with = written([&](std::string& out) { write_statistics(out, server); });
  EXPECT_TRUE(with.ends_with(figures_of_store +
                             "foliot-tls-ends: 1800000000\nfoliot-tls-seconds-left: 86400\nfoliot-tls-taken: 59\n"
                             "foliot-tls-refused: 1\nfoliot-tls-failed: 60\n\r\n"))
      << with;
}

TEST(BeanstalkWriter, EachNumberOfTheServerIsInItsPlace) {
  server_statistics server;
  server.counts = jobs::job_counts{1, 2, 3, 4, 5};
  for (std::size_t each = 0; each < verbs; ++each) server.commands[each] = 6 + each;
  server.job_timeouts = 28;
  server.total_jobs = 29;
  server.max_job_size = 30;
  server.current_tubes = 31;
  server.current_connections = 32;
  server.current_producers = 33;
  server.current_workers = 34;
  server.current_waiting = 35;
  server.total_connections = 36;
  server.pid = 37;
  server.version = "38";
  server.user_time = 39'000'040us;
  server.system_time = 41'999'999us;
  server.uptime = 42s;
  server.oldest_log = 43;
  server.current_log = 44;
  server.records_migrated = 45;
  server.records_written = 46;
  server.max_log_size = 47;
  server.draining = true;
  server.instance = 0x48;
  server.hostname = "49";
  server.os = "50";
  server.platform = "51";
  set_figures_of_store(server);
  check_statistics(
      server,
      "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\ncurrent-jobs-delayed: 4\n"
      "current-jobs-buried: 5\ncmd-put: 6\ncmd-peek: 7\ncmd-peek-ready: 8\ncmd-peek-delayed: 9\ncmd-peek-buried: 10\n"
      "cmd-reserve: 11\ncmd-reserve-with-timeout: 12\ncmd-delete: 13\ncmd-release: 14\ncmd-use: 15\ncmd-watch: 16\n"
      "cmd-ignore: 17\ncmd-bury: 18\ncmd-kick: 19\ncmd-touch: 20\ncmd-stats: 21\ncmd-stats-job: 22\n"
      "cmd-stats-tube: 23\ncmd-list-tubes: 24\ncmd-list-tube-used: 25\ncmd-list-tubes-watched: 26\n"
      "cmd-pause-tube: 27\njob-timeouts: 28\ntotal-jobs: 29\nmax-job-size: 30\ncurrent-tubes: 31\n"
      "current-connections: 32\ncurrent-producers: 33\ncurrent-workers: 34\ncurrent-waiting: 35\n"
      "total-connections: 36\npid: 37\nversion: \"38\"\nrusage-utime: 39.000040\nrusage-stime: 41.999999\n"
      "uptime: 42\nbinlog-oldest-index: 43\nbinlog-current-index: 44\nbinlog-records-migrated: 45\n"
      "binlog-records-written: 46\nbinlog-max-size: 47\ndraining: true\nid: 0000000000000048\nhostname: 49\nos: 50\n"
      "platform: 51\n" +
          figures_of_store);
}

TEST(BeanstalkWriter, WhatTheServerDoesNotKnowIsLeftOut) {
  tube_statistics some;
  some.name = "a";
  const std::string tube = written([&](std::string& out) { write_statistics(out, some); });
  EXPECT_NE(tube.find("---\nname: \"a\"\ntotal-jobs: 0\n"), std::string::npos) << tube;
  const std::string text = written([](std::string& out) { write_statistics(out, server_statistics{}); });
  EXPECT_NE(text.find("---\ncmd-put: 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nmax-job-size: 0\ncurrent-connections: 0\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace foliot::program::beanstalk

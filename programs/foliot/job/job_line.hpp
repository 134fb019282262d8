// What a command line of `foliot job` asks for, and the functions that do it.
//
// Thread safety: a value. The functions: none, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/server_address.hpp"

namespace foliot::program::terminal {

enum class job_command : std::uint8_t {
  put,
  get,
  list,
  tubes,
  why,
  cancel,
  move,
  fire,
  kick,
  reserve,
  finish,
  release,
  touch,
  bury,
  watch,
  next,
  schedules,
  schedule,
  policies,
  policy,
  webhooks,
  webhook,
};

/// Which jobs a list shows, or an action changes.
struct job_filter {
  std::optional<std::string> tube;
  std::optional<std::string> prefix;  ///< of the names of tubes
  bool all = false;                   ///< of all tubes
  std::string state;
  std::string key_prefix;
  std::string text;  ///< in the body

  [[nodiscard]] bool is_given() const noexcept {
    return tube || prefix || all || !state.empty() || !key_prefix.empty() || !text.empty();
  }
};

/// Which times of rules are shown.
struct rule_line {
  std::vector<std::string> rules;
  std::vector<std::string> excluded;  ///< dates and rules
  std::string zone = "UTC";
  std::string from;  ///< as the user has written it; empty: now
  std::string dialect = "vixie";
  std::string gap = "shift";
  std::string overlap = "first";
  bool is_backwards = false;
};

/// Which schedule, or those of which tube, and what becomes of it.
struct schedule_line {
  std::string tube, name;
  bool pauses = false, resumes = false, skips = false, runs = false;
  std::string note, until, at;  ///< as the user has written them
};

/// The policy of which tube, and what becomes of it: texts as the user has written them, empty ones are not asked for.
struct policy_line {
  std::string tube;
  bool clears = false;
  std::string tries, factor, most_delay, jitter, expires, most_reserved, most_of_group, most_per_second, burst;
  std::vector<std::string> delays;
  std::optional<std::string> dead_letters;  ///< empty: none
  std::optional<bool> counts_releases, counts_timeouts;
};

/// The target of which tube, and what becomes of it.
struct webhook_line {
  std::string tube;
  std::string url, secret;
  bool enables = false, disables = false, tests = false, deletes = false, shows_deliveries = false;
  std::string note;
};

struct job_line {
  job_command what = job_command::list;
  access_options access;
  std::string folder;     ///< of a stopped server, in the place of a server
  bool as_json = false;   ///< lines of JSON
  bool is_exact = false;  ///< times as they are, instead of words
  bool is_sure = false;   ///< no question before many jobs are changed

  std::vector<std::string> job;  ///< an id, or a tube and a key
  job_filter filter;
  bool is_due_next = false;  ///< lists what is due next
  std::uint64_t count = 0;   ///< the most that are shown or reserved; 0: unless the server ends it, without end
  std::string due, delay;    ///< as the user has written them
  std::string reservation;   ///< the token
  std::vector<std::string> tubes;
  std::string timeout;
  std::string reason;  ///< of a release or a bury

  rule_line next;
  schedule_line schedule;
  policy_line policy;
  webhook_line webhook;

  // Of a put.
  std::string tube, key, priority, ttr, existing, content_type, file, group, expires, expires_in;
  std::optional<std::string> body;
  std::vector<std::string> headers;  ///< NAME=VALUE

  // Of a look at one job.
  bool is_body_alone = false;
  bool is_terminal_allowed = false;  ///< the body goes to a terminal as it is
};

/// Does what the line asks for, and writes the result to standard output. Throws failure, with the exit code 1 where
/// the server has refused the request, or has no such job.
void run_job(const job_line& line);

class api_client;

// What run_job() leaves to others, each of which has its own source.

/// Changes many jobs at once (action.cpp). Throws failure: also if no job fits, if the user says no, and if some jobs
/// could not be changed.
void change_many(const job_line& line, api_client& server);
/// Writes events until the line's count of them has come, or without end (watch.cpp). Throws failure if there is no
/// server at the begin, or if the server refuses.
void watch_events(const job_line& line, api_client& server);
/// Lists schedules, those first that have something to do first (schedules.cpp). Throws failure.
void list_schedules(const job_line& line, api_client& server);
/// Shows one, or pauses, resumes, skips or runs it. Throws failure.
void about_schedule(const job_line& line, api_client& server);
/// Lists the policies of tubes (policies.cpp). Throws failure.
void list_policies(const job_line& line, api_client& server);
/// Shows one, sets members of it, or takes it away. Throws failure.
void about_policy(const job_line& line, api_client& server);
/// Lists the targets of tubes (webhooks.cpp). Throws failure.
void list_webhooks(const job_line& line, api_client& server);
/// Shows one, or its last deliveries, or changes it. Throws failure.
void about_webhook(const job_line& line, api_client& server);
/// Looks into the folder of a stopped server, for get, list, tubes or why (folder_look.cpp). Throws failure: also where
/// a server runs on the folder.
void look_into_folder(const job_line& line);

}  // namespace foliot::program::terminal

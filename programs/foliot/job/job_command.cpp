#include "job/job_command.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "number_option.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

using terminal::job_command;
using terminal::job_line;
using terminal::rule_line;

constexpr std::uint64_t most_shown = 1'000'000'000;
constexpr std::uint64_t most_reserved = 1000;
constexpr std::uint64_t most_times = 10'000;
constexpr const char* states = "delayed|ready|reserved|buried";

/// What the options of a command fill.
struct filled : job_line {
  std::array<std::optional<std::string>, 2> names;  ///< of the job
};

/// Adds the commands one by one.
class job_commands {
 public:
  job_commands(CLI::App& all, command& chosen, const std::function<void(const job_line&)>& run)
      : all_(all), chosen_(chosen), run_(run) {}

  void add_put();
  void add_looks();
  void add_list();
  void add_changes();
  void add_work();
  void add_watch();
  void add_next();
  void add_schedules();
  void add_policies();
  void add_webhooks();

 private:
  /// A command with a line of its own.
  void begin_without_server(const char* name, job_command what, const char* purpose);
  /// The same with the options of most: where the server is.
  CLI::App* begin(const char* name, job_command what, const char* purpose);
  void add_place();
  /// For a command that only looks.
  void add_folder();
  void add_job(bool is_needed);
  void add_tubes();
  void add_sought();
  void add_filter();
  void add_json() { line_->add_flag("--json", to_->as_json, "Lines of JSON, as the server answers them"); }
  void add_exact() { line_->add_flag("--exact", to_->is_exact, "Times in UTC instead of words such as 'in 3 min'"); }
  void add_when();
  void add_text(const char* name, std::string& value, const char* what, const char* type) {
    line_->add_option(name, value, what)->type_name(type);
  }

  CLI::App& all_;
  command& chosen_;
  const std::function<void(const job_line&)> run_;
  CLI::App* line_ = nullptr;    // the command that is being added
  std::shared_ptr<filled> to_;  // and what it fills
};

void job_commands::begin_without_server(const char* name, job_command what, const char* purpose) {
  line_ = all_.add_subcommand(name, purpose);
  to_ = std::make_shared<filled>();
  to_->what = what;
  line_->callback([mine = to_, &chosen = chosen_, run = run_] {
    for (const std::optional<std::string>& each : mine->names) {
      if (each) mine->job.push_back(*each);
    }
    chosen = [mine, run] { run(*mine); };
  });
}

CLI::App* job_commands::begin(const char* name, job_command what, const char* purpose) {
  begin_without_server(name, what, purpose);
  add_place();
  return line_;
}

void job_commands::add_place() {
  constexpr const char* group = "Server";
  terminal::access_options& access = to_->access;
  line_->add_option("--server", access.server, "Its HTTP interface: a URL, HOST:PORT or unix:PATH")
      ->type_name("URL")
      ->envname("FOLIOT_SERVER")
      ->capture_default_str()
      ->group(group);
  const auto add_file = [this](const char* name, std::string& value, const char* what) {
    line_->add_option(name, value, what)->type_name("FILE")->group(group);
  };
  add_file("--token-file", access.token_file, "Has the access token; else FOLIOT_TOKEN is shown, if it is set");
  add_file("--ca", access.authorities, "The authorities, in PEM, that may have signed its certificate");
  add_file("--certificate", access.certificate, "The certificate of this client, in PEM");
  add_file("--certificate-key", access.key, "The key of that certificate, in PEM");
  line_->add_flag("--insecure", access.insecure, "Send the access token in the clear to another machine")->group(group);
}

void job_commands::add_folder() {
  line_->add_option("--data", to_->folder, "Look into the folder of a stopped server instead")
      ->type_name("DIR")
      ->group("Server");
}

void job_commands::add_job(bool is_needed) {
  // Not one option for both: CLI11 would take the brackets off a key such as [17].
  CLI::Option* const job = line_->add_option("JOB", to_->names[0], "Its id, or its tube before its key")->type_name("");
  line_->add_option("KEY", to_->names[1], "Its key")->type_name("");
  if (is_needed) job->required();
}

void job_commands::add_tubes() {
  CLI::Option* const tube = line_->add_option("--tube", to_->filter.tube, "Those of this tube")->type_name("TUBE");
  line_->add_option("--prefix", to_->filter.prefix, "Those of all tubes whose names begin so")
      ->type_name("TEXT")
      ->excludes(tube);
}

void job_commands::add_sought() {
  add_text("--key-prefix", to_->filter.key_prefix, "Those whose keys begin so", "TEXT");
  add_text("--text", to_->filter.text, "Those with this text in the first 64 KB of their bodies", "TEXT");
}

void job_commands::add_filter() {
  add_tubes();
  line_->add_flag("--all", to_->filter.all, "Those of all tubes")->excludes("--tube")->excludes("--prefix");
  add_text("--state", to_->filter.state, "Those that are delayed, ready or buried", "delayed|ready|buried");
  add_sought();
  line_->add_flag("--yes", to_->is_sure, "Change them without a question");
  line_->footer(
      "One job is named by its id, or by its tube and its key. Many are named by a\n"
      "filter: the server counts them, and the exact number is shown before anything\n"
      "changes. Ctrl-C stops it; what is done stays done.");
}

void job_commands::add_when() {
  add_text("--delay", to_->delay, "In how long: 5s, 1h30m, 2d", "LENGTH");
  add_text("--due", to_->due, "Or when: a time such as 2027-01-31T08:00:00Z", "TIME");
}

void job_commands::add_put() {
  begin("put", job_command::put, "Put a job");
  line_->add_option("TUBE", to_->tube, "The tube that it goes to")->type_name("")->required();
  line_->add_option("BODY", to_->body, "Its body; default: empty")->type_name("");
  add_text("--file", to_->file, "Has its body; - is standard input", "FILE");
  add_text("--key", to_->key, "A name of your own, unique in the tube", "KEY");
  add_when();
  add_text("--priority", to_->priority, "Lower numbers come first", "NUMBER");
  add_text("--ttr", to_->ttr, "How long a worker may keep it", "LENGTH");
  add_text("--group", to_->group, "Those of a group are counted together, by the policy of the tube", "TEXT");
  add_text("--expires", to_->expires, "From then on no worker gets it: a time such as 2027-01-31T08:00:00Z", "TIME");
  add_text("--expires-in", to_->expires_in, "Or in how long", "LENGTH");
  add_text("--existing", to_->existing, "What happens if the key is taken", "keep|replace|refuse");
  add_text("--type", to_->content_type, "The content type, such as application/json", "TYPE");
  line_->add_option("--header", to_->headers, "A header that travels with the job")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_json();
}

void job_commands::add_looks() {
  begin("get", job_command::get, "Show a job and its body");
  add_folder();
  add_job(true);
  line_->add_flag("--body", to_->is_body_alone, "Write the body alone, as it is");
  line_
      ->add_flag("--to-terminal", to_->is_terminal_allowed,
                 "With --body: also to a terminal, which obeys control characters")
      ->needs("--body");
  add_exact();
  add_json();
  begin("why", job_command::why, "Say why a job waits");
  add_folder();
  add_job(true);
  add_json();
}

void job_commands::add_list() {
  for (const bool is_of_tubes : {false, true}) {
    begin(is_of_tubes ? "tubes" : "list", is_of_tubes ? job_command::tubes : job_command::list,
          is_of_tubes ? "List the tubes with the numbers of their jobs"
                      : "List jobs: by tube, by state, or what is due next");
    to_->count = 100;
    add_folder();
    if (is_of_tubes) {
      line_->add_option("--prefix", to_->filter.prefix, "Those whose names begin so")->type_name("TEXT");
    } else {
      add_tubes();
      add_text("--state", to_->filter.state, "Those in this state", states);
      add_sought();
      line_->add_flag("--due", to_->is_due_next, "What is due next, the soonest first")
          ->excludes("--state")
          ->excludes("--key-prefix")
          ->excludes("--text");
    }
    line_->add_option("--count", to_->count, "The most that are shown")
        ->type_name("NUMBER")
        ->transform(whole_number(1, most_shown))
        ->capture_default_str();
    add_exact();
    add_json();
  }
}

void job_commands::add_changes() {
  begin("cancel", job_command::cancel, "Cancel a job, or those that a filter fits");
  add_job(false);
  add_filter();
  add_json();
  begin("move", job_command::move, "Give a job another due time, or those that a filter fits");
  add_job(false);
  add_when();
  add_filter();
  add_json();
  begin("fire", job_command::fire, "Make a job ready now, or those that a filter fits");
  add_job(false);
  add_filter();
  add_json();
  begin("kick", job_command::kick, "Make a buried or delayed job ready, or those that a filter fits");
  add_job(false);
  add_filter();
  add_json();
}

void job_commands::add_work() {
  begin("reserve", job_command::reserve, "Reserve the next ready job, as a worker does");
  to_->count = 1;
  line_->add_option("TUBE", to_->tubes, "The tubes that it may be of")->type_name("")->required();
  line_->add_option("--count", to_->count, "The most jobs that are reserved")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_reserved))
      ->capture_default_str();
  add_text("--timeout", to_->timeout, "How long to wait for one; default: 30s", "LENGTH");
  add_exact();
  add_json();
  struct end {
    const char* name;
    job_command what;
    const char* purpose;
  };
  for (const auto& [name, what, purpose] : {end{"finish", job_command::finish, "End a reserved job: it is done"},
                                            end{"release", job_command::release, "Give a reserved job back"},
                                            end{"touch", job_command::touch, "Begin the TTR of a reserved job again"},
                                            end{"bury", job_command::bury, "Set a reserved job aside"}}) {
    begin(name, what, purpose);
    line_->add_option("RESERVATION", to_->reservation, "The token that reserve has shown")->type_name("")->required();
    if (what == job_command::release) add_when();
    if (what == job_command::release || what == job_command::bury) {
      add_text("--priority", to_->priority, "Lower numbers come first", "NUMBER");
      add_text("--reason", to_->reason, "Why: it is kept with the job", "TEXT");
    }
    add_json();
  }
}

void job_commands::add_watch() {
  begin("watch", job_command::watch, "Show what happens to jobs, as it happens");
  add_tubes();
  line_->add_option("--count", to_->count, "End after so many events")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_shown));
  add_json();
}

void job_commands::add_next() {
  begin_without_server("next", job_command::next, "Say what a rule means, and when it is due; asks no server");
  rule_line& next = to_->next;
  to_->count = 10;
  line_->add_option("RULE", next.rules, "Such as '0 9 * * MON-FRI' or 'every 4h'; several are one timetable")
      ->type_name("")
      ->required();
  const auto add_choice = [this](const char* name, std::string& value, const char* what, const char* choices) {
    line_->add_option(name, value, what)->type_name(choices)->capture_default_str();
  };
  line_->add_option("--zone", next.zone, "By whose clock, such as Europe/Berlin")
      ->type_name("ZONE")
      ->capture_default_str();
  add_text("--from", next.from, "The times after this one, such as 2027-01-31T08:00:00Z; default: now", "TIME");
  line_->add_option("--count", to_->count, "The most that are shown")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_times))
      ->capture_default_str();
  line_->add_flag("--previous", next.is_backwards, "The times before, the last first");
  line_->add_option("--exclude", next.excluded, "A date without times, or a rule whose times are left out")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  add_choice("--dialect", next.dialect, "How fields of cron are read", "vixie|seconds|quartz|eventbridge");
  add_choice("--gap", next.gap, "A time of day that the clock leaves out: moved behind it, or not at all",
             "shift|skip");
  add_choice("--overlap", next.overlap, "A time of day that the clock shows twice", "first|last|both");
  line_->add_flag("--json", to_->as_json, "One line of JSON");
}

void job_commands::add_schedules() {
  begin("schedules", job_command::schedules, "List schedules, with their next times");
  to_->count = 100;
  CLI::Option* const tube = line_->add_option("TUBE", to_->schedule.tube, "Those of this tube")->type_name("");
  line_->add_option("--prefix", to_->filter.prefix, "Those of all tubes whose names begin so")
      ->type_name("TEXT")
      ->excludes(tube);
  line_->add_option("--count", to_->count, "The most that are shown")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_shown))
      ->capture_default_str();
  add_exact();
  add_json();
  begin("schedule", job_command::schedule, "Show a schedule; pause, resume, skip or run it");
  terminal::schedule_line& one = to_->schedule;
  line_->add_option("TUBE", one.tube, "Its tube")->type_name("")->required();
  line_->add_option("NAME", one.name, "Its name in the tube")->type_name("")->required();
  line_->add_flag("--pause", one.pauses, "Pause it: what is due meanwhile is left out");
  add_text("--note", one.note, "With --pause: why, for people", "TEXT");
  add_text("--until", one.until, "With --pause: when it goes on by itself", "TIME");
  line_->add_flag("--resume", one.resumes, "End its pause");
  line_->add_flag("--skip", one.skips, "Leave out exactly one occurrence: the next");
  add_text("--at", one.at, "With --skip: the one at this instant", "TIME");
  line_->add_flag("--run", one.runs, "Make an occurrence now");
  add_exact();
  add_json();
}

void job_commands::add_policies() {
  begin("policies", job_command::policies, "List the policies of tubes");
  to_->count = 100;
  line_->add_option("--prefix", to_->filter.prefix, "Those of all tubes whose names begin so")->type_name("TEXT");
  line_->add_option("--count", to_->count, "The most that are shown")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_shown))
      ->capture_default_str();
  add_json();
  begin("policy", job_command::policy, "Show the policy of a tube; set members of it, or take it away");
  terminal::policy_line& one = to_->policy;
  line_->add_option("TUBE", one.tube, "Its tube")->type_name("")->required();
  add_text("--tries", one.tries, "After so many failed tries a job is tried no more; 0: there is no last try",
           "NUMBER");
  line_->add_option("--count-releases", one.counts_releases, "Whether a release is a failed try")
      ->type_name("true|false");
  line_->add_option("--count-timeouts", one.counts_timeouts, "Whether the end of a TTR is")->type_name("true|false");
  line_->add_option("--delay", one.delays, "Before the next try; several are those behind the first, second, … try")
      ->type_name("LENGTH")
      ->allow_extra_args(false);
  add_text("--factor", one.factor, "With --delay: each delay is so many times the one before", "NUMBER");
  add_text("--most-delay", one.most_delay, "With --delay: the longest one", "LENGTH");
  add_text("--jitter", one.jitter, "With --delay: by up to this part of itself it is longer, 0 to 1", "NUMBER");
  line_->add_option("--dead-letters", one.dead_letters, "Where a job goes behind its last try; '': it is buried")
      ->type_name("TUBE");
  add_text("--expires", one.expires, "How long a ready job may wait; 0s: for ever", "LENGTH");
  add_text("--most-reserved", one.most_reserved, "So many are worked on at once; 0: any number", "NUMBER");
  add_text("--most-of-group", one.most_of_group, "The same of each group", "NUMBER");
  add_text("--most-per-second", one.most_per_second, "So many are reserved in a second; 0: any number", "NUMBER");
  add_text("--burst", one.burst, "And so many at once", "NUMBER");
  line_->add_flag("--clear", one.clears, "Take the policy away");
  add_exact();
  add_json();
}

void job_commands::add_webhooks() {
  begin("webhooks", job_command::webhooks, "List the targets of tubes, to which their jobs are delivered");
  line_->add_option("--prefix", to_->filter.prefix, "Those of all tubes whose names begin so")->type_name("TEXT");
  add_json();
  begin("webhook", job_command::webhook, "Show the target of a tube; make, enable, disable, test or delete it");
  terminal::webhook_line& one = to_->webhook;
  line_->add_option("TUBE", one.tube, "Its tube")->type_name("")->required();
  add_text("--url", one.url, "Make it: where the jobs are delivered to", "URL");
  add_text("--secret", one.secret, "With --url: the name of the secret that signs", "NAME");
  line_->add_flag("--deliveries", one.shows_deliveries, "Show its last deliveries");
  line_->add_flag("--test", one.tests, "Deliver a message of the server's own now");
  line_->add_flag("--enable", one.enables, "Deliver again");
  line_->add_flag("--disable", one.disables, "Deliver no more: the jobs wait");
  add_text("--note", one.note, "With --disable: why, for people", "TEXT");
  line_->add_flag("--delete", one.deletes, "Take it from the tube, whose jobs stay");
  add_exact();
  add_json();
}

}  // namespace

void fill_job(CLI::App& line, command& chosen, const std::function<void(const job_line&)>& run) {
  job_commands all(line, chosen, run);
  all.add_put();
  all.add_looks();
  all.add_list();
  all.add_changes();
  all.add_work();
  all.add_watch();
  all.add_next();
  all.add_schedules();
  all.add_policies();
  all.add_webhooks();
  line.footer(
      "  foliot job put mail hello --delay 2h\n"
      "  foliot job list --due\n"
      "  foliot job why 1\n"
      "  foliot job cancel 1\n"
      "\n"
      "Exit codes: 0 if it is done, 1 if the server has refused it or has no such job,\n"
      "2 for anything else: a wrong argument, or no answer.");
}

}  // namespace foliot::program

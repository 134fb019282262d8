#include "job/job_output.hpp"

#include <unistd.h>

#include "job/job_text.hpp"
#include "output_file.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {

void show_job(const job_line& line, const nlohmann::ordered_json& job, jobs::utc_time now) {
  if (!line.is_body_alone) return print(line.as_json ? json_line(job) : job_text(job, {now, line.is_exact}));
  if (::isatty(STDOUT_FILENO) != 0 && !line.is_terminal_allowed) {
    throw failure(
        "the body would go to a terminal, which obeys control characters in it: write it to a file, or add "
        "--to-terminal");
  }
  print(body_of(job));
}

}  // namespace foliot::program::terminal

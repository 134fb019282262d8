// The store that the options ask for.
#pragma once

#include <memory>
#include <string>

#include <foliot/jobs/job_store.hpp>

#include "serve/serve_options.hpp"
#include "serve/server_log.hpp"

namespace foliot::program {

/// Opens it, and logs what it promises. The store writes its warnings to `log`, which must outlive it. Throws failure.
[[nodiscard]] std::unique_ptr<jobs::job_store> open_store(const serve_options& options, const server_log& log);

/// Makes a backup of the store in a new folder, named by the time, in the folder `backups` of its own folder. Returns
/// its name. Any thread, while the store is used. Throws failure, also where the store is not in a folder.
[[nodiscard]] std::string back_up_store(jobs::job_store& store, const serve_options& options);

}  // namespace foliot::program

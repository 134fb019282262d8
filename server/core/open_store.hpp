// The stores that the options ask for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <foliot/jobs/job_store.hpp>

#include "serve_options.hpp"
#include "server_log.hpp"

namespace foliot::program {

/// Opens the store, or one for each session with a database, and logs what it promises. The stores write their
/// warnings to `log`, which must outlive them. Throws failure.
[[nodiscard]] std::vector<std::unique_ptr<jobs::job_store>> open_stores(const serve_options& options,
                                                                        const server_log& log);

/// Makes a backup of the store in a new folder, named by the time, in the folder `backups` of its own folder. Returns
/// its name. Any thread, while the store is used. Throws failure, also where the store is not in a folder.
[[nodiscard]] std::string back_up_store(jobs::job_store& store, const serve_options& options);

}  // namespace foliot::program

// An action in a folder goes on when the folder is opened again.
#include <chrono>
#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include <foliot/jobs/embedded_store.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "restarts.hpp"

namespace foliot::program {
namespace {

TEST(EmbeddedActions, GoOnWhenTheFolderIsOpenedAgain) {
  for (const std::size_t batches : {0U, 2U, 5U, 6U, 7U, 8U, 9U, 12U, 15U}) {
    SCOPED_TRACE(batches);
    const foliot_test::temporary_folder folder;
    virtual_clock clock;
    const jobs::virtual_wall_clock wall(clock);
    const auto options = [&] {
      jobs::embedded_options how;
      how.folder = folder.path() + "/jobs";
      how.disk_reserve = 0;
      how.clocks = {&wall, &clock};
      return how;
    };
    jobs::job_id id = 0;
    {
      jobs::embedded_store store(options());
      id = end_in_the_middle(store, clock, batches);
    }
    jobs::embedded_store store(options());
    go_on(store, clock, id);
    const check_result found = store.check();
    EXPECT_TRUE(found) << found.error();
  }
}

}  // namespace
}  // namespace foliot::program

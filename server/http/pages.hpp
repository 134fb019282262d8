// The pages of lists: how many entries a request wants, and behind which place. A place is a rank in the order of the
// list, such as a due time, and the id of the last job that was read there. Any place will do, whether or not a job has
// it, so that a page goes on where the jobs of the one before have gone.
//
// Thread safety: as inputs.
#pragma once

#include <cstdint>
#include <string>

#include <foliot/jobs/operations.hpp>

#include "inputs.hpp"

namespace foliot::program::http {

/// The `count` of a page: 100 unless the request says so, and at most 1000.
[[nodiscard]] std::uint32_t page_size(inputs& in);
/// The place that the `cursor` of a request names; the begin of the list if there is none. Throws wrong_input.
[[nodiscard]] jobs::job_place place_of(inputs& in);
/// Throws the wrong_input of a cursor that is none.
[[noreturn]] void refuse_cursor(const inputs& in);
/// The cursor of the page behind this place.
[[nodiscard]] std::string cursor_of(const jobs::job_place& place);

}  // namespace foliot::program::http

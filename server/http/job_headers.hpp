// The content type and the headers of a job, which travel with it from its put to its worker, as fields of the job
// (docs/decisions/0018-fields-of-a-job.md). Clients of beanstalk see nothing of them.
//
// The headers are one field: for each a line `name: value` that ends with LF, in ascending order of the names, which
// are in lower case. The content type is a field of its own, a text.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>

#include <foliot/jobs/fields.hpp>

#include "message.hpp"

namespace foliot::program::http {

inline constexpr jobs::field_tag headers_tag = 2;
inline constexpr jobs::field_tag content_type_tag = 3;

using job_headers = std::map<std::string, std::string>;

/// Why a job cannot have its headers.
struct header_problem {
  std::string detail;       ///< a sentence on what is wrong
  std::string name = {};    ///< of the header; empty: of all together, or of none
  bool is_of_type = false;  ///< of the content type
};

/// Sets them; empty ones are left out. If it returns a problem, the fields are in no particular state.
[[nodiscard]] std::expected<void, header_problem> set_headers(jobs::job_fields& of, std::string_view content_type,
                                                              const job_headers& headers);
/// The context of a trace (W3C Trace Context) that a request has: `traceparent`, and `tracestate` where it has that
/// too. None if `traceparent` is not as it must be; a `tracestate` of more than 512 bytes is left out.
[[nodiscard]] job_headers trace_context_of(const request& head);
/// Whether a header of this name has a part of that context.
[[nodiscard]] bool is_of_trace_context(std::string_view name) noexcept;
/// The headers of a job. A line that is none is left out.
[[nodiscard]] job_headers headers_of(const jobs::job_fields& of);
/// Whether a content type is of this media type, whatever its parameters are.
[[nodiscard]] bool is_media_type(std::string_view type, std::string_view wanted) noexcept;
/// The content type of a job; empty if it has none.
[[nodiscard]] std::string_view content_type_of(const jobs::job_fields& of) noexcept;

}  // namespace foliot::program::http

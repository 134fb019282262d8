#include "openapi.hpp"

#include "problem.hpp"

namespace foliot::program::http {

task<response> show_openapi(call& by) {
  by.in.expect_no_others();
  const std::string_view text = openapi_text();
  const bool has_room = co_await by.side.take_room(text.size());
  if (!has_room) co_return respond(problem{503, "the server has no memory for the answer at present: try again"});
  response made{200, "application/json"};
  made.body = text;
  co_return made;
}

}  // namespace foliot::program::http

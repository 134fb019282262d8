#include "requests.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "problem.hpp"
#include "server/page/page_files.hpp"

namespace foliot::program::http {

namespace {

/// The page runs its own scripts and speaks to its own server, and nothing else: no text that comes into it from a job
/// can run, load, send or frame anything.
constexpr std::string_view content_security =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'";

/// Whether a value of If-None-Match has this tag. It compares weakly, as RFC 9110 has it: a proxy may have weakened the
/// tag that it passes on. No tag of ours is a part of another one.
bool has_tag(std::string_view asked, std::string_view etag) noexcept { return asked == "*" || asked.contains(etag); }

task<response> show_file(call& by, std::string_view name) {
  by.in.expect_no_others();
  const page_file* const file = find_page_file(name);
  if (file == nullptr) co_return respond(problem{404, "the page has no file of this name"});
  const bool is_known = has_tag(by.what.find("if-none-match").value_or(""), file->etag);
  response made{is_known ? 304 : 200};
  if (!is_known) {
    const bool has_room = co_await by.side.take_room(file->text.size());
    if (!has_room) co_return respond(problem{503, "the server has no memory for the answer at present: try again"});
    made.content_type = file->content_type;
    made.body = file->text;
  }
  made.is_same_for_all = true;
  made.fields = {{"ETag", std::string(file->etag)},
                 {"Content-Security-Policy", std::string(content_security)},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cross-Origin-Opener-Policy", "same-origin"},
                 {"Cross-Origin-Resource-Policy", "same-origin"}};
  co_return made;
}

}  // namespace

task<response> show_page(call& by) {
  const bool is_root = by.what.target.starts_with('/');  // and not `*`, whose path is as empty
  return show_file(by, is_root ? "index.html" : "");
}

task<response> show_page_file(call& by) {
  const std::string name = by.in.required_text("file");
  auto showing = show_file(by, name);
  response made = co_await showing;
  co_return made;
}

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

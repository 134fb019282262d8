// The files of the page that people look at: plain HTML, CSS and JavaScript, which lie in server/page, are part of the
// program, and are sent as they are. They have no data of the server, so every client may have them: all data comes
// through /v1, by the rights of the access token that the page has been given.
//
// A new file is one more line of page_files in server/CMakeLists.txt. The files name each other by relative URLs, so
// that a proxy may have the page below a path of its own.
//
// Thread safety: any task.
#pragma once

#include <string_view>

namespace foliot::program {

struct page_file {
  std::string_view name;
  std::string_view content_type;
  std::string_view etag;  ///< with its quotes: a digest of the text
  std::string_view text;
};

/// The file with this name, such as page.css; null if there is none. `index.html` is the page itself. O(files).
[[nodiscard]] const page_file* find_page_file(std::string_view name) noexcept;

}  // namespace foliot::program

#include "report_page.hpp"

#include <cstddef>
#include <string_view>

#include "../results_json.hpp"
#include "embedded.hpp"

namespace foliot::program::bench {

namespace {

/// JSON inside a script element: the element must not seem to end in it.
std::string harmless(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace

bool report_available() noexcept { return !chart_library().empty(); }

std::string report_page(const results& all) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>foliot bench</title>\n<style>\n";
  page += page_style();
  page +=
      "</style>\n</head>\n<body>\n<h1>foliot bench</h1>\n"
      "<p class=\"quiet\">Timer queues and services, measured side by side in one run: compare its lines with each "
      "other, and no "
      "two runs.</p>\n<noscript>The charts need JavaScript.</noscript>\n<main id=\"content\"></main>\n"
      "<footer><details><summary>Drawn with Chart.js, MIT License</summary><pre>\n";
  page += chart_licence();
  page += "</pre></details></footer>\n<script type=\"application/json\" id=\"figures\">\n";
  page += harmless(results_json(all));
  page += "</script>\n<script>\n";
  page += chart_library();
  page += "\n</script>\n<script>\n";
  page += page_script();
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace foliot::program::bench

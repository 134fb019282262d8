#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "bench/record.hpp"
#include "bench/serve/serve_results.hpp"

// The assembler includes the files: a compiler takes long for a string of 200 kB, and -Wpedantic forbids it. In
// bench/Report.cmake this source depends on them.
#define FOLIOT_EMBED(name, file)                                                                                       \
  asm(".pushsection .rodata." #name                                                                                    \
      ",\"a\",@progbits\n"                                                                                             \
      ".globl foliot_" #name "_begin\n.hidden foliot_" #name "_begin\nfoliot_" #name "_begin:\n.incbin \"" file        \
      "\"\n.globl foliot_" #name "_end\n.hidden foliot_" #name "_end\nfoliot_" #name "_end:\n.byte 0\n.popsection\n"); \
  extern "C" {                                                                                                         \
  __attribute__((visibility("hidden"))) extern const char foliot_##name##_begin[];                                     \
  __attribute__((visibility("hidden"))) extern const char foliot_##name##_end[];                                       \
  }

FOLIOT_EMBED(page_style, FOLIOT_REPORT_DIR "/page.css")
FOLIOT_EMBED(page_script, FOLIOT_REPORT_DIR "/page.js")
FOLIOT_EMBED(timers_script, FOLIOT_REPORT_DIR "/timers.js")
FOLIOT_EMBED(serve_script, FOLIOT_REPORT_DIR "/serve.js")
FOLIOT_EMBED(chart_licence, FOLIOT_REPORT_DIR "/chart_js_licence.txt")
#ifdef FOLIOT_CHART_JS
FOLIOT_EMBED(chart_library, FOLIOT_CHART_JS)
#endif

namespace foliot::program::bench {

namespace {

/// What tells the pages apart.
struct page_kind {
  std::string_view title;
  std::string_view introduction;
  std::string_view script;
};

constexpr std::string_view head =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
constexpr std::string_view before_charts =
    "</p>\n<noscript>The charts need JavaScript.</noscript>\n<main id=\"content\"></main>\n"
    "<footer><details><summary>Drawn with Chart.js, MIT License</summary><pre>\n";

/// Empty where Chart.js was not installed when this program was built.
std::string_view chart_library() noexcept {
#ifdef FOLIOT_CHART_JS
  return {foliot_chart_library_begin, foliot_chart_library_end};
#else
  return {};
#endif
}

/// JSON inside a script element: nothing in it may look like the end of the element.
std::string without_tags(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

std::string page_of(const page_kind& kind, std::string json) {
  std::string page(head);
  page += kind.title;
  page += "</title>\n<style>\n";
  page += std::string_view(foliot_page_style_begin, foliot_page_style_end);
  page += "</style>\n</head>\n<body>\n<h1>";
  page += kind.title;
  page += "</h1>\n<p class=\"quiet\">";
  page += kind.introduction;
  page += before_charts;
  page += std::string_view(foliot_chart_licence_begin, foliot_chart_licence_end);
  page += "</pre></details></footer>\n<script type=\"application/json\" id=\"figures\">\n";
  page += without_tags(std::move(json));
  page += "</script>\n<script>\n";
  page += chart_library();
  page += "\n</script>\n<script>\n";
  page += std::string_view(foliot_page_script_begin, foliot_page_script_end);
  page += kind.script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace

bool report_available() noexcept { return !chart_library().empty(); }

std::string report_page(const results& all) {
  return page_of({.title = "foliot bench",
                  .introduction = "Timer queues and services, measured side by side in one run: compare its lines with "
                                  "each other, and no two runs.",
                  .script = {foliot_timers_script_begin, foliot_timers_script_end}},
                 results_json(all));
}

std::string report_page(const serve_results& all) {
  return page_of({.title = all.command,
                  .introduction = all.introduction,
                  .script = {foliot_serve_script_begin, foliot_serve_script_end}},
                 serve_json(all));
}

}  // namespace foliot::program::bench

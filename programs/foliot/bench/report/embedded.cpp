#include "embedded.hpp"

// The assembler reads the files: a compiler takes long to read 200 kB as a string, and -Wpedantic forbids
// it. What is built from them again when they change, CMake knows (bench/Report.cmake).
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
FOLIOT_EMBED(chart_licence, FOLIOT_REPORT_DIR "/chart_js_licence.txt")
#ifdef FOLIOT_CHART_JS
FOLIOT_EMBED(chart_library, FOLIOT_CHART_JS)
#endif

namespace foliot::program::bench {

std::string_view page_style() noexcept { return {foliot_page_style_begin, foliot_page_style_end}; }
std::string_view page_script() noexcept { return {foliot_page_script_begin, foliot_page_script_end}; }
std::string_view chart_licence() noexcept { return {foliot_chart_licence_begin, foliot_chart_licence_end}; }

std::string_view chart_library() noexcept {
#ifdef FOLIOT_CHART_JS
  return {foliot_chart_library_begin, foliot_chart_library_end};
#else
  return {};
#endif
}

}  // namespace foliot::program::bench

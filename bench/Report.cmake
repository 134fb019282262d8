# The files that make the page of `foliot bench --report` become part of the program. Chart.js is Debian's
# package libjs-chart.js; without it the program refuses --report, with this reason.
find_file(FOLIOT_CHART_JS chart.min.js
  PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
  NO_DEFAULT_PATH DOC "Chart.js 3, minified")
mark_as_advanced(FOLIOT_CHART_JS)
if(NOT FOLIOT_CHART_JS)
  message(STATUS "foliot bench: without --report, for Chart.js is not installed")
endif()

set(report_dir ${CMAKE_CURRENT_SOURCE_DIR}/report)
set(chart_js $<$<BOOL:${FOLIOT_CHART_JS}>:FOLIOT_CHART_JS="${FOLIOT_CHART_JS}">)
target_sources(foliot_bench PRIVATE report/page.cpp)
set_property(SOURCE report/page.cpp APPEND PROPERTY COMPILE_DEFINITIONS
  FOLIOT_REPORT_DIR="${report_dir}" ${chart_js})
set_property(SOURCE report/page.cpp APPEND PROPERTY OBJECT_DEPENDS
  "${report_dir}/page.css;${report_dir}/page.js;${report_dir}/timers.js;${report_dir}/serve.js;${report_dir}/chart_js_licence.txt")
if(FOLIOT_CHART_JS)
  set_property(SOURCE report/page.cpp APPEND PROPERTY OBJECT_DEPENDS ${FOLIOT_CHART_JS})
endif()

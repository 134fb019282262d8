# What the headers say to a compiler that was asked for another language, and which languages foliot.h is written in.
# Run by ctest.
#
#   COMPILER  the C++ compiler, which compiles C, too
#   ID        what CMake calls it
#   INCLUDE   the folder of the headers
#   HEADERS   those of C++, separated by spaces
#   SCRATCH   a folder for the files that are compiled
cmake_minimum_required(VERSION 3.25)
separate_arguments(HEADERS UNIX_COMMAND "${HEADERS}")

# compile(text extension OPTION...): sets `status` and `output`.
function(compile text extension)
  set(file ${SCRATCH}/language.${extension})
  file(WRITE ${file} "${text}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER} -I${INCLUDE} -fsyntax-only ${ARGN} ${file}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# -Wfatal-errors: the first error is the only one.
foreach(standard IN ITEMS 11 17 20)
  foreach(header IN LISTS HEADERS)
    compile("#include <${header}>\n" cpp -std=c++${standard} -Wfatal-errors)
    if(NOT output MATCHES "error:[^\n]* foliot needs C\\+\\+23 \\(g\\+\\+ 12 or clang 19: -std=c\\+\\+23\\)")
      message(NOTICE "${output}")
      message(FATAL_ERROR "<${header}> does not begin to tell C++${standard} that foliot needs C++23")
    endif()
  endforeach()
endforeach()

foreach(header IN LISTS HEADERS)
  compile("#include <${header}>\n" cpp -std=c++23 -fno-exceptions -Wfatal-errors)
  if(NOT output MATCHES "error:[^\n]* foliot needs exceptions: compile without -fno-exceptions")
    message(NOTICE "${output}")
    message(FATAL_ERROR "<${header}> does not begin to tell a compiler without exceptions that foliot needs them")
  endif()
endforeach()
compile("#include <foliot/runtime.hpp>\n#include <foliot/service.hpp>\n" cpp -std=c++23 -fno-rtti)
if(NOT status EQUAL 0)
  message(NOTICE "${output}")
  message(FATAL_ERROR "foliot does not compile without run-time type information")
endif()

set(program "#include <foliot/foliot.h>
#include <foliot/foliot.h>
static void call(void* context, const foliot_firing* firing) { (void)context; (void)firing; }
int main(void) {
  foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
  foliot_callback callback = call;
  int64_t length = FOLIOT_NEVER - FOLIOT_SECOND;
  options.precise = true;
  return callback == NULL || length < FOLIOT_MILLISECOND || foliot_version() == NULL || !options.precise;
}
")
foreach(language IN ITEMS c89 gnu89 c99 c11 c17 c++98 gnu++98 c++11 c++17 c++20 c++23)
  if(language MATCHES "\\+\\+")
    set(extension cpp)
  else()
    set(extension c)
  endif()
  set(options -std=${language} -pedantic-errors -Wall -Wextra -Werror -x)
  if(language MATCHES "89" AND ID STREQUAL "Clang")
    list(PREPEND options -Wno-c99-extensions)  # <stdbool.h> is of C99
  endif()
  string(REGEX REPLACE "pp$" "++" name ${extension})
  compile("${program}" ${extension} ${options} ${name})
  if(NOT status EQUAL 0)
    message(NOTICE "${output}")
    message(FATAL_ERROR "<foliot/foliot.h> does not compile as ${language}")
  endif()
endforeach()

# Whether a file is refused by the compiler, and for the right reason. Run by ctest.
#
#   FILE      the misuse. Its first lines say what the compiler has to say: `// expect: TEXT`, and
#             `// expect with clang: TEXT` where clang words it differently, or alone sees it, and
#             `// expect with g++ 12: TEXT` where that compiler alone refuses it.
#   COMPILER  the compiler and its options, separated by spaces
#   ID        what CMake calls the compiler, and its major version
#   PRECOMPILED  the folder of precompiled headers
#
# The file is compiled twice: as it is, and with CORRECT defined, which must work, so that the first
# cannot have failed for a wrong reason.
cmake_minimum_required(VERSION 3.25)

# clang takes the precompiled header with which the file begins only if it is named.
set(precompiled_header)
file(STRINGS ${FILE} includes REGEX "^#include <foliot/")
if(includes MATCHES "^#include <([^>]*)>")
  set(precompiled ${PRECOMPILED}/${CMAKE_MATCH_1}.pch)
  if(EXISTS ${precompiled})
    set(precompiled_header -include-pch ${precompiled})
  endif()
endif()

function(compile)
  separate_arguments(command UNIX_COMMAND "${COMPILER} -Werror -fsyntax-only")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${command} ${ARGN} ${precompiled_header} ${FILE}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/expectation.cmake)
foliot_expectation(${FILE} ${ID} expected)
if(expected STREQUAL "")
  message(FATAL_ERROR "the file does not say what to expect")
endif()

compile(-DCORRECT)
if(NOT status EQUAL 0)
  message(NOTICE "${output}")
  message(FATAL_ERROR "the correct variant does not compile")
endif()

compile()
string(FIND "${output}" "${expected}" place)
if(status EQUAL 0)
  message(FATAL_ERROR "the misuse compiles")
elseif(place EQUAL -1)
  message(NOTICE "${output}")
  message(FATAL_ERROR "the misuse does not compile, but not because of '${expected}'")
endif()

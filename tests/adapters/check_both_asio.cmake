# One source that includes the timers for Asio and for Boost.Asio, in both orders, or the timers for one library after a
# header of the other. From Boost 1.81 on it compiles. Before that the libraries' own headers do not, so the second header
# must say that in one error. Run by ctest.
#
#   COMPILER  the compiler and its options, separated by spaces
#   SCRATCH   a folder for the files that are compiled
cmake_minimum_required(VERSION 3.25)
separate_arguments(COMPILER UNIX_COMMAND "${COMPILER}")

# compile(text): sets `status` and `output`.
function(compile text)
  set(file ${SCRATCH}/both_asio.cpp)
  file(WRITE ${file} "${text}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER} -fsyntax-only ${file}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

compile("#include <boost/version.hpp>\n#if BOOST_VERSION < 108100\n#error old\n#endif\n")
set(together ${status})  # 0 from 1.81 on

set(ours foliot/adapters)
foreach(pair IN ITEMS "${ours}/asio_timer;${ours}/boost_asio_timer" "${ours}/boost_asio_timer;${ours}/asio_timer"
    "asio/io_context;${ours}/boost_asio_timer" "boost/asio/io_context;${ours}/asio_timer")
  list(GET pair 0 first)
  list(GET pair 1 second)
  compile("#include <${first}.hpp>\n#include <${second}.hpp>\n")
  string(REGEX MATCHALL "error:" errors "${output}")
  list(LENGTH errors count)
  string(FIND "${output}" "foliot: one source file cannot include Asio and Boost.Asio before Boost 1.81" place)
  if(together EQUAL 0 AND NOT status EQUAL 0)
    message(NOTICE "${output}")
    message(FATAL_ERROR "${second}.hpp does not compile behind ${first}.hpp")
  elseif(NOT together EQUAL 0 AND (status EQUAL 0 OR place EQUAL -1 OR NOT count EQUAL 1))
    message(NOTICE "${output}")
    message(FATAL_ERROR "${second}.hpp behind ${first}.hpp: ${count} errors, not the one that says what is wrong")
  endif()
endforeach()

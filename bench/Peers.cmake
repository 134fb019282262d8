# The libraries that `foliot bench` measures beside foliot. Each is optional: the program names those that it was built
# without. All that is measured of a library is in one source, contestants/NAME.cpp.
find_package(PkgConfig)

# bench_peer(TARGET NAME HEADER LIBRARY MODULE): found by its header, and by its library if it has one.
function(bench_peer target name header library module)
  string(TOUPPER ${name} upper)
  if(PkgConfig_FOUND AND module)
    pkg_check_modules(PC_${upper} QUIET ${module})
  endif()
  find_path(${upper}_INCLUDE_DIR ${header} HINTS ${PC_${upper}_INCLUDE_DIRS})
  set(found ${${upper}_INCLUDE_DIR})
  if(library)
    find_library(${upper}_LIBRARY ${library} HINTS ${PC_${upper}_LIBRARY_DIRS})
    if(NOT ${upper}_LIBRARY)
      set(found "")
    endif()
  endif()
  mark_as_advanced(${upper}_INCLUDE_DIR ${upper}_LIBRARY)
  if(NOT found)
    message(STATUS "foliot bench: without ${name}")
    return()
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/contestants/${name}.cpp)
  target_sources(${target} PRIVATE ${source})
  set_property(SOURCE roster.cpp APPEND PROPERTY COMPILE_DEFINITIONS FOLIOT_WITH_${upper})
  # As a system's: these headers do not keep to our warnings.
  target_include_directories(${target} SYSTEM PRIVATE ${${upper}_INCLUDE_DIR})
  if(library)
    target_link_libraries(${target} PRIVATE ${${upper}_LIBRARY})
  endif()
endfunction()

bench_peer(foliot_bench libuv uv.h uv libuv)
# libev brings imitations of libevent's functions under their own names: libevent must come first, so that its names lead
# to itself.
bench_peer(foliot_bench libevent event2/event.h event_core libevent_core)
find_library(LIBEVENT_THREADS_LIBRARY event_pthreads)
mark_as_advanced(LIBEVENT_THREADS_LIBRARY)
if(LIBEVENT_INCLUDE_DIR AND LIBEVENT_LIBRARY AND LIBEVENT_THREADS_LIBRARY)
  set_property(SOURCE contestants/libevent.cpp APPEND PROPERTY COMPILE_DEFINITIONS FOLIOT_WITH_LIBEVENT_THREADS)
  target_link_libraries(foliot_bench PRIVATE ${LIBEVENT_THREADS_LIBRARY})
endif()
bench_peer(foliot_bench libev ev.h ev "")
bench_peer(foliot_bench asio asio.hpp "" "")
# Asio has fences, which ThreadSanitizer does not understand, as g++ warns.
set_property(SOURCE contestants/asio.cpp APPEND PROPERTY COMPILE_OPTIONS
  $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)

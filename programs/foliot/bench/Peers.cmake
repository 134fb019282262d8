# The libraries that `foliot bench` measures beside foliot's own queues. Each is optional: the program
# names those that it was built without. Each has its
# own source, bench/contestants/NAME.cpp.
find_package(PkgConfig)

# bench_peer(TARGET NAME HEADER LIBRARY MODULE): found by its header and its library, where it has one.
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
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/bench/contestants/${name}.cpp)
  target_compile_definitions(${target} PRIVATE FOLIOT_WITH_${upper})
  # As a system's: these headers do not keep to our warnings.
  target_include_directories(${target} SYSTEM PRIVATE ${${upper}_INCLUDE_DIR})
  if(library)
    target_link_libraries(${target} PRIVATE ${${upper}_LIBRARY})
  endif()
endfunction()

# bench_trial_of(TARGET NAME FOLDER LIBRARY): a found peer has a source in this folder too, which may need
# one library more: bench/FOLDER/NAME.cpp.
function(bench_trial_of target name folder library)
  string(TOUPPER ${name}_${folder} upper)
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  string(TOUPPER FOLIOT_WITH_${name} with)
  if(NOT with IN_LIST definitions)
    return()
  endif()
  if(library)
    find_library(${upper}_LIBRARY ${library})
    mark_as_advanced(${upper}_LIBRARY)
    if(NOT ${upper}_LIBRARY)
      message(STATUS "foliot bench: without the ${folder} of ${name}")
      return()
    endif()
    target_link_libraries(${target} PRIVATE ${${upper}_LIBRARY})
  endif()
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/bench/${folder}/${name}.cpp)
  target_compile_definitions(${target} PRIVATE FOLIOT_WITH_${upper})
endfunction()

bench_peer(foliot_program libuv uv.h uv libuv)
bench_trial_of(foliot_program libuv sleeps "")
# libev brings imitations of libevent's functions under their own names: libevent must come first, so
# that its names lead to itself.
bench_peer(foliot_program libevent event2/event.h event_core libevent_core)
bench_trial_of(foliot_program libevent threads event_pthreads)
bench_trial_of(foliot_program libevent sleeps "")
bench_peer(foliot_program libev ev.h ev "")
bench_trial_of(foliot_program libev sleeps "")
bench_peer(foliot_program asio asio.hpp "" "")
bench_trial_of(foliot_program asio threads "")
bench_trial_of(foliot_program asio sleeps "")
# Asio has fences, which ThreadSanitizer does not understand, as g++ warns.
set_property(SOURCE bench/contestants/asio.cpp bench/threads/asio.cpp bench/sleeps/asio.cpp
  APPEND PROPERTY COMPILE_OPTIONS
  $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)

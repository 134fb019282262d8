# The libraries that adapters need, if they are installed: foliot_with_asio, foliot_with_boost_asio, foliot_with_uv,
# foliot_with_libevent, foliot_with_ev, foliot_with_glib, foliot_with_sd_event and foliot_with_uring, for the tests and
# examples of those adapters. foliot itself is built without them.
find_path(ASIO_INCLUDE_DIR asio.hpp)
find_path(BOOST_ASIO_INCLUDE_DIR boost/asio.hpp)
find_path(LIBUV_INCLUDE_DIR uv.h)
find_library(LIBUV_LIBRARY uv)
mark_as_advanced(ASIO_INCLUDE_DIR BOOST_ASIO_INCLUDE_DIR LIBUV_INCLUDE_DIR LIBUV_LIBRARY)

if(ASIO_INCLUDE_DIR)
  add_library(foliot_with_asio INTERFACE)
  target_link_libraries(foliot_with_asio INTERFACE foliot::adapters)
  target_include_directories(foliot_with_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
  target_compile_definitions(foliot_with_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
    $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT>)  # Asio 1.22 tests for the old macro of clang's coroutines
  # g++ warns that ThreadSanitizer does not understand fences, which Asio has.
  target_compile_options(foliot_with_asio INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
else()
  message(STATUS "Asio is not installed: the tests and the example of its adapter are left out")
endif()

if(BOOST_ASIO_INCLUDE_DIR)
  add_library(foliot_with_boost_asio INTERFACE)
  target_link_libraries(foliot_with_boost_asio INTERFACE foliot::adapters)
  target_include_directories(foliot_with_boost_asio SYSTEM INTERFACE ${BOOST_ASIO_INCLUDE_DIR})
  target_compile_definitions(foliot_with_boost_asio INTERFACE BOOST_ASIO_NO_DEPRECATED
    $<$<CXX_COMPILER_ID:Clang>:BOOST_ASIO_HAS_CO_AWAIT>)  # as ASIO_HAS_CO_AWAIT above
  target_compile_options(foliot_with_boost_asio INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
else()
  message(STATUS "Boost.Asio is not installed: the tests of its adapter are left out")
endif()

if(LIBUV_INCLUDE_DIR AND LIBUV_LIBRARY)
  add_library(foliot_with_uv INTERFACE)
  target_link_libraries(foliot_with_uv INTERFACE foliot::adapters ${LIBUV_LIBRARY})
  target_include_directories(foliot_with_uv SYSTEM INTERFACE ${LIBUV_INCLUDE_DIR})
else()
  message(STATUS "libuv is not installed: the tests and the example of its adapter are left out")
endif()

# foliot_loop(NAME TITLE INCLUDES LIBRARIES): nothing if one of the paths was not found.
function(foliot_loop name title includes libraries)
  if(NOT includes OR NOT libraries)
    message(STATUS "${title} is not installed: the tests and the example of its adapter are left out")
    return()
  endif()
  add_library(foliot_with_${name} INTERFACE)
  target_link_libraries(foliot_with_${name} INTERFACE foliot::adapters ${libraries})
  target_include_directories(foliot_with_${name} SYSTEM INTERFACE ${includes})
endfunction()

find_path(LIBEVENT_INCLUDE_DIR event2/event.h)
find_library(LIBEVENT_LIBRARY event_core)
foliot_loop(libevent libevent "${LIBEVENT_INCLUDE_DIR}" "${LIBEVENT_LIBRARY}")
find_path(LIBEV_INCLUDE_DIR ev.h)
find_library(LIBEV_LIBRARY ev)
foliot_loop(ev libev "${LIBEV_INCLUDE_DIR}" "${LIBEV_LIBRARY}")
mark_as_advanced(LIBEVENT_INCLUDE_DIR LIBEVENT_LIBRARY LIBEV_INCLUDE_DIR LIBEV_LIBRARY)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(GLIB QUIET glib-2.0)
  pkg_check_modules(LIBSYSTEMD QUIET libsystemd)
endif()
foliot_loop(glib GLib "${GLIB_INCLUDE_DIRS}" "${GLIB_LINK_LIBRARIES}")
find_path(SD_EVENT_INCLUDE_DIR systemd/sd-event.h HINTS ${LIBSYSTEMD_INCLUDE_DIRS})
find_library(LIBSYSTEMD_LIBRARY systemd HINTS ${LIBSYSTEMD_LIBRARY_DIRS})
mark_as_advanced(SD_EVENT_INCLUDE_DIR LIBSYSTEMD_LIBRARY)
foliot_loop(sd_event sd-event "${SD_EVENT_INCLUDE_DIR}" "${LIBSYSTEMD_LIBRARY}")
find_path(URING_INCLUDE_DIR liburing.h)
find_library(URING_LIBRARY uring)
mark_as_advanced(URING_INCLUDE_DIR URING_LIBRARY)
foliot_loop(uring liburing "${URING_INCLUDE_DIR}" "${URING_LIBRARY}")

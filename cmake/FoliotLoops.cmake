# The libraries that adapters need, if they are installed: foliot_with_asio, foliot_with_boost_asio and foliot_with_uv,
# for the tests and examples of those adapters. foliot itself is built without them.
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

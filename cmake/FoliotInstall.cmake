# The install rules: the headers, the libraries, and the files by which CMake (find_package(foliot)) and
# pkg-config (foliot.pc) find them. No installed file contains the prefix, so the tree may be moved. The
# rule for the program is in programs/foliot.
include(CMakePackageConfigHelpers)

set(foliot_layers core schedule queue adapters service runtime jobs client)
if(TARGET foliot_jobs_embedded)
  list(APPEND foliot_layers jobs_embedded)
endif()
if(TARGET foliot_jobs_postgresql)
  list(APPEND foliot_layers jobs_postgresql)
endif()
list(TRANSFORM foliot_layers PREPEND foliot_ OUTPUT_VARIABLE foliot_targets)

# foliot::tls has a file of its own, which is read only for the component `tls`: it refers to OpenSSL's targets.
if(TARGET foliot_tls)
  list(APPEND foliot_layers tls)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/foliot TYPE INCLUDE FILES_MATCHING REGEX "\\.(h|hpp|ipp)$")
install(TARGETS ${foliot_targets} EXPORT foliotTargets)
if(TARGET foliot_tls)
  install(TARGETS foliot_tls EXPORT foliotTlsTargets)
endif()

# The libraries that a C compiler must link in addition to static ones: libstdc++ or libc++, and libm.
set(foliot_cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER foliot_cxx_runtime INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|c\\+\\+abi|m)$")
if(NOT foliot_cxx_runtime)
  set(foliot_cxx_runtime stdc++ m)
endif()
list(TRANSFORM foliot_cxx_runtime PREPEND -l OUTPUT_VARIABLE foliot_pc_cxx_runtime)
list(JOIN foliot_pc_cxx_runtime " " foliot_pc_cxx_runtime)

set(foliot_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/foliot)
install(EXPORT foliotTargets NAMESPACE foliot:: DESTINATION ${foliot_cmake_dir})
if(TARGET foliot_tls)
  install(EXPORT foliotTlsTargets NAMESPACE foliot:: DESTINATION ${foliot_cmake_dir})
endif()
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/tidy_coroutines.py TYPE BIN RENAME foliot-check-coroutines)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/foliotConfig.cmake.in foliotConfig.cmake
  INSTALL_DESTINATION ${foliot_cmake_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# While the major version is 0, a new minor version may break programs that were written for the one before.
write_basic_package_version_file(foliotConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_SOURCE_DIR}/cmake/FoliotCheckCoroutines.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/foliotConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/foliotConfigVersion.cmake
  DESTINATION ${foliot_cmake_dir})

# pkg-config derives the prefix from the directory of foliot.pc. Directories outside the prefix stay absolute.
foreach(directory IN ITEMS INCLUDEDIR LIBDIR)
  string(TOLOWER foliot_pc_${directory} variable)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
    set(${variable} "${CMAKE_INSTALL_${directory}}")
  else()
    set(${variable} "\${prefix}/${CMAKE_INSTALL_${directory}}")
  endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(foliot_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(foliot_pc_prefix "\${pcfiledir}/${up}")
  string(REGEX REPLACE "/$" "" foliot_pc_prefix "${foliot_pc_prefix}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/foliot.pc.in foliot.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/foliot.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET foliot_tls)
  # A program links what a static library needs; a shared one brings it.
  set(foliot_pc_needs_openssl Requires)
  if(BUILD_SHARED_LIBS)
    set(foliot_pc_needs_openssl Requires.private)
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/foliot_tls.pc.in foliot_tls.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/foliot_tls.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# foliot_store_pc(name description library): the file of a job store. A program that links the static library also links
# the library that the store is over; the shared one brings it.
function(foliot_store_pc name description library)
  if(NOT TARGET ${name})
    return()
  endif()
  set(foliot_pc_name ${name})
  set(foliot_pc_description ${description})
  cmake_path(GET library PARENT_PATH directory)
  cmake_path(GET library STEM needed)
  string(REGEX REPLACE "^lib" " -l" needed ${needed})
  if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(PREPEND needed " -L${directory}")
  endif()
  if(BUILD_SHARED_LIBS)
    set(foliot_pc_needed_privately "${needed}")
  else()
    set(foliot_pc_needed "${needed}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/foliot_store.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
foliot_store_pc(foliot_jobs_embedded "foliot's job store on disk" "${ROCKSDB_LIBRARY}")
foliot_store_pc(foliot_jobs_postgresql "foliot's job store in PostgreSQL" "${LIBPQ_LIBRARY}")

# The documentation: the pages as they are, so that the links of the installed README.md work, and the site, where
# `scripts/run site` has made it.
install(FILES LICENSE README.md CONTRIBUTING.md CHANGELOG.md TYPE DOC)
install(DIRECTORY docs examples TYPE DOC)
install(DIRECTORY ${FOLIOT_SITE}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html OPTIONAL)
# The pages have links to headers, which are elsewhere in the prefix. The link to them is relative, as the tree may be
# moved.
file(RELATIVE_PATH foliot_headers ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
install(CODE "
  set(place \"${CMAKE_INSTALL_DOCDIR}/include\")
  cmake_path(ABSOLUTE_PATH place BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  file(CREATE_LINK \"${foliot_headers}\" \"\$ENV{DESTDIR}\${place}\" SYMBOLIC)
  message(STATUS \"Installing: \$ENV{DESTDIR}\${place}\")
")

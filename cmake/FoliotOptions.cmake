# The compile options of foliot's own targets. Of these options only the include path and the language level
# apply to targets that link the library.

# Installed programs find shared libraries relative to their own directory, so the prefix may be moved.
if(FOLIOT_INSTALL AND BUILD_SHARED_LIBS AND NOT DEFINED CMAKE_INSTALL_RPATH)
  file(RELATIVE_PATH libraries_from_programs ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/${libraries_from_programs}")
endif()

# Decides whether contracts are checked: in the library, and in the targets of the same build that link it. Targets that
# link an installed foliot check the inline code of the headers in their Debug configurations. Any mix works
# (<foliot/core/contract.hpp>).
function(foliot_assertions target)
  set(in_debug $<$<CONFIG:Debug>:FOLIOT_ASSERTIONS=1>)
  if(FOLIOT_ASSERTIONS STREQUAL "AUTO")
    set(here ${in_debug})
  elseif(FOLIOT_ASSERTIONS)
    set(here FOLIOT_ASSERTIONS=1)
  else()
    set(here "")
  endif()
  target_compile_definitions(${target} PUBLIC $<BUILD_INTERFACE:${here}> $<INSTALL_INTERFACE:${in_debug}>)
endfunction()

function(foliot_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual
    -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wundef
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wthread-safety-beta -Wextra-semi -Wunreachable-code>
    $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches>
    # g++ 12 sees overlaps in the copies of std::string at -O3 where there are none.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<BOOL:${FOLIOT_WERROR}>:-Werror>
    # For foliot's own development: g++ collects garbage first at twice this, a gigabyte, and takes up to a tenth less time.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${FOLIOT_WERROR}>>:--param=ggc-min-heapsize=524288>)
  if(FOLIOT_SANITIZE)
    # The code that sanitizers add hides initialisations from this warning of g++: it reports <regex>.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
  foreach(sanitizer IN LISTS FOLIOT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${sanitizer})
    if(sanitizer STREQUAL "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=all
        # Clang's check looks at a vtable through a pipe, and reports an object without one where no descriptor is left,
        # as tests bring about.
        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=vptr>)
    endif()
  endforeach()
  target_compile_features(${target} PRIVATE cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# foliot_unity(target [source...] [APART source...]): with FOLIOT_UNITY_BUILD, compiles several sources of a target at once,
# because what they include takes longest. The given sources are compiled alone: they have names in common with others. Those
# behind APART have none in common with each other, and are one unit. With TESTS the libraries' sources are compiled one by
# one, as users compile them, except where a test compiles them again.
function(foliot_unity target)
  if(NOT FOLIOT_UNITY_BUILD)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "APART")
  set_source_files_properties(${arg_UNPARSED_ARGUMENTS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(arg_APART)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(REMOVE_ITEM sources ${arg_UNPARSED_ARGUMENTS} ${arg_APART})
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${arg_APART} PROPERTIES UNITY_GROUP apart)
    set(count 0)
    foreach(source IN LISTS sources)
      math(EXPR group "${count} / 8")
      math(EXPR count "${count} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  endif()
  # Only in a file that is not included does g++ 12 let a coroutine keep what no other file knows.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # A local name may be that of something in another source.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
endfunction()

# Has all functions that a program or a shared library calls looked up when it starts. Where that is left to their first calls, as is the default, the
# loader then stores all vector registers on the stack, with the last bytes that were copied, as those of an access token.
function(foliot_bind_at_start target)
  include(CheckLinkerFlag)
  check_linker_flag(CXX LINKER:-z,now FOLIOT_HAS_BINDING_AT_START)
  if(FOLIOT_HAS_BINDING_AT_START)
    target_link_options(${target} PRIVATE LINKER:-z,now)
  endif()
endfunction()

# Links the programs of this directory and those below it with gold, which takes half as long as binutils' other linker.
# For foliot's own development, for what is not shipped, and without sanitizers: gold complains of what clang exports for
# AddressSanitizer.
function(foliot_link_quickly)
  if(NOT FOLIOT_WERROR OR FOLIOT_SANITIZE)
    return()
  endif()
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold FOLIOT_HAS_GOLD)
  if(FOLIOT_HAS_GOLD)
    add_link_options(-fuse-ld=gold)
  endif()
endfunction()

# The compile options of C programs (examples and tests): strict C11.
function(foliot_c_options target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wconversion -pedantic>
    $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${FOLIOT_WERROR}>>:-Werror>)
  foreach(sanitizer IN LISTS FOLIOT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizer})
    target_link_options(${target} PRIVATE -fsanitize=${sanitizer})
  endforeach()
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
endfunction()

# foliot_layer(name [header...]): finishes the library of one layer: its alias, include path, options and exported name.
# The given headers are those that its sources spend most time on, for FOLIOT_PRECOMPILED_HEADERS.
function(foliot_layer name)
  set(target foliot_${name})
  add_library(foliot::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PUBLIC)
    if(NOT PROJECT_IS_TOP_LEVEL AND NOT FOLIOT_INSTALL)
      # A project that contains foliot builds what it links.
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    foliot_compile_options(${target})
    if(type STREQUAL "SHARED_LIBRARY")
      foliot_bind_at_start(${target})
    endif()
    if(FOLIOT_UNITY_BUILD STREQUAL "ALL")
      foliot_unity(${target})
    endif()
    if(FOLIOT_PRECOMPILED_HEADERS STREQUAL "LIBRARIES" AND ARGN)
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
    # Shared libraries export only the symbols marked FOLIOT_EXPORT. Static libraries are compiled alike, so that they
    # may become parts of a shared one.
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # While the major version is 0, every minor version has its own binary interface.
    set_target_properties(${target} PROPERTIES
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  endif()
  target_compile_features(${target} ${scope} cxx_std_23)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

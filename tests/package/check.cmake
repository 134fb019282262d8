# Gets foliot in one of the ways that users have, and runs the consumer with it. ctest runs this script with the
# variables that CMakeLists.txt sets. All files that it makes are in SCRATCH.
cmake_minimum_required(VERSION 3.25)

set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
set(prefix ${SCRATCH}/prefix)
set(programs consumer consumer_hidden consumer_unchecked consumer_checked)
set(components "queue service")
if(TLS)
  set(components "queue service tls")
endif()
set(warnings "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror")
unset(ENV{DESTDIR})

# Prints the evidence verbatim, then fails.
function(fail sentence evidence)
  message(NOTICE "${evidence}")
  message(FATAL_ERROR "${sentence}; see above")
endfunction()

# run(what COMMAND...): sets `output` to that of a command, which must succeed.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    fail("${what} failed (${status})" "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect(what expected): `expected` is a part of `output`.
function(expect what expected)
  string(FIND "${output}" "${expected}" place)
  if(place EQUAL -1)
    fail("${what} does not say '${expected}'" "${output}")
  endif()
endfunction()

# The command that configures the consumer in SCRATCH/WAY.
function(configure_consumer result)
  set(${result} ${CMAKE_COMMAND} -S ${consumer} -B ${SCRATCH}/${WAY} -G "${GENERATOR}"
    -D CMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -D CMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DCONSUMER_WARNINGS=${warnings}" -D FOLIOT_SOURCE=${SOURCE} ${ARGN} PARENT_SCOPE)
endfunction()

# `targets` of the consumer's build are built.
function(build_and_run_consumer targets)
  file(REMOVE_RECURSE ${SCRATCH}/${WAY})
  configure_consumer(configure -D WAY=${WAY} ${ARGN})
  run("configuring the consumer" ${configure})
  expect("the consumer's configuration" "has core, schedule, queue, adapters, service, runtime, jobs, client")
  run("building the consumer" ${CMAKE_COMMAND} --build ${SCRATCH}/${WAY} --parallel 2 --target ${targets})
  foreach(program IN LISTS programs)
    run("${program}" ${SCRATCH}/${WAY}/${program})
    expect("${program}" "foliot ${VERSION} works")
  endforeach()
  run("a breach that nobody looks for" ${SCRATCH}/${WAY}/consumer_unchecked call_nothing)
  expect_breach(consumer_checked call_nothing "an empty callable must not be called")
endfunction()

# The program must end with a failure and print the sentence.
function(expect_breach program breach sentence)
  execute_process(COMMAND ${SCRATCH}/${WAY}/${program} ${breach}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0)
    fail("${program} must stop at ${breach}" "${output}")
  endif()
  expect("${program}'s stop at ${breach}" "${sentence}")
endfunction()

# A project that asks for this version and these components must get an error that contains `expected`.
function(expect_refusal version components expected)
  configure_consumer(configure -D WAY=find_package -D CMAKE_PREFIX_PATH=${prefix}
    -D WANTED_VERSION=${version} "-DWANTED_COMPONENTS=${components}")
  execute_process(COMMAND ${configure} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0)
    fail("foliot ${version} with ${components} must be refused" "${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake breaks long lines
  expect("the refusal of ${version} with ${components}" "${expected}")
endfunction()

# ---------------------------------------------------------------- one function a test

# Every link of the installed README.md to a file or a folder leads there.
function(check_links_of_readme folder)
  file(READ ${folder}/README.md text)
  string(REGEX REPLACE "```[^`]*```" "" text "${text}")  # code has captures
  string(REGEX REPLACE "\\]\\(([^)\n]+)\\)" "\nlink:\\1\n" text "${text}")
  string(REGEX MATCHALL "\nlink:[^\n]+" links "${text}")
  list(FILTER links EXCLUDE REGEX "link:(#|https?://)")
  list(LENGTH links count)
  if(count LESS 40)
    fail("README.md has many links, but the test finds only ${count}" "${links}")
  endif()
  set(broken)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^\nlink:([^#]*).*" "\\1" link "${link}")
    if(NOT EXISTS ${folder}/${link})
      list(APPEND broken ${link})
    endif()
  endforeach()
  if(broken)
    fail("the installed README.md has broken links" "${broken}")
  endif()
endfunction()

# Installs this build and then moves the prefix, as no file may depend on it.
function(check_install)
  file(REMOVE_RECURSE ${prefix} ${prefix}-at-first)
  run("the installation (is everything built?)" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix}-at-first)
  file(RENAME ${prefix}-at-first ${prefix})
  file(GLOB_RECURSE wanted RELATIVE ${SOURCE}/include ${SOURCE}/include/*.hpp ${SOURCE}/include/*.ipp ${SOURCE}/include/*.h)
  file(GLOB_RECURSE installed RELATIVE ${prefix}/include ${prefix}/include/*)
  if(NOT installed STREQUAL wanted)
    fail("not all headers are installed, or others" "installed: ${installed}\nwanted: ${wanted}")
  endif()
  check_links_of_readme(${prefix}/share/doc/foliot)
  if(EXISTS ${SITE}/index.html AND NOT EXISTS ${prefix}/share/doc/foliot/html/index.html)
    fail("the site is not installed" "site: ${SITE}")
  endif()
  run("the installed foliot-check-coroutines" ${prefix}/bin/foliot-check-coroutines ${consumer}/main.cpp)
  expect("the installed foliot-check-coroutines" "1 file, 0 breaches")
  if(EXISTS ${prefix}/bin/foliot)
    run("the installed program" ${prefix}/bin/foliot --version)
    expect("the installed program" ${VERSION})
  endif()
endfunction()

function(check_find_package)
  if(TLS)
    list(APPEND programs consumer_tls)
  endif()
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor_version ${VERSION})
  build_and_run_consumer(all -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D CMAKE_PREFIX_PATH=${prefix}
    -D WANTED_VERSION=${minor_version} "-DWANTED_COMPONENTS=${components}")
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/find_package --target miscompiled
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0)
    fail("foliot_check_coroutines lets a breach pass" "${output}")
  endif()
  expect("foliot_check_coroutines" "miscompiled.cpp:9: g++ 12 destroys this closure")
  expect("foliot_check_coroutines" "1 file, 1 breach\n")
  file(STRINGS ${SCRATCH}/find_package/CMakeCache.txt output REGEX "^foliot_DIR")
  expect("the consumer's cache" ${prefix}/)  # this foliot, and not an installed one
  if(ASSERTIONS STREQUAL "OFF")
    foreach(program IN ITEMS consumer_unchecked consumer_checked)
      run("a breach that the library does not look for" ${SCRATCH}/${WAY}/${program} lock_out_of_order)
    endforeach()
  endif()
endfunction()

# A project without C++: the package says what the C compiler's linker does not know.
function(check_find_package_c)
  set(scratch ${SCRATCH}/find_package_c)
  file(REMOVE_RECURSE ${scratch})
  run("configuring the consumer in C" ${CMAKE_COMMAND} -S ${consumer}_in_c -B ${scratch} -G "${GENERATOR}"
    -D CMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -D CMAKE_C_COMPILER=${CC} -D CMAKE_PREFIX_PATH=${prefix})
  run("building the consumer in C" ${CMAKE_COMMAND} --build ${scratch})
  run("the consumer in C" ${scratch}/consumer_in_c)
  expect("the consumer in C" "foliot ${VERSION} works")
endfunction()

# Without CMake: a compiler with the options of pkg-config.
function(check_pkg_config)
  file(GLOB_RECURSE description ${prefix}/*foliot.pc)
  cmake_path(GET description PARENT_PATH directory)
  set(ENV{PKG_CONFIG_PATH} ${directory})
  run("pkg-config" ${PKG_CONFIG} --modversion foliot)
  expect("pkg-config" ${VERSION})
  run("pkg-config" ${PKG_CONFIG} --static --cflags --libs foliot)
  separate_arguments(options UNIX_COMMAND "${warnings} ${output} ${CXX_FLAGS}")
  run("compiling with pkg-config's options" ${CXX} -std=c++23 ${consumer}/main.cpp ${consumer}/elsewhere.cpp
    ${options} -o ${SCRATCH}/consumer)
  set(ENV{LD_LIBRARY_PATH} ${directory}/..)  # where the libraries are shared
  run("the consumer" ${SCRATCH}/consumer)
  expect("the consumer" "foliot ${VERSION} works")
  foreach(component IN ITEMS TLS EMBEDDED POSTGRESQL)
    if(NOT ${component})
      continue()
    endif()
    string(TOLOWER ${component} source)
    set(package foliot_jobs_${source})
    if(component STREQUAL "TLS")
      set(package foliot_tls)
    endif()
    run("pkg-config" ${PKG_CONFIG} --modversion ${package})
    expect("pkg-config" ${VERSION})
    run("pkg-config" ${PKG_CONFIG} --cflags --libs ${package})
    separate_arguments(options UNIX_COMMAND "${warnings} ${output} ${CXX_FLAGS}")
    run("compiling with pkg-config's options for ${package}" ${CXX} -std=c++23 ${consumer}/${source}.cpp ${options}
      -o ${SCRATCH}/consumer_${source})
    file(REMOVE_RECURSE ${SCRATCH}/jobs)
    run("the consumer of ${package}" ${SCRATCH}/consumer_${source} ${SCRATCH}/jobs)
    expect("the consumer of ${package}" "foliot ${VERSION} works")
  endforeach()
endfunction()

# Configuring foliot says which components it has, and which it is without.
function(check_components)
  set(scratch ${SCRATCH}/components)
  file(REMOVE_RECURSE ${scratch})
  set(configure ${CMAKE_COMMAND} -S ${SOURCE} -B ${scratch} -G "${GENERATOR}" -D CMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
    -D CMAKE_CXX_COMPILER=${CXX} -D FOLIOT_BUILD_PROGRAMS=OFF -D FOLIOT_BUILD_TESTS=OFF)
  set(has "foliot ${VERSION} has core, schedule, queue, adapters, service, runtime, jobs, client")
  set(all "${has}")
  set(options)
  foreach(optional IN ITEMS "EMBEDDED;jobs_embedded (over RocksDB);ROCKSDB"
      "POSTGRESQL;jobs_postgresql (over libpq);POSTGRESQL" "TLS;tls (over OpenSSL 3);TLS")
    list(GET optional 0 variable)
    list(GET optional 1 component)
    list(GET optional 2 option)
    if(${variable})
      string(APPEND all ", ${component}")
    else()  # the build that is tested may be without it although its library is installed
      list(APPEND options -D FOLIOT_${option}=OFF)
    endif()
  endforeach()
  run("configuring foliot" ${configure} ${options})
  expect("configuring foliot" "${all}\n")
  run("configuring foliot alone" ${configure} -D FOLIOT_ROCKSDB=OFF -D FOLIOT_POSTGRESQL=OFF -D FOLIOT_TLS=OFF)
  expect("configuring foliot alone" "${has}\n")
  expect("configuring foliot alone"
    "foliot ${VERSION} is without jobs_embedded (FOLIOT_ROCKSDB), jobs_postgresql (FOLIOT_POSTGRESQL), tls (FOLIOT_TLS)\n")
endfunction()

# The same for a program in C: pkg-config names the libraries of the C++ runtime.
function(check_pkg_config_c)
  file(GLOB_RECURSE description ${prefix}/*foliot.pc)
  cmake_path(GET description PARENT_PATH directory)
  set(ENV{PKG_CONFIG_PATH} ${directory})
  run("pkg-config" ${PKG_CONFIG} --static --cflags --libs foliot)
  separate_arguments(options UNIX_COMMAND "${output}")
  run("compiling with pkg-config's options" ${CC} -std=c11 -Wall -Wextra -Werror -pedantic ${consumer}/main.c
    ${options} -o ${SCRATCH}/consumer_c)
  set(ENV{LD_LIBRARY_PATH} ${directory}/..)
  run("the consumer" ${SCRATCH}/consumer_c)
  expect("the consumer" "foliot ${VERSION} works")
endfunction()

# All layers in one shared object, which exports the symbols marked FOLIOT_EXPORT. Its users: a consumer compiled with
# hidden visibility, a program in C, and a program that loads the object with dlopen.
function(check_one_object)
  file(GLOB_RECURSE libraries ${prefix}/*libfoliot_*.a)
  # These need RocksDB, libpq and OpenSSL, and programs that use them link them by themselves.
  list(FILTER libraries EXCLUDE REGEX "jobs_(embedded|postgresql)|foliot_tls\\.a")
  set(one ${SCRATCH}/one_object)
  file(REMOVE_RECURSE ${one})
  file(MAKE_DIRECTORY ${one})
  separate_arguments(flags UNIX_COMMAND "${CXX_FLAGS}")
  set(hidden -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
  separate_arguments(options UNIX_COMMAND "-std=c++23 ${warnings} -I${prefix}/include")
  set(link -L${one} -lfoliot_all -Wl,-rpath,${one} -pthread)

  run("linking all layers into one object" ${CXX} ${flags} -shared -o ${one}/libfoliot_all.so
    -Wl,--whole-archive ${libraries} -Wl,--no-whole-archive -Wl,-z,defs -pthread)
  run("linking another library with it" ${CXX} ${flags} ${options} ${hidden} -DFOLIOT_ASSERTIONS=1 -shared
    ${consumer}/elsewhere.cpp -o ${one}/libelsewhere.so ${link} -Wl,-z,defs)
  run("linking the consumer with both" ${CXX} ${flags} ${options} ${hidden} ${consumer}/main.cpp -o ${one}/consumer
    -L${one} -lelsewhere ${link})
  run("the consumer" ${one}/consumer)
  expect("the consumer" "foliot ${VERSION} works")

  separate_arguments(options UNIX_COMMAND "-std=c99 -Wall -Wextra -Werror -fvisibility=hidden -I${prefix}/include")
  run("linking a program in C with it" ${CC} ${options} ${consumer}/main.c -o ${one}/consumer_c ${link})
  run("the consumer in C" ${one}/consumer_c)
  expect("the consumer in C" "foliot ${VERSION} works")
  run("compiling a program that loads it" ${CC} ${options} ${consumer}/plugin.c -o ${one}/plugin -ldl)
  run("the program that loads it" ${one}/plugin ${one}/libfoliot_all.so)
  expect("the program that loads it" "a loaded foliot works")
endfunction()

# Versions and components that foliot does not have are refused, with an error that lists its components.
function(check_refusals)
  set(WAY refused)
  file(REMOVE_RECURSE ${SCRATCH}/${WAY})
  string(REPLACE "." ";" version ${VERSION})
  list(GET version 0 major)
  list(GET version 1 minor)
  math(EXPR next_minor "${minor} + 1")
  math(EXPR next_major "${major} + 1")
  foreach(wrong IN ITEMS ${major}.${next_minor} ${next_major}.0 ${VERSION}.1)
    expect_refusal(${wrong} service "compatible with requested version \"${wrong}\"")
  endforeach()
  expect_refusal(${VERSION} "service escapement"
    "foliot ${VERSION} has no component 'escapement'; it has: core, schedule, queue, adapters, service, runtime, jobs, client")

  execute_process(COMMAND ${CMAKE_COMMAND} -S ${consumer}_in_c -B ${SCRATCH}/refused_c -G "${GENERATOR}"
    -D CMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -D CMAKE_C_COMPILER=${CC} -D FOLIOT_SOURCE=${SOURCE}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0)
    fail("a project without C++ that builds foliot must be refused" "${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  expect("the refusal of a project without C++" "write project(consumer_in_c LANGUAGES C CXX)")
endfunction()

# Inside another project's build foliot has its libraries, and installs nothing. They are not built here: fetch_content builds
# all of them, and what a build installs is known once it is configured.
function(check_add_subdirectory)
  file(REMOVE_RECURSE ${SCRATCH}/${WAY} ${SCRATCH}/nothing)
  configure_consumer(configure -D WAY=${WAY})
  run("configuring the consumer" ${configure})
  expect("the consumer's configuration" "has core, schedule, queue, adapters, service, runtime, jobs, client")
  run("installing the consumer" ${CMAKE_COMMAND} --install ${SCRATCH}/${WAY} --prefix ${SCRATCH}/nothing)
  file(GLOB_RECURSE installed ${SCRATCH}/nothing/*)
  if(installed)
    fail("foliot installs itself with a project that only uses it" "${installed}")
  endif()
endfunction()

# Fetched, foliot is built once more, here as shared libraries, by clang: what g++ exports is seen in one_object. It is a
# Debug build, so the libraries check their contracts, even for callers that do not. Projects may compile several sources
# at once, which also takes half the time: sixteen, four fifths of what eight take, the number that CMake has otherwise.
function(check_fetch_content)
  if(TLS)
    list(APPEND programs consumer_tls)
  endif()
  build_and_run_consumer(all -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D BUILD_SHARED_LIBS=ON
    -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=16)
  file(GLOB_RECURSE unlinked ${SCRATCH}/${WAY}/libfoliot_jobs_*.so)
  if(unlinked)
    fail("a project that contains foliot builds what it does not link" "${unlinked}")
  endif()
  run("building all of foliot" ${CMAKE_COMMAND} --build ${SCRATCH}/${WAY} --parallel 2 --target whole_foliot)
  foreach(program IN ITEMS consumer_unchecked consumer_checked)
    expect_breach(${program} lock_out_of_order "locks must be taken in the order of lock_rank")
  endforeach()
endfunction()

cmake_language(CALL check_${WAY})

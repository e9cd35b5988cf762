# Tests: one ctest test a spec file and variant.
#
#   spec/unit/*_spec.lua, spec/unit/*_test.c        once: they need no kernel
#   spec/escape, cli, tools, lifecycle, helper: the same     as root and as an ordinary user, with and without namespaces
#
# spec/support/stage and spec/support/variant say how. A *_test.c is a program that exits 0 when all is well; it links the
# library's objects, so it may call what the library does not export.
find_program(PROCAGE_LUA_INTERPRETER NAMES lua5.4 lua54 lua-5.4 REQUIRED)
find_program(PROCAGE_BUSTED NAMES busted REQUIRED)

set(support ${CMAKE_SOURCE_DIR}/spec/support)
set(interpreter ${PROCAGE_LUA_INTERPRETER})

add_executable(no_userns ${support}/no_userns.c)
target_link_libraries(no_userns PRIVATE procage_flags PkgConfig::SECCOMP)
set_target_properties(no_userns PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# An attacker, with no sanitizer's threads and signals of its own.
add_executable(stray ${support}/stray.c)
target_compile_options(stray PRIVATE -O1 -pthread -Wall -Wextra -fno-sanitize=all)
target_link_options(stray PRIVATE -pthread -fno-sanitize=all)
set_target_properties(stray PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# A tracer of what a host starts.
add_executable(orphan ${support}/orphan.c)
target_compile_options(orphan PRIVATE -O1 -Wall -Wextra -Wshadow -Wconversion -fno-sanitize=all)
target_link_options(orphan PRIVATE -fno-sanitize=all)
set_target_properties(orphan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# For memory checkers (docs/checking.md).
add_executable(runs ${support}/runs.c)
target_link_libraries(runs PRIVATE procage_flags procage Threads::Threads)
set_target_properties(runs PROPERTIES BUILD_RPATH_USE_ORIGIN ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/spec)

# Beside valgrind, which is one more package: ./dev check installs it.
find_path(PROCAGE_VALGRIND_INCLUDE_DIR valgrind/valgrind.h)
if(PROCAGE_VALGRIND_INCLUDE_DIR AND NOT PROCAGE_SANITIZE AND NOT PROCAGE_SANITIZE_THREADS)
  add_library(natively MODULE ${support}/natively.c)
  target_include_directories(natively PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(natively SYSTEM PRIVATE ${PROCAGE_VALGRIND_INCLUDE_DIR})
  target_link_libraries(natively PRIVATE procage_flags)
  set_target_properties(natively PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/spec)
endif()

if(PROCAGE_SANITIZE)
  add_executable(lua_driver ${support}/lua_driver.c)
  target_link_libraries(lua_driver PRIVATE procage_flags PkgConfig::LUA)
  set_target_properties(lua_driver PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  set(interpreter @BUILD@/lua_driver)
endif()

# .busted names an interpreter, for people, and would start it anew; the Lua path in it holds here too.
set(busted ${interpreter} ${PROCAGE_BUSTED} --ignore-lua -o TAP --cpath=@BUILD@/lib/lua/5.4/?.so)

add_test(NAME stage COMMAND ${support}/stage setup ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
add_test(NAME unstage COMMAND ${support}/stage cleanup ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(stage PROPERTIES FIXTURES_SETUP stage)
set_tests_properties(unstage PROPERTIES FIXTURES_CLEANUP stage)

# Sanitizers take their time.
set(test_seconds 300)
if(PROCAGE_SANITIZE OR PROCAGE_SANITIZE_THREADS)
  set(test_seconds 1500)
endif()

# Adds one test: NAME, who (root, user, or self), namespaces (userns, no-userns), the command.
function(procage_add_test name who namespaces)
  add_test(NAME ${name}
    COMMAND ${support}/variant ${who} ${namespaces} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${ARGN})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED stage TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77)
endfunction()

# Its children are such children.
set_source_files_properties(spec/unit/child_stack_test.c PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-fno-stack-protector")

foreach(folder unit escape cli tools lifecycle helper)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/spec/${folder}/*_spec.lua ${CMAKE_SOURCE_DIR}/spec/${folder}/*_test.c)
  # ThreadSanitizer is for hosts with threads; a plain Lua cannot load what it has built.
  if(PROCAGE_SANITIZE_THREADS)
    list(FILTER files INCLUDE REGEX "/capi_[a-z_]*\\.c$")
  endif()
  foreach(file ${files})
    get_filename_component(base ${file} NAME_WE)
    if(base MATCHES "^capi_")
      # A host: what the library does not export is not to be had.
      add_executable(${base} ${file})
      target_include_directories(${base} PRIVATE ${CMAKE_SOURCE_DIR})
      target_link_libraries(${base} PRIVATE procage_flags procage Threads::Threads)
      set_target_properties(${base} PROPERTIES BUILD_RPATH_USE_ORIGIN ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/spec)
      set(command @BUILD@/spec/${base})
    elseif(file MATCHES "\\.c$")
      add_executable(${base} ${file} $<TARGET_OBJECTS:procage_objects>)
      target_include_directories(${base} PRIVATE ${CMAKE_SOURCE_DIR})
      target_link_libraries(${base} PRIVATE procage_flags procage_static_cxx ${PROCAGE_NETTLE} PkgConfig::LUA PkgConfig::SECCOMP)
      set_target_properties(${base} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/spec)
      set(command @BUILD@/spec/${base})
    else()
      string(REGEX REPLACE "_spec$" "" base ${base})
      set(command ${busted} ${file})
    endif()
    if(folder STREQUAL "unit")
      procage_add_test(unit/${base} self userns ${command})
    else()
      foreach(who root user)
        procage_add_test(${folder}/${base}:${who} ${who} userns ${command})
        procage_add_test(${folder}/${base}:${who}:no-userns ${who} no-userns ${command})
      endforeach()
    endif()
  endforeach()
endforeach()

# What is freed stays a sanitizer's for a while, 256 MiB of it: more than this test allows.
if(PROCAGE_SANITIZE)
  foreach(variant root root:no-userns user user:no-userns)
    set_tests_properties(lifecycle/soak:${variant} PROPERTIES ENVIRONMENT ASAN_OPTIONS=quarantine_size_mb=16)
  endforeach()
endif()

# The child in the host's memory calls nothing of libc, whose functions keep things for each thread: but for these two, which
# compilers make up.
find_program(PROCAGE_NM NAMES nm)
if(PROCAGE_NM AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION AND NOT PROCAGE_SANITIZE_THREADS)
  add_library(child_objects OBJECT ${child_sources})
  target_include_directories(child_objects PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(child_objects PRIVATE procage_flags)
  add_test(NAME unit/child_calls COMMAND ${support}/child_calls ${PROCAGE_NM} $<TARGET_OBJECTS:child_objects>)
endif()

# What is installed works from wherever it was moved to. A sanitizer's module needs a sanitizer's interpreter: not in such a build.
if(NOT PROCAGE_SANITIZE AND NOT PROCAGE_SANITIZE_THREADS)
  foreach(what prefix luarocks c lua rust many go)
    add_test(NAME install/${what}
      COMMAND ${support}/install_check ${what} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
    set_tests_properties(install/${what} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  endforeach()
endif()

# The program as a release has it, with its Lua compiled inside: built when its test is run, for a build for development has none.
if(NOT CMAKE_CROSSCOMPILING AND NOT PROCAGE_SANITIZE_THREADS)
  if(PROCAGE_BUNDLE)
    set(carrying_target procage_program)
    set(carrying ${CMAKE_BINARY_DIR}/bin/procage-lua)
  else()
    set(carrying_target carrying)
    set(carrying ${CMAKE_BINARY_DIR}/spec/carrying)
    add_executable(carrying EXCLUDE_FROM_ALL core/main.c core/open.c ${procage_all_chunks} $<TARGET_OBJECTS:procage_objects>)
    target_include_directories(carrying PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(carrying PRIVATE procage_flags procage_static_cxx procage_nettle PkgConfig::LUA PkgConfig::SECCOMP)
    set_target_properties(carrying PROPERTIES LINKER_LANGUAGE CXX ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/spec)
  endif()
  add_test(NAME carrying COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${carrying_target})
  set_tests_properties(carrying PROPERTIES FIXTURES_SETUP carrying TIMEOUT 300)
  set_tests_properties(unit/carried PROPERTIES
    FIXTURES_REQUIRED "stage;carrying" ENVIRONMENT "PROCAGE_CARRYING=${carrying}")
endif()

# procage_flags: how our C is compiled and linked, but for the init, which takes none of it.
add_library(procage_flags INTERFACE)

include(CheckCCompilerFlag)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")

target_compile_options(procage_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -fvisibility=hidden)
target_compile_definitions(procage_flags INTERFACE _GNU_SOURCE)
target_link_options(procage_flags INTERFACE -Wl,-z,noexecstack)

if(PROCAGE_WERROR)
  target_compile_options(procage_flags INTERFACE -Werror)
endif()

if(PROCAGE_SANITIZE)
  target_compile_options(procage_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
    # GCC's instrumentation makes it see uses and conversions that are not in the source.
    -Wno-maybe-uninitialized -Wno-sign-conversion)
  target_link_options(procage_flags INTERFACE -fsanitize=address,undefined)
endif()

# GCC's: clang's runtime does not survive a child that shares the memory.
if(PROCAGE_SANITIZE_THREADS)
  target_compile_options(procage_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(procage_flags INTERFACE -fsanitize=thread)
endif()

# What core/toml.cpp takes of C++ comes into our own files: no package more for users, and no second copy for a host that has
# its own. A sanitizer brings the shared one with it.
add_library(procage_static_cxx INTERFACE)
if(NOT PROCAGE_SANITIZE AND NOT PROCAGE_SANITIZE_THREADS)
  target_link_options(procage_static_cxx INTERFACE
    -static-libstdc++ -static-libgcc -Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a)
endif()
# Templates of std are visible whatever the flags say. libprocage has a script that hides more, and there can be one alone.
target_link_options(procage_static_cxx INTERFACE
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:PROCAGE_OWN_VERSION_SCRIPT>>>:-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/hide_cxx.map>)

# Hardening where the optimiser runs for users. _FORTIFY_SOURCE is undefined first: some distributions predefine another level.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(procage_flags INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_link_options(procage_flags INTERFACE -Wl,-z,relro,-z,now)
  foreach(flag -fstack-clash-protection -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "have${flag}" have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
      target_compile_options(procage_flags INTERFACE ${flag})
    endif()
  endforeach()
endif()

# A program that is not position independent has its code at known addresses.
include(CheckPIESupported)
check_pie_supported()

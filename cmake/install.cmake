# cmake --install: one copy of the Lua files, where both the program (from its own place) and a stock Lua 5.4 find them.
#
#   bin/procage-lua
#   include/procage.h
#   lib/libprocage.so*, libprocage.a
#   lib/pkgconfig/procage.pc
#   lib/cmake/procage/                  find_package(procage): procage::procage
#   lib/lua/5.4/procage/core.so
#   lib/lua/5.4/procage/line.so         where libedit is: editing at the prompt
#   libexec/procage/procage-init        also carried inside the library; here for a look and for packagers
#   share/lua/5.4/procage/*.lua
#   share/lua/5.4/procage/policies/*.lua
install(TARGETS procage_program RUNTIME DESTINATION bin)
install(TARGETS procage EXPORT procage LIBRARY DESTINATION lib)
install(TARGETS procage_static ARCHIVE DESTINATION lib)
install(FILES ${CMAKE_SOURCE_DIR}/core/procage.h DESTINATION include)

# Neither names the prefix: what is installed can be moved.
configure_file(${CMAKE_SOURCE_DIR}/cmake/procage.pc.in ${CMAKE_BINARY_DIR}/procage.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/procage.pc DESTINATION lib/pkgconfig)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/procageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT procage NAMESPACE procage:: FILE procageConfig.cmake DESTINATION lib/cmake/procage)
install(FILES ${CMAKE_BINARY_DIR}/procageConfigVersion.cmake DESTINATION lib/cmake/procage)

install(TARGETS procage_module LIBRARY DESTINATION ${PROCAGE_LUA_CMOD}/procage)
if(TARGET procage_line)
  install(TARGETS procage_line LIBRARY DESTINATION ${PROCAGE_LUA_CMOD}/procage)
endif()
install(PROGRAMS $<TARGET_FILE:procage_init> DESTINATION libexec/procage)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/lua/procage DESTINATION ${PROCAGE_LUA_LMOD} FILES_MATCHING PATTERN "*.lua")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/policies DESTINATION ${PROCAGE_LUA_LMOD}/procage FILES_MATCHING PATTERN "*.lua")

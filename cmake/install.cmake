# cmake --install: one copy of the Lua files, where both the program (from its own place) and a stock Lua 5.4 find them.
#
#   bin/procage-lua
#   lib/libprocage.so*, libprocage.a
#   lib/lua/5.4/procage/core.so
#   lib/lua/5.4/procage/line.so         where libedit is: editing at the prompt
#   libexec/procage/procage-init        also carried inside the library; here for a look and for packagers
#   share/lua/5.4/procage/*.lua
#   share/lua/5.4/procage/policies/*.lua
install(TARGETS procage_program RUNTIME DESTINATION bin)
install(TARGETS procage procage_static LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(TARGETS procage_module LIBRARY DESTINATION ${PROCAGE_LUA_CMOD}/procage)
if(TARGET procage_line)
  install(TARGETS procage_line LIBRARY DESTINATION ${PROCAGE_LUA_CMOD}/procage)
endif()
install(PROGRAMS $<TARGET_FILE:procage_init> DESTINATION libexec/procage)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/lua/procage DESTINATION ${PROCAGE_LUA_LMOD} FILES_MATCHING PATTERN "*.lua")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/policies DESTINATION ${PROCAGE_LUA_LMOD}/procage FILES_MATCHING PATTERN "*.lua")

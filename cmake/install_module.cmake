# luarocks: the module and the Lua files, in the two directories that luarocks then moves into its tree. Nothing else: a
# versioned shared library in lib/ breaks `luarocks make`, which moves its symbolic links first.
set(LIBDIR ${PROCAGE_LUA_CMOD} CACHE PATH "Where C modules go")
set(LUADIR ${PROCAGE_LUA_LMOD} CACHE PATH "Where Lua modules go")

install(TARGETS procage_module LIBRARY DESTINATION ${LIBDIR}/procage)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/lua/procage DESTINATION ${LUADIR} FILES_MATCHING PATTERN "*.lua")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/policies DESTINATION ${LUADIR}/procage FILES_MATCHING PATTERN "*.lua")

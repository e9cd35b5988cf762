# procage_lua_headers: lua.h for everyone. PkgConfig::LUA: liblua, for the program and libprocage.
add_library(procage_lua_headers INTERFACE)

# Where Lua 5.4 keeps modules below a prefix. Not lib/<triplet>: stock Lua looks in /usr/local/lib/lua/5.4.
set(PROCAGE_LUA_CMOD lib/lua/5.4)
set(PROCAGE_LUA_LMOD share/lua/5.4)

if(NOT PROCAGE_MODULE_ONLY OR NOT PROCAGE_LUA_INCLUDE_DIR)
  find_package(PkgConfig REQUIRED)
  pkg_search_module(LUA REQUIRED IMPORTED_TARGET lua5.4 lua-5.4 lua54 lua>=5.4)
  target_include_directories(procage_lua_headers SYSTEM INTERFACE ${LUA_INCLUDE_DIRS})
else()
  target_include_directories(procage_lua_headers SYSTEM INTERFACE ${PROCAGE_LUA_INCLUDE_DIR})
endif()

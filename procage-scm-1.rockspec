rockspec_format = "3.0"
package = "procage"
version = "scm-1"
source = {
  -- For `luarocks make` in a checkout, which does not fetch: there is no public address yet.
  url = "git+file://.",
}
description = {
  license = "not chosen yet",
  summary = "Runs commands that cannot be trusted, confined, and says what the machine enforces",
  detailed = [[
procage confines what a command can do (files, network, signals, credentials) on the machine as it is: no root, no daemon, no
container image. A policy in Lua says what is wanted, and a report says, clause by clause, what this kernel enforces of it.
]],
}
supported_platforms = { "linux" }
dependencies = {
  "lua ~> 5.4",
  "lua-cjson",
  "argparse",
}
external_dependencies = {
  SECCOMP = { header = "seccomp.h" },
  TOMLPLUSPLUS = { header = "toml++/toml.h" },
  NETTLE = { header = "nettle/sha2.h" },
}
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    PROCAGE_MODULE_ONLY = "ON",
    PROCAGE_LUA_INCLUDE_DIR = "$(LUA_INCDIR)",
    LIBDIR = "$(LIBDIR)",
    LUADIR = "$(LUADIR)",
  },
}

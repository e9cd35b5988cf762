--- Files that the user's git configuration has git run or include, as far as it names them by path: in a tree that commands
--- write they are hand-off files like hooks. Reads configuration as text; runs nothing.
--- Source: git-config(1), git 2.47; gitattributes(5).

local disk = require("procage.disk")
local git_config = require("procage.git_config")
local path = require("procage.path")
local user_git = require("procage.user_git")

local M = {}

--- Keys whose value is a command, in lower case but for a middle part, which is anything.
local COMMANDS = {
  "^core%.fsmonitor$", "^core%.sshcommand$", "^core%.editor$", "^core%.pager$", "^core%.askpass$", "^core%.gitproxy$",
  "^core%.alternaterefscommand$", "^sequence%.editor$", "^interactive%.difffilter$", "^pager%..+$", "^diff%.external$",
  "^diff%..+%.command$", "^diff%..+%.textconv$", "^filter%..+%.clean$", "^filter%..+%.smudge$", "^filter%..+%.process$",
  "^merge%..+%.driver$", "^difftool%..+%.cmd$", "^difftool%..+%.path$", "^mergetool%..+%.cmd$", "^mergetool%..+%.path$",
  "^gpg%.program$", "^gpg%..+%.program$", "^gpg%.ssh%.defaultkeycommand$", "^credential%.helper$",
  "^credential%..+%.helper$", "^alias%..+$", "^trailer%..+%.command$", "^trailer%..+%.cmd$", "^hook%..+%.command$",
  "^submodule%..+%.update$", "^remote%..+%.uploadpack$", "^remote%..+%.receivepack$", "^uploadpack%.packobjectshook$",
  "^sendemail%..+$", "^browser%..+%.cmd$", "^browser%..+%.path$", "^man%..+%.cmd$", "^man%..+%.path$", "^guitool%..+%.cmd$",
  "^tar%..+%.command$", "^lfs%.customtransfer%..+%.path$", "^lfs%.extension%..+%.clean$", "^lfs%.extension%..+%.smudge$",
}

--- Keys whose value is a path of what git runs or copies into repositories to come.
local PATHS = { ["core.hookspath"] = true, ["init.templatedir"] = true }

--- Programs that run the file which their first word after options names.
local INTERPRETERS = {
  sh = true, bash = true, dash = true, zsh = true, ksh = true, fish = true, env = true, exec = true, node = true, deno = true,
  bun = true, ruby = true, perl = true, php = true, lua = true, awk = true, make = false,
}

---@param text string
local function is_command(text)
  for _, pattern in ipairs(COMMANDS) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

--- The words of a shell's line, as far as they can be told without a shell: quotes away, cut at what ends a command.
---@return string[][] commands
local function commands_of(line)
  local commands = {}
  for part in line:gsub("^!", ""):gsub("[\"']", ""):gmatch("[^;|&()`{}\n]+") do
    local words = {}
    for word in part:gmatch("%S+") do
      words[#words + 1] = word
    end
    commands[#commands + 1] = words
  end
  return commands
end

local function is_interpreter(word)
  local name = path.basename(word)
  return INTERPRETERS[name] or name:find("^python[%d.]*$") ~= nil or name:find("^lua[%d.]*$") ~= nil
end

--- Words of one command that name a file which is run: the first, and what an interpreter is given.
local function run_by(words)
  local found, is_next = {}, true
  for _, word in ipairs(words) do
    local is_assignment = word:find("^[%a_][%w_]*=") ~= nil
    if is_next and not is_assignment and word:sub(1, 1) ~= "-" and not word:find("^%$") then
      found[#found + 1] = word
      is_next = is_interpreter(word)
    end
  end
  return found
end

---@param named table<string, string>
local function add_command(named, value, root, home)
  for _, words in ipairs(commands_of(value)) do
    local first = true
    for _, word in ipairs(run_by(words)) do
      local expanded = path.expand_home(word, home)
      -- A first word without a slash is looked for on PATH; what an interpreter is given is a file.
      if not first or expanded:find("/", 1, true) then
        named[path.join(root, expanded)] = "file"
      end
      first = false
    end
  end
end

local MAX_FILES, MAX_DEPTH = 64, 10

---@class procage.GitPrograms
---@field named table<string, "tree"|"file">  absolute paths, and what of them counts; they need not exist
---@field files table<string, boolean>  the configuration files themselves, included ones too

--- The settings of a file. Many repositories share the user's.
local function settings_of(file, parsed)
  parsed[file] = parsed[file] or git_config.parse(disk.read((disk.resolve(file))) or "")
  return parsed[file]
end

local function read(result, file, root, home, left, depth)
  if result.files[file] or left.count == 0 or depth > MAX_DEPTH then
    return
  end
  result.files[file], left.count = true, left.count - 1
  local base = path.parent(file) or "/"
  for _, setting in ipairs(settings_of(file, left.parsed)) do
    local key, value = setting.key:lower(), setting.value
    if key == "include.path" or key:find("^includeif%..*%.path$") then
      read(result, path.join(base, path.expand_home(value, home)), root, home, left, depth + 1)
    elseif PATHS[key] and value ~= "" then
      result.named[path.join(root, path.expand_home(value, home))] = "tree"
    elseif is_command(key) and (value:sub(1, 1) == "!" or not key:find("^alias%.") and not key:find("^submodule%.")) then
      add_command(result.named, value, root, home)
    end
  end
end

--- What a repository's configuration and the user's own have git run in its working tree.
---@param root string  the working tree: programs are named from there
---@param files string[]  the repository's configuration files
---@param home string
---@param env table<string, string>
---@param parsed table  kept from one repository to the next
---@return procage.GitPrograms
function M.find(root, files, home, env, parsed)
  local result, left = { named = {}, files = {} }, { count = MAX_FILES, parsed = parsed }
  for _, list in ipairs({ files, user_git.top_files(home, env) }) do
    for _, file in ipairs(list) do
      read(result, file, root, home, left, 0)
    end
  end
  return result
end

--- Names of hooks, for a core.hooksPath that is the working tree itself. Source: githooks(5).
M.hooks = {
  "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
  "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive",
  "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
  "sendemail-validate", "fsmonitor-watchman", "post-index-change",
}

return M

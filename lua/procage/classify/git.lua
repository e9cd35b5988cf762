--- What the rules say of a git command: behind git's own options, aliases and whatever `-c` sets.
--- Source: git(1), gitcli(7), git 2.50.

local core = require("procage.core")
local disk = require("procage.disk")
local env = require("procage.env")
local git_config = require("procage.git_config")
local git_room = require("procage.git")
local path = require("procage.path")
local shell = require("procage.classify.shell")
local words_of = require("procage.classify.words")

local M = {}

local MAX_CONFIG = 1 << 20

--- Aliases of the repository and of the user; what they include is not looked at: an unknown name is asked for.
local function alias_of(self, name, cwd)
  local files = { path.join(self.home, ".gitconfig"), path.join(self.home, ".config/git/config") }
  local repository = git_room.governing(cwd)
  if repository then
    files[#files + 1] = repository.common .. "/config"
    files[#files + 1] = repository.directory .. "/config.worktree"
  end
  local value
  for _, file in ipairs(files) do
    local text = core.read_file(file, MAX_CONFIG)
    for _, setting in ipairs(text and git_config.parse(text) or {}) do
      if setting.key:lower() == "alias." .. name or setting.key:lower() == "alias." .. name .. ".command" then
        value = setting.value
      end
    end
  end
  return value
end

--- Whether -c may set this without a question.
local function is_harmless(self, setting)
  local key, value = setting:match("^([^=]*)=?(.*)$")
  local lower = key:lower()
  for _, entry in ipairs(self.rules.git_settings) do
    local known, only = entry:match("^([^=]*)=?(.*)$")
    if env.matches(lower, known) and (not entry:find("=", 1, true) or value == only) then
      return true
    end
  end
  return false
end

---@return integer? at  of the subcommand
local function read_globals(self, words, ctx)
  local takes = words_of.set(self.rules.git_takes)
  local i = 2
  while words[i] do
    local text = words[i].text
    if text == "--version" or text == "--help" or text == "-h" or text == "-v" or text == "--html-path" or text == "--man-path"
      or text == "--info-path" or text == "--exec-path" then
      return nil
    elseif text:sub(1, 1) ~= "-" then
      return i
    end
    local name, glued = text:match("^(%-%-[^=]+)=(.*)$")
    name = name or text
    local value = glued
    if takes[name] and not glued then
      i = i + 1
      value = words[i] and words[i].text
    end
    if words[i] and words[i].is_dynamic then
      self:add("denied", "unknowable", "an option of git that is known only when it runs", text)
    end
    if name == "-c" or name == "--config-env" then
      if name == "--config-env" or not is_harmless(self, value or "") then
        self:add("denied", "git-config", "sets what git may run a program by: " .. tostring(value), tostring(value))
      end
    elseif name == "-C" and value then
      for at, cwd in ipairs(ctx.cwds) do
        ctx.cwds[at] = path.join(cwd, path.expand_home(value, self.home))
      end
      self:check_cwd(ctx)
    elseif name == "--git-dir" or name == "--work-tree" or name == "--namespace" or name == "--bare" then
      self:add("ask", "git-elsewhere", "names another repository or tree", text)
    elseif name == "--exec-path" or name == "--super-prefix" then
      self:add("denied", "git-programs", "has git run other programs", text)
    elseif name == "-p" or name == "--paginate" then
      self:add("ask", "git-programs", "runs a pager", text)
    end
    i = i + 1
  end
  return nil
end

--- `git config` reads with these; whatever else it does is writing.
local CONFIG_READS = {
  "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "--list", "-l",
}

--- And writes with these.
local CONFIG_VERBS = words_of.set("set unset edit remove-section rename-section")
local CONFIG_WRITES = {
  "--unset", "--unset-all", "--edit", "-e", "--remove-section", "--rename-section", "--add", "--replace-all",
}

local function look_config(self, words, first)
  local operands = words_of.operands(words, first)
  local verb = operands[1] and operands[1].text
  local writes = words_of.has_option(words, first, CONFIG_WRITES)
  local reads = not writes
    and (words_of.has_option(words, first, CONFIG_READS, true) or verb == "get" or verb == "list" or #operands == 1)
  if reads and not CONFIG_VERBS[verb] then
    self:add("allowed", "git-read", "reads git's configuration")
  else
    self:add("denied", "git-config", "writes git's configuration, which names programs for git to run")
  end
end

local STRICTNESS = { denied = 3, ask = 2, allowed = 1 }

--- What options and the first operand add.
local function refine(self, command, words, first, row)
  local operands = words_of.operands(words, first)
  local verb = operands[1] and operands[1].text or "-"
  local strictest, allows = nil, nil
  for _, more in ipairs(self.rules.git_more) do
    if more.command == command then
      local is_allowing = more.decision == "allowed"
      local fits = more.options and words_of.has_option(words, first, words_of.list(more.options), is_allowing)
        or more.words and words_of.set(more.words)[verb]
      if fits and is_allowing then
        allows = allows or more
      elseif fits and (not strictest or STRICTNESS[more.decision] > STRICTNESS[strictest.decision]) then
        strictest = more
      end
    end
  end
  if strictest and STRICTNESS[strictest.decision] >= STRICTNESS[row.decision] then
    return strictest
  end
  return strictest or allows or row
end

--- Subcommands whose operands are files that they change.
local CHANGES = words_of.set("rm mv restore checkout clean apply checkout-index bundle")

--- Options that name a file to write.
local OUTPUTS = { "--output", "--output-directory", "-o" }

local function look_paths(self, command, words, first, ctx)
  local op = CHANGES[command] and "delete" or "read"
  local is_behind = false
  for i = first, #words do
    local word = words[i]
    if word.text == "--" then
      is_behind = true
    elseif op == "delete" and (is_behind or word.text:sub(1, 1) ~= "-") then
      -- A branch may have a file's name: only a file that is there counts, and what stands behind `--`. A directory goes
      -- as a whole.
      local kind = disk.kind((disk.resolve(path.join(ctx.cwds[1], word.text))))
      local goes = command == "mv" or command == "rm" or kind == "directory"
      self:look_file(goes and "delete" or "write", word, ctx, not is_behind)
    else
      self:look_read(word, ctx)
    end
    for _, option in ipairs(OUTPUTS) do
      local value = word.text:match("^" .. option:gsub("%-", "%%-") .. "=(.*)$") or word.text:match("^%-o([^=].*)$")
      if value or word.text == option and words[i + 1] then
        self:look_file("write", value and { text = value } or words[i + 1], ctx)
      end
    end
  end
end

--- Commands inside of the words: `rebase --exec`, `bisect run`, `difftool -x`.
local function look_inner(self, command, words, first, ctx)
  for i = first, #words do
    local text = words[i].text
    local value = text:match("^%-%-exec=(.*)$") or text:match("^%-x(.+)$") or text:match("^%-%-extcmd=(.*)$")
    if not value and (text == "--exec" or text == "-x" or text == "--extcmd") and words[i + 1] then
      value = words[i + 1].text
    end
    if value and (command == "rebase" or command == "difftool") then
      self:look_script(value, ctx)
    end
  end
  if command == "bisect" and words[first] and words[first].text == "run" then
    self:look(words_of.from(words, first + 1), ctx)
  end
end

---@param self procage.ClassifyCommand
---@param words procage.Word[]  words[1] is git itself, or git-NAME
---@param ctx table
function M.look(self, words, ctx)
  ctx = self:inner_context(ctx)
  local at
  local name = path.basename(words[1].text):lower():match("^git%-(.+)$")
  if name then
    at = 1
  else
    at = read_globals(self, words, ctx)
    if not at then
      if ctx.appends then
        self:add("denied", "unknowable", "git gets its words from elsewhere", words_of.text(words))
      else
        self:add("allowed", "git-read", "says something of git")
      end
      return
    elseif words[at].is_dynamic then
      self:add("denied", "unknowable", "which git command it is, is known only when it runs", words[at].text)
      return
    end
    name = words[at].text:lower()
  end
  local first = at + 1
  if name == "config" then
    look_config(self, words, first)
    return
  end
  local row = self.index.git[name]
  if row then
    row = refine(self, name, words, first, row)
    self:add(row.decision, row.id, row.reason, "git " .. name)
    look_paths(self, name, words, first, ctx)
    look_inner(self, name, words, first, ctx)
    return
  end
  local alias = alias_of(self, name, ctx.cwds[1])
  if not alias then
    self:add("ask", "git-unlisted", "git has no such command that is listed here: an alias or a program", "git " .. name)
  elseif alias:sub(1, 1) == "!" then
    self:add("ask", "git-alias", "an alias that is a line of shell: " .. alias, "git " .. name)
    self:look_script(alias:sub(2), ctx)
  else
    local script = shell.read(alias)
    local expanded = { { text = "git" } }
    for _, word in ipairs(script.commands[1] and script.commands[1].words or {}) do
      expanded[#expanded + 1] = word
    end
    for i = first, #words do
      expanded[#expanded + 1] = words[i]
    end
    self:add("ask", "git-alias", "an alias: " .. alias, "git " .. name)
    M.look(self, expanded, ctx)
  end
end

return M

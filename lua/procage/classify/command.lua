--- What the rules say of a command: of its program, of the commands in its words, of the files that it names.

local core = require("procage.core")
local disk = require("procage.disk")
local env = require("procage.env")
local executables = require("procage.executable")
local git = require("procage.classify.git")
local glob = require("procage.glob")
local options = require("procage.classify.options")
local path = require("procage.path")
local shell = require("procage.classify.shell")
local words_of = require("procage.classify.words")

---@class procage.ClassifyCommand
---@field rules table
---@field files procage.ClassifyFiles
---@field home string
---@field found table[]
local Command = {}
Command.__index = Command

local M = {}

local MAX_DEPTH, MAX_COMMANDS, MAX_GLOB, MAX_WORDS = 16, 2000, 4096, 4096

--- A longer name is none: the kernel takes no more at once.
local MAX_PATH = 4096

--- The rows by the names in them: a call asks for dozens.
---@param rules table
---@return table
function M.index(rules)
  local function by_name(rows, key)
    local index = {}
    for _, row in ipairs(rows) do
      for name in row[key]:gmatch("%S+") do
        index[name] = index[name] or row
      end
    end
    return index
  end
  return {
    programs = by_name(rules.programs, "names"),
    allowed = by_name(rules.allowed, "names"),
    git = by_name(rules.git, "commands"),
    options = {},
    shells = words_of.set(rules.shells),
  }
end

---@param parts { rules: table, index: table, files: procage.ClassifyFiles, home: string, variables: table<string, string>,
---  workspace: string, write: string[] }
function M.new(parts)
  return setmetatable({
    rules = parts.rules,
    index = parts.index,
    files = parts.files,
    home = parts.home,
    variables = parts.variables,
    workspace = parts.workspace,
    write = parts.write,
    found = {},
    count = 0,
  }, Command)
end

function Command:add(decision, rule, reason, object)
  self.found[#self.found + 1] = { decision = decision, rule = rule, reason = reason, object = object }
end

--- For a command in the words of another one.
function Command:inner_context(ctx)
  return {
    cwds = table.move(ctx.cwds, 1, #ctx.cwds, 1, {}),
    depth = ctx.depth + 1,
    appends = ctx.appends,
    in_shell = ctx.in_shell,
    heredoc = ctx.heredoc,
    is_piped = ctx.is_piped,
  }
end

-- ---- Files ----------------------------------------------------------------------------------------------------------------

--- A command that starts elsewhere is about elsewhere.
function Command:check_cwd(ctx)
  for _, cwd in ipairs(ctx.cwds) do
    local real = #cwd <= MAX_PATH and (disk.resolve(cwd)) or "/"
    if not path.resolved_tree_of(real, self.write) and not self.files:is_scratch(real) then
      self:add("ask", "outside", "it starts outside of the workspace", real)
    end
  end
end

--- What an unquoted pattern of a shell becomes: the names that there are.
local function expand(text, cwd)
  local base, parts = text:sub(1, 1) == "/" and "/" or cwd, path.components(text)
  local places = { base }
  for _, part in ipairs(parts) do
    local next_places = {}
    local compiled = part:find("[*?%[]") and glob.compile(part, true)
    for _, place in ipairs(places) do
      if not compiled then
        next_places[#next_places + 1] = path.join(place, part)
      else
        for name in pairs(core.read_dir((disk.resolve(place)), MAX_GLOB) or {}) do
          -- A leading dot is written, never matched.
          if (name:sub(1, 1) ~= "." or part:sub(1, 1) == ".") and glob.matches(compiled, name) then
            next_places[#next_places + 1] = path.join(place, name)
          end
        end
      end
      if #next_places > MAX_GLOB then
        return nil
      end
    end
    places = next_places
  end
  table.sort(places)
  return places
end

local function add_all(self, found)
  for _, item in ipairs(found) do
    self:add(item.decision, item.rule, item.reason, item.object)
  end
end

--- The absolute names that a word may mean, from each directory that the command may be in.
local function names_of(self, text, has_glob, ctx)
  local names = {}
  local expanded = path.expand_home(text:gsub("^file://", ""):gsub("^~%+/", "./"), self.home)
  for _, cwd in ipairs(ctx.cwds) do
    names[#names + 1] = path.join(cwd, expanded)
    if has_glob then
      local more = expand(expanded, cwd)
      if not more then
        self:add("ask", "unknowable", "a pattern that stands for more names than are looked at", text)
      end
      table.move(more or {}, 1, #(more or {}), #names + 1, names)
    end
  end
  return names
end

--- A file that a command changes. `must_exist`: the word may be no file at all.
function Command:look_file(op, word, ctx, must_exist)
  if word.is_dynamic then
    self:add("ask", "unknowable", "which file it changes is known only when it runs", word.text)
  elseif word.text ~= "" and #word.text <= MAX_PATH and not word.text:find("\0", 1, true) then
    for _, name in ipairs(names_of(self, word.text, word.has_glob, ctx)) do
      if not must_exist or disk.kind((disk.resolve(path.parent(name) or "/"))) and disk.kind(name) then
        add_all(self, (self.files:look(op, name, true)))
      end
    end
  end
end

--- Texts in a word that may name a file: --file=x, -fx, @x, host:x.
local function parts_of(text)
  local parts = { text }
  local function add(part)
    if part and part ~= "" and part ~= text then
      parts[#parts + 1] = part
    end
  end
  add(text:match("=(.*)$"))
  add(text:match("^%-%a(.+)$"))
  add(text:match("^@(.+)$"))
  add(text:match("=@(.+)$"))
  add(text:match("^%-%a@(.+)$"))
  if text:find(",", 1, true) and #text < 4096 then
    for part in (text:match("=(.*)$") or text):gmatch("[^,]+") do
      add(part)
    end
  end
  add(text:match(":([^:]+)$"))
  add(text:match("^([^:]+):"))
  return parts
end

--- A word that may name a file which is read: one that is there, or that the policy hides.
function Command:look_read(word, ctx)
  for _, part in ipairs(parts_of(word.text)) do
    if #part <= MAX_PATH and not part:find("[\n\0]") then
      for _, name in ipairs(names_of(self, part, word.has_glob, ctx)) do
        local real, exists = disk.resolve(name)
        local spelled = disk.kind(path.normalise(name))
        if exists or spelled then
          add_all(self, (self.files:look("read", name, true)))
        elseif path.tree_of(real, self.files.profile.hidden) then
          self:add("denied", "hidden", "the policy hides it", real)
        end
      end
    end
  end
end

-- ---- Programs -------------------------------------------------------------------------------------------------------------

--- Names that a program may be listed by: as it is called, and without its version.
local function listed_names(name)
  local folded = name:lower():gsub("%.exe$", "")
  local names = { folded }
  local bare = folded:match("^(.-)[-._]?%d[%d.]*$")
  if bare and bare ~= "" then
    names[2] = bare
  end
  return names
end

local function program_row(self, name)
  local names = listed_names(name)
  return self.index.programs[names[1]] or names[2] and self.index.programs[names[2]]
end

local function wrapper_row(self, name)
  for _, listed in ipairs(listed_names(name)) do
    if self.rules.wrappers[listed] then
      return self.rules.wrappers[listed]
    end
  end
end

local function allowed_row(self, name)
  if self.index.allowed[name] then
    return self.index.allowed[name]
  end
  -- clang-14, gcc-12
  local bare = name:match("^(.-)%-%d[%d.]*$")
  return bare and allowed_row(self, bare) or nil
end

local function is_git(name)
  return name == "git" or name:find("^git%-") ~= nil
end

local function is_shell(self, name)
  local names = listed_names(name)
  return self.index.shells[names[1]] or names[2] ~= nil and self.index.shells[names[2]] or false
end

--- Programs that are many: which one, the first word says.
local MULTI = words_of.set("busybox toybox coreutils")

-- ---- Commands with commands in their words --------------------------------------------------------------------------------

local function check_variable(self, name)
  for _, pattern in ipairs(self.rules.harmless_variables) do
    if env.matches(name, pattern) then
      return
    end
  end
  self:add("ask", "loader-variable", "it may make programs run, load or write something else", name)
end

-- ---- Options --------------------------------------------------------------------------------------------------------------

--- Whatever a word may mean that leads to a protected file counts as written.
function Command:look_hidden_write(text, ctx, is_glued)
  local seen = {}
  local function try(part)
    if part == "" or seen[part] or #part > MAX_PATH or part:find("[\n\0]") then
      return
    end
    seen[part] = true
    for _, name in ipairs(names_of(self, part, false, ctx)) do
      for _, item in ipairs((self.files:look("write", name, true))) do
        -- That it lies elsewhere tells nothing: it may be no file at all.
        if item.decision == "denied" and item.rule ~= "outside" then
          self:add(item.decision, item.rule, item.reason, item.object)
        end
      end
    end
  end
  if text:sub(1, 1) ~= "-" then
    try(text)
  end
  for part in text:sub(1, MAX_PATH):gmatch("[^=,:]+") do
    try(part)
  end
  for at in text:sub(1, MAX_PATH):gmatch("()[=,:]") do
    try(text:sub(at + 1))
  end
  -- -MFname, -ofname: where the option ends, only the program knows.
  if is_glued then
    for i = 3, math.min(#text, 64) do
      try(text:sub(i))
    end
  end
end

--- The options of a command whose row lists those that need no question.
local function look_options(self, row, words, ctx)
  local list, is_unknown, is_passed = options.of(self.index.options, row), false, false
  local function unknown(text)
    self:add("ask", "option", ("%s is not known to need no question"):format(text), words_of.text(words))
    is_unknown = true
  end
  local i = 2
  while words[i] do
    local text = words[i].text
    local shown = text
    if row.has_long_letters and text:find("^%-%-%a") and not list.known[text:match("^[^=]+")] then
      -- go, clang-tidy: two dashes are as good as one.
      local single = text:sub(2)
      local is_write = options.value_in(single, list.writes) and not options.value_in(text, list.writes)
      if list.known[single:match("^[^=]+")] or is_write then
        text = single
      end
    end
    local is_exact = list.known[text]
    local written = not is_exact and options.value_in(text, list.writes, row.is_spaced)
    if text == "--" then
      is_passed = row.passes or false
    elseif is_passed then
      self:look_hidden_write(text, ctx, text:sub(1, 1) == "-")
    elseif text:sub(1, 1) ~= "-" or text == "-" then
      if row.assigns and text:find("[=$]") then
        -- Make takes `X:=y`, `.X!=y` and `X = y` too; none of them is plain.
        local variable = text:match("^([%w_]+)=[%w_]*$")
        if not variable or not words_of.set(row.assigns)[variable] then
          unknown(text)
        end
        self:look_hidden_write(text, ctx)
      end
      if words[i].is_dynamic then
        unknown(text)
      end
    elseif words[i].is_dynamic then
      unknown(text)
    elseif written then
      if written == "" then
        i = i + 1
      end
      local target = written == "" and words[i] or { text = written }
      if target then
        self:look_file("write", target, ctx)
      end
    elseif options.value_in(text, list.reads) and not is_exact then
      if options.value_in(text, list.reads) == "" then
        i = i + 1
      end
    elseif not options.is_listed(text, row, list) then
      unknown(shown)
      self:look_hidden_write(text, ctx, text:sub(1, 2) ~= "--")
    else
      if text:find("=", 1, true) and not is_exact then
        self:look_hidden_write(text:match("=(.*)$"), ctx)
      end
    end
    i = i + 1
  end
  -- What it does with the words behind an option that nobody here knows, nobody here knows either.
  for at = 2, is_unknown and #words or 0 do
    if words[at].text:sub(1, 1) ~= "-" then
      self:look_hidden_write(words[at].text, ctx)
    end
  end
end

--- env -S 'git push': the text becomes words.
local function split_string(words)
  for i = 2, #words do
    local text = words[i].text
    local value = text:match("^%-%-split%-string=(.*)$") or text:match("^%-%a-S(.+)$")
    local used = i
    if not value and (text == "--split-string" or text:find("^%-%a-S$")) then
      value = words[i + 1] and words[i + 1].text
      used = i + 1
    elseif not value and text:sub(1, 1) ~= "-" and not text:find("=", 1, true) then
      return nil
    end
    if value then
      return value, used
    end
  end
end

--- Options whose value is a line of shell: script -c TEXT.
local function look_texts(self, row, words, ctx)
  for i = 2, #words do
    local text = words[i].text
    local value = text:match("^%-%-command=(.*)$")
    if not value and (text == "--command" or text:find("^%-%a*" .. row.text .. "$")) then
      value = words[i + 1] and words[i + 1].text
    elseif not value then
      value = text:match("^%-%a*" .. row.text .. "(.+)$")
    end
    if value then
      self:look_script(value, ctx)
    end
  end
end

--- xargs -I R puts what it reads in the place of R: words with it are known only then. So are {} of parallel and find.
local function mark_replaced(name, words, first)
  local replaced = { ["{}"] = true }
  for i = 2, (first or #words + 1) - 1 do
    local text = words[i].text
    local value = name == "xargs" and (text:match("^%-%a-[Ii](.+)$") or text:match("^%-%-replace=(.+)$")
      or text:find("^%-%a-I$") and words[i + 1] and words[i + 1].text)
    if value then
      replaced[value] = true
    end
  end
  for i = first or #words + 1, #words do
    local word = words[i]
    for value in pairs(replaced) do
      if word.text:find(value, 1, true) then
        words[i] = { text = word.text, is_dynamic = true }
      end
    end
  end
end

local function look_wrapper(self, name, row, words, ctx)
  if row.text then
    look_texts(self, row, words, ctx)
    if not row.operands then
      return
    end
  end
  if name == "command" and words[2] and words[2].text:find("^%-%a*[vV]") then
    return
  end
  if name == "env" then
    local text, used = split_string(words)
    if text then
      local script = shell.read(text)
      local inner = { words[1] }
      for _, command in ipairs(script.commands) do
        for _, assign in ipairs(command.assigns) do
          inner[#inner + 1] = { text = assign.name .. "=" .. assign.word.text }
        end
        table.move(command.words, 1, #command.words, #inner + 1, inner)
      end
      table.move(words, used + 1, #words, #inner + 1, inner)
      ctx = self:inner_context(ctx)
      if ctx.depth <= MAX_DEPTH then
        look_wrapper(self, name, row, inner, ctx)
      end
      return
    end
  end
  local first, is_sure, assigns = words_of.inner(words, row)
  for _, assign in ipairs(assigns) do
    check_variable(self, assign.text:match("^([^=]+)="))
  end
  -- xargs -a reads, and what env sets is no file.
  for i = 2, name ~= "xargs" and name ~= "env" and (first or #words + 1) - 1 or 0 do
    local text = words[i].text
    self:look_hidden_write(text, ctx, text:find("^%-%a") ~= nil)
    if text:find("[|!]") then
      -- strace -o '|program'
      self:add("ask", "option", "it may run a program", text)
    end
  end
  local inner_ctx = self:inner_context(ctx)
  inner_ctx.appends = ctx.appends or name == "xargs" or name == "parallel"
  if name == "env" then
    for i = 2, (first or #words + 1) - 1 do
      local directory = words[i].text:match("^%-%-chdir=(.*)$") or words[i].text:match("^%-C(.+)$")
        or (words[i].text == "-C" or words[i].text == "--chdir") and words[i + 1] and words[i + 1].text
      if directory then
        table.insert(inner_ctx.cwds, path.join(ctx.cwds[1], directory))
        self:check_cwd(inner_ctx)
      end
    end
  end
  if not first then
    if inner_ctx.appends and name ~= "xargs" then
      self:add("denied", "unknowable", "which program it runs is known only when it runs", words_of.text(words))
    end
    return
  end
  words = words_of.from(words, 1)
  if inner_ctx.appends then
    mark_replaced(name, words, first)
  end
  local inner = words_of.from(words, first)
  if name == "parallel" and inner[1].text:sub(1, 3) == ":::" then
    for i = 2, #inner do
      self:look_script(inner[i].text, inner_ctx)
    end
    return
  end
  if inner[1].text == "-c" and inner[2] then
    self:look_script(inner[2].text, inner_ctx)
  elseif inner[1].text:find("%s") and not disk.kind(path.join(ctx.cwds[1], inner[1].text)) then
    -- watch, parallel and others give it to a shell.
    self:look_script(words_of.text(inner), inner_ctx)
  else
    self:look(inner, inner_ctx)
  end
  if not is_sure then
    self:scan(words, first, inner_ctx)
  end
end

--- Where the command begins is not certain: whatever it may be is looked at for what is denied.
function Command:scan(words, first, ctx)
  local kept = self.found
  for i = first + 1, math.min(#words, first + 32) do
    self.found = {}
    self:look(words_of.from(words, i), self:inner_context(ctx))
    for _, item in ipairs(self.found) do
      if item.decision == "denied" then
        kept[#kept + 1] = item
      end
    end
  end
  self.found = kept
end

--- The script in a shell's words: sh -c TEXT NAME ARGUMENT...
local function look_shell(self, words, ctx)
  local i, has_text, reads_input = 2, false, false
  while words[i] do
    local text = words[i].text
    if text == "--" then
      i = i + 1
      break
    elseif text == "--rcfile" or text == "--init-file" then
      i = i + 1
      if words[i] then
        self:look_read(words[i], ctx)
      end
    elseif text:find("^%-%-") then
      has_text = has_text or text == "--command"
    elseif text:find("^[-+]%a") then
      has_text = has_text or text:find("^%-%a*c") ~= nil
      reads_input = reads_input or text:find("^%-%a*s") ~= nil
      if text:find("[oO]$") then
        i = i + 1
      end
    else
      break
    end
    i = i + 1
  end
  local script = words[i]
  if has_text and script then
    if script.is_dynamic then
      self:add("denied", "unknowable", "a line of shell that is known only when it runs", script.text)
      return
    end
    local arguments = {}
    for at = i + 1, #words do
      arguments[at - i - 1] = words[at].text
    end
    self:look_script(script.text, ctx, arguments)
  elseif has_text and ctx.appends or script and script.is_dynamic then
    self:add("denied", "unknowable", "a script that is known only when it runs", words_of.text(words))
  elseif script and not reads_input then
    self:look_read(script, ctx)
  elseif ctx.heredoc then
    self:look_script(ctx.heredoc, ctx)
  elseif ctx.is_piped then
    self:add("denied", "unknowable", "a shell that runs what another command writes", words_of.text(words))
  end
end

-- ---- Programs with a look of their own ------------------------------------------------------------------------------------

local FIND_RUNS = words_of.set("-exec -execdir -ok -okdir")
local FIND_WRITES = words_of.set("-fprint -fprint0 -fprintf -fls")

local own = {}

function own.dd(self, words, ctx)
  for i = 2, #words do
    local target = words[i].text:match("^of=(.*)$")
    if target then
      self:look_file("write", { text = target, is_dynamic = words[i].is_dynamic }, ctx)
    end
    self:look_read(words[i], ctx)
  end
end

function own.find(self, words, ctx)
  local starts, i = {}, 2
  while words[i] and not words[i].text:find("^[-(!]") do
    starts[#starts + 1] = words[i]
    i = i + 1
  end
  if #starts == 0 then
    starts[1] = { text = "." }
  end
  local runs, deletes = false, false
  while words[i] do
    local text = words[i].text
    if FIND_RUNS[text] then
      local inner = {}
      i = i + 1
      while words[i] and words[i].text ~= ";" and words[i].text ~= "+" do
        local has_name = words[i].text:find("{}", 1, true)
        if words[i].text ~= "{}" or #inner == 0 then
          inner[#inner + 1] = has_name and { text = words[i].text, is_dynamic = true } or words[i]
        end
        i = i + 1
      end
      runs = true
      self:add("ask", "find-exec", "runs a command for what it finds")
      local inner_ctx = self:inner_context(ctx)
      inner_ctx.appends = true
      self:look(inner, inner_ctx)
      local row = inner[1] and allowed_row(self, path.basename(inner[1].text))
      deletes = deletes or row ~= nil and row.change ~= nil
    elseif text == "-delete" then
      deletes = true
      self:add("ask", "recursive-remove", "removes what it finds")
    elseif FIND_WRITES[text] and words[i + 1] then
      self:look_file("write", words[i + 1], ctx)
      self:add("ask", "find-exec", "writes a file", words[i + 1].text)
    end
    i = i + 1
  end
  if deletes then
    for _, start in ipairs(starts) do
      self:look_file("delete", start, ctx)
    end
  elseif not runs then
    self:add("allowed", "listed", "finds files")
  end
  for _, start in ipairs(starts) do
    self:look_read(start, ctx)
  end
end

--- Scripts of sed that only print, delete, or substitute: no w, no e, no r.
local function is_plain_sed(script)
  local address = "[%d,$~+! ]*"
  for part in (script .. "\n"):gmatch("([^\n;]*)[\n;]") do
    local text = part:match("^%s*(.-)%s*$")
    local plain = text == "" or text:find("^" .. address .. "[pdqQ=]$") ~= nil
      or text:find("^/[^/]*/" .. address .. "[pdqQ=]$") ~= nil or text:find("^/[^/]*/,/[^/]*/[pd]$") ~= nil
    if not plain then
      local delimiter, rest = text:match("^" .. address .. "[sy]([^%w%s\\])(.*)$")
      local parts = {}
      if delimiter then
        local piece, i = {}, 1
        while i <= #rest do
          local letter = rest:sub(i, i)
          if letter == "\\" then
            piece[#piece + 1] = rest:sub(i, i + 1)
            i = i + 1
          elseif letter == delimiter then
            parts[#parts + 1] = table.concat(piece)
            piece = {}
          else
            piece[#piece + 1] = letter
          end
          i = i + 1
        end
        parts[#parts + 1] = table.concat(piece)
      end
      plain = #parts == 3 and parts[3]:find("^[gpiI%d]*$") ~= nil
    end
    if not plain then
      return false
    end
  end
  return true
end

local SED_OPTIONS = words_of.set("-- --quiet --silent --regexp-extended --separate --null-data --zero-terminated --unbuffered "
  .. "--posix --debug --follow-symlinks --sandbox")

function own.sed(self, words, ctx)
  local in_place, scripts, operands, has_file = false, {}, {}, false
  local i = 2
  while words[i] do
    local text = words[i].text
    if text:find("^%-%-i") or text:find("^%-[nErsuz]*i") then
      in_place = true
    elseif text == "-e" or text == "--expression" then
      i = i + 1
      scripts[#scripts + 1] = words[i]
    elseif text:find("^%-%-expression=") then
      scripts[#scripts + 1] = { text = text:match("=(.*)$"), is_dynamic = words[i].is_dynamic }
    elseif text:find("^%-[nErsuz]*[ef]") or text:find("^%-%-") and not SED_OPTIONS[text] then
      has_file = true
    elseif text:sub(1, 1) ~= "-" or text == "-" then
      operands[#operands + 1] = words[i]
    end
    i = i + 1
  end
  if #scripts == 0 and not has_file then
    scripts[1] = table.remove(operands, 1)
  end
  local is_plain = not has_file
  for _, script in ipairs(scripts) do
    is_plain = is_plain and not script.is_dynamic and is_plain_sed(script.text)
  end
  if not is_plain then
    self:add("ask", "inline-code", "a script of sed that may run or write something", words_of.text(scripts))
  else
    self:add("allowed", "listed", in_place and "edits files" or "reads")
  end
  for _, operand in ipairs(operands) do
    if in_place then
      self:look_file("write", operand, ctx)
    end
    self:look_read(operand, ctx)
  end
end

--- Modules that `python -m` may run without a question: they test or check the project.
local MODULES = words_of.set("pytest unittest doctest mypy ruff black flake8 isort coverage compileall py_compile "
  .. "pyflakes pycodestyle tabnanny")

function own.python(self, words)
  if words[2] and words[2].text == "-m" and words[3] and MODULES[words[3].text] then
    self:add("allowed", "listed", "tests or checks the project")
    return true
  end
  return false
end

-- ---- A listed command -----------------------------------------------------------------------------------------------------

local function is_set_user_id(mode)
  local octal = mode:match("^[-+=]?0*([0-7]+)$")
  if octal then
    return #octal > 3 and tonumber(octal:sub(1, -4), 8) & 6 ~= 0
  end
  for clause in mode:gmatch("[^,]+") do
    if clause:match("[-+=]([rwxXstugo]*)") and clause:find("[+=][rwxXtugo]*s") then
      return true
    end
  end
  return false
end

local RECURSIVE = { "-r", "-R", "--recursive" }

--- A copy into a directory has the source's name there.
local function look_targets(self, name, operands, words, ctx, ops)
  local target, sources = nil, operands
  for i = 2, #words do
    local text = words[i].text
    local value = text:match("^%-%-target%-directory=(.*)$") or text:match("^%-%a-t(.+)$")
    if not value and (text == "--target-directory" or text:find("^%-%a-t$")) and words[i + 1] then
      value = words[i + 1].text
      sources = {}
      for _, operand in ipairs(operands) do
        if operand ~= words[i + 1] then
          sources[#sources + 1] = operand
        end
      end
    end
    target = target or value and { text = value, is_dynamic = words[i].is_dynamic }
  end
  if not target then
    target = operands[#operands]
    sources = table.move(operands, 1, #operands - 1, 1, {})
  end
  if not target then
    return
  end
  -- `ln x` makes ./x.
  if name == "ln" and #operands == 1 then
    target, sources = { text = "." }, operands
  end
  self:look_file("write", target, ctx)
  for _, cwd in ipairs(ctx.cwds) do
    local directory = path.join(cwd, path.expand_home(target.text, self.home))
    if disk.kind((disk.resolve(directory))) == "directory" then
      if words_of.has_option(words, 2, { "-T", "--no-target-directory" }) then
        self:add("ask", "whole-tree", "copies a whole directory over another", target.text)
      end
      for _, source in ipairs(sources) do
        if words_of.has_option(words, 2, { "--parents" }) then
          self:look_file(ops.target, { text = path.join(directory, "./" .. source.text) }, ctx)
        end
        for _, full in ipairs(names_of(self, source.text, source.has_glob, ctx)) do
          local base = path.basename(full)
          if source.text:find("^%.%.?/*$") or source.text:find("/%.%.?/*$") or base == "/" then
            self:add("ask", "whole-tree", "copies a whole directory over another", source.text)
          else
            self:look_file(ops.target, { text = path.join(directory, base) }, ctx)
          end
        end
      end
    end
  end
  for _, source in ipairs(sources) do
    if ops.source == "delete" then
      self:look_file("delete", source, ctx)
    end
    self:look_read(source, ctx)
  end
end

local function look_changes(self, name, row, words, ctx)
  local operands = words_of.operands(words, 2)
  if row.pattern_first then
    table.remove(operands, 1)
  end
  if name == "mv" or name == "rename" then
    look_targets(self, name, operands, words, ctx, { source = "delete", target = "write" })
  elseif row.change == "last" then
    if name == "uniq" or name == "xxd" then
      for i = 2, #operands do
        self:look_file("write", operands[i], ctx)
      end
    else
      look_targets(self, name, operands, words, ctx, { source = "read", target = "write" })
    end
  else
    local removes = name == "rm" or name == "rmdir" or name == "unlink"
    local op = removes and "delete" or "write"
    for _, operand in ipairs(operands) do
      self:look_file(op, operand, ctx)
      -- What is done to a directory and all in it is done to what it holds.
      if name == "chmod" and words_of.has_option(words, 2, RECURSIVE) then
        self:look_file("delete", operand, ctx)
      end
    end
  end
  if name == "rm" and words_of.has_option(words, 2, RECURSIVE) then
    self:add("ask", "recursive-remove", "removes directories with all that is in them", words_of.text(words))
  end
end

local function look_allowed(self, name, row, words, ctx)
  self:add("allowed", "listed", row.reason, name)
  if row.options then
    look_options(self, row, words, ctx)
  end
  local asks = words_of.has_option(words, 2, row.asks or {}, row.has_long_letters)
  for i = 2, row.has_long_letters and #words or 0 do
    for _, option in ipairs(row.asks or {}) do
      asks = asks or #option == 2 and words[i].text:sub(1, 2) == option and option
    end
  end
  if asks then
    self:add("ask", "option", ("with %s it may do more"):format(asks), words_of.text(words))
  end
  if row.subcommands then
    local known, verb = words_of.set(row.subcommands), nil
    for _, operand in ipairs(words_of.operands(words, 2)) do
      if operand.text:sub(1, 1) ~= "+" then
        verb = operand
        break
      end
    end
    for _, operand in ipairs(row.all_verbs and words_of.operands(words, 2) or {}) do
      if not known[operand.text] then
        self:add("ask", "unlisted", ("%s %s is not listed"):format(name, operand.text), words_of.text(words))
      end
    end
    verb = verb or words[2]
    if not verb or verb.is_dynamic or not known[verb.text] then
      self:add("ask", "unlisted", ("%s %s is not listed"):format(name, verb and verb.text or "alone"), words_of.text(words))
    end
  end
  for i = 2, row.has_response_files and #words or 0 do
    if words[i].text:sub(1, 1) == "@" then
      self:add("ask", "option", "takes more words from a file", words[i].text)
    end
  end
  if name == "chmod" or name == "install" then
    for i = 2, #words do
      local mode = words[i].text:gsub("^%-%-mode=", ""):gsub("^%-m", "")
      if is_set_user_id(mode) then
        self:add("denied", "privileges", "makes a program run with its owner's rights", words_of.text(words))
      end
    end
  end
  local changes = row.change ~= nil
  if row.change_with then
    changes = words_of.has_option(words, 2, row.change_with) ~= nil or words[2] ~= nil and words[2].text == "format"
  elseif row.change_without then
    changes = not words_of.has_option(words, 2, row.change_without)
  end
  if changes then
    look_changes(self, name, row, words, ctx)
  end
  for _, option in ipairs(not row.options and row.writes or {}) do
    for i = 2, #words do
      local text = words[i].text
      local is_letter = #option == 2
      local glued = is_letter and (text:match("^" .. "%" .. option .. "(.+)$")
        or not row.has_long_letters and text:match("^%-%a*" .. option:sub(2) .. "(.+)$"))
      if glued then
        self:look_file("write", { text = glued }, ctx)
      elseif text:find("=", 1, true) and words_of.is_option(text, option) then
        self:look_file("write", { text = text:match("=(.*)$") }, ctx)
      elseif words[i + 1] and (text == option or words_of.is_option(text, option, row.has_long_letters)) then
        self:look_file("write", words[i + 1], ctx)
      end
    end
  end
end

local function look_reads(self, row, words, ctx)
  if row and row.text then
    return
  end
  local skips = row and row.pattern_first
  local has_pattern = words_of.has_option(words, 2, { "-e", "--regexp", "-f", "--file" }) ~= nil
  for i = 2, #words do
    local text = words[i].text
    if skips and not has_pattern and (text:sub(1, 1) ~= "-" or text == "-") then
      skips = false
    else
      self:look_read(words[i], ctx)
    end
  end
end

-- ---- Scripts --------------------------------------------------------------------------------------------------------------

--- What a shell does itself, and is harmless.
local BUILTINS = words_of.set(": cd pushd popd dirs exit return break continue shift unset read wait umask local readonly let "
  .. "jobs fg bg times getopts ulimit [[ ]] ] function in case logout history fc suspend compgen mapfile readarray shopt")

local function change_directory(self, words, ctx)
  local target
  for i = 2, #words do
    if words[i].text == "-" or words[i].text:sub(1, 1) ~= "-" then
      target = words[i]
      break
    end
  end
  if target and target.is_dynamic or target and target.text == "-" then
    self:add("ask", "unknowable", "where it goes on is known only when it runs", target.text)
    return
  end
  local text = target and target.text or "~"
  local more = {}
  for _, cwd in ipairs(ctx.cwds) do
    more[#more + 1] = path.join(cwd, path.expand_home(text, self.home))
  end
  -- A subshell's cd does not hold behind it: each directory that may be the current one is kept.
  for _, cwd in ipairs(more) do
    if #ctx.cwds < 16 then
      ctx.cwds[#ctx.cwds + 1] = cwd
    else
      self:add("denied", "unreadable", "it changes the directory too often", text)
      return
    end
  end
  self:check_cwd(ctx)
end

local function look_redirects(self, command, ctx)
  for _, redirect in ipairs(command.redirects) do
    if redirect.op:find(">", 1, true) then
      self:look_file("write", redirect.word, ctx)
    else
      self:look_read(redirect.word, ctx)
    end
  end
end

--- A line of shell, every command in it.
---@param text string
---@param ctx table
---@param arguments? string[]
function Command:look_script(text, ctx, arguments)
  ctx = self:inner_context(ctx)
  ctx.in_shell = true
  if ctx.depth > MAX_DEPTH then
    self:add("denied", "unreadable", "commands in commands in commands, too deep to be told", nil)
    return
  end
  local variables = {}
  for name, value in pairs(self.variables) do
    variables[name] = value
  end
  variables.HOME, variables.PWD = self.home, ctx.cwds[1]
  local script = shell.take_apart(text, { arguments = arguments, variables = variables })
  if not script.is_whole then
    self:add("denied", "unreadable", "a line of shell that cannot be taken apart: too long, or a quote or bracket is open")
  end
  local aliases = {}
  for _, command in ipairs(script.commands) do
    self.count = self.count + 1
    if self.count > MAX_COMMANDS then
      self:add("denied", "unreadable", "more commands than are looked at")
      return
    end
    for _, assign in ipairs(command.assigns) do
      check_variable(self, assign.name)
    end
    look_redirects(self, command, ctx)
    ctx.heredoc, ctx.is_piped = command.heredoc, command.is_piped
    local words = command.words
    local first = words[1]
    if first and aliases[first.text] and not first.is_quoted then
      self:look_script(aliases[first.text] .. " " .. words_of.text(words_of.from(words, 2)), ctx)
    elseif first then
      if first.text == "alias" then
        for i = 2, #words do
          local name, value = words[i].text:match("^([^=]+)=(.*)$")
          if name then
            aliases[name] = value
            self:look_script(value, ctx)
          end
        end
      end
      if first.text == "cd" or first.text == "pushd" then
        change_directory(self, words, ctx)
      end
      self:look(words, ctx)
    end
  end
end

-- ---- A command ------------------------------------------------------------------------------------------------------------

--- eval, trap: their words are a script.
local function look_eval(self, name, words, ctx)
  local texts = {}
  for i = 2, name == "trap" and math.min(2, #words) or #words do
    if words[i].is_dynamic then
      self:add("denied", "unknowable", "a line of shell that is known only when it runs", words_of.text(words))
      return
    end
    texts[#texts + 1] = words[i].text
  end
  self:look_script(table.concat(texts, " "), ctx)
end

--- What there is to say of the program by one of its names.
---@return boolean is_known
function Command:look_named(name, words, ctx)
  local row, wrapper = program_row(self, name), wrapper_row(self, name)
  local listed = allowed_row(self, name)
  if listed_names(name)[2] == "python" or name == "python" then
    if own.python(self, words) then
      local module = words[3].text
      local checker = allowed_row(self, module)
      if checker then
        look_allowed(self, module, checker, words_of.from(words, 3), ctx)
      end
      look_reads(self, nil, words, ctx)
      return true
    end
  end
  if row then
    self:add(row.decision, row.id, row.reason, name)
    if row.decision == "denied" then
      return true
    end
  end
  if is_git(name) then
    git.look(self, words, ctx)
    return true
  elseif is_shell(self, name) then
    look_shell(self, words, self:inner_context(ctx))
    return true
  elseif wrapper then
    look_wrapper(self, listed_names(name)[1], wrapper, words, ctx)
    -- Alone it runs nothing.
    return true
  elseif name == "mapfile" or name == "readarray" then
    -- Their -C is run as they read.
    look_texts(self, { text = "C" }, words, ctx)
    return true
  elseif name == "eval" or name == "trap" then
    look_eval(self, name, words, ctx)
    return true
  elseif (name == "source" or name == ".") and words[2] and (words[2].is_dynamic or words[2].text:find("^/+dev/")
    or words[2].text:find("^/+proc/")) then
    self:add("denied", "unknowable", "a script that is known only when it runs", words_of.text(words))
    return true
  elseif own[name] and name ~= "python" then
    own[name](self, words, ctx)
    return true
  elseif listed then
    look_allowed(self, name, listed, words, ctx)
    look_reads(self, listed, words, ctx)
    return true
  elseif ctx.in_shell and BUILTINS[name] then
    self:add("allowed", "listed", "the shell's own")
    return true
  end
  look_reads(self, nil, words, ctx)
  return row ~= nil
end

--- Words that become a command: the program that they name, and the one that is really there.
---@param words procage.Word[]
---@param ctx table
function Command:look(words, ctx)
  local first = words[1]
  if not first then
    return
  elseif ctx.depth > MAX_DEPTH then
    self:add("denied", "unreadable", "commands in commands in commands, too deep to be told")
    return
  elseif first.is_dynamic or first.has_glob and not BUILTINS[first.text] and first.text ~= "[" then
    self:add("denied", "unknowable", "which program it is, is known only when it runs: name it", first.text)
    return
  elseif first.text == "" then
    self:add("ask", "unlisted", "no program is named")
    return
  end
  local name = path.basename(first.text):lower()
  local resolved
  if not (ctx.in_shell and BUILTINS[name]) then
    resolved = executables.find(path.expand_home(first.text, self.home), ctx.cwds[1], self.variables)
  end
  local is_known = self:look_named(name, words, ctx)
  if resolved then
    local real = path.basename(resolved.path):lower()
    if path.resolved_tree_of(resolved.path, self.write) then
      self:add("ask", "workspace-program", "a program that commands can write", resolved.path)
      is_known = true
    end
    if real ~= name and not (MULTI[real] and is_known) then
      -- `ls` may be a link to something else.
      local row = program_row(self, real)
      if is_git(real) and not is_git(name) or is_shell(self, real) and not is_shell(self, name)
        or row and program_row(self, name) ~= row then
        is_known = self:look_named(real, words, ctx) or is_known
      end
    end
  end
  if not is_known then
    self:add("ask", "unlisted", "it is not listed as needing no question", first.text)
  end
end

---@param argv string[]
---@param cwd string  absolute
function Command:look_call(argv, cwd)
  if #argv > MAX_WORDS then
    self:add("denied", "unreadable", "more words than are looked at")
    return
  end
  local ctx = { cwds = { cwd }, depth = 0 }
  self:check_cwd(ctx)
  self:look(words_of.of(argv), ctx)
end

---@param name string
function Command:look_variable(name)
  check_variable(self, name)
end

return M

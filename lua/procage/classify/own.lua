--- Programs whose words are like no other's: dd, find, sed, python -m.

local list = require("procage.list")
local path = require("procage.path")
local rows = require("procage.classify.rows")
local sed = require("procage.classify.sed")
local words_of = require("procage.classify.words")

local M = {}

--- By the program's name: what there is to say of its words.
---@type table<string, fun(self: procage.ClassifyCommand, words: procage.Word[], ctx: table)>
M.programs = {}

function M.programs.dd(self, words, ctx)
  for i = 2, #words do
    local target = words[i].text:match("^of=(.*)$")
    if target then
      self:look_file("write", { text = target, is_dynamic = words[i].is_dynamic }, ctx)
    end
    self:look_read(words[i], ctx)
  end
end

-- ---- find -------------------------------------------------------------------------------------------------------------------

local FIND_RUNS = words_of.set("-exec -execdir -ok -okdir")
local FIND_WRITES = words_of.set("-fprint -fprint0 -fprintf -fls")

--- Where it starts, and where its expression does. Before that stand -H, -L, -P, -D and -O (find(1)).
local function find_starts(words)
  local starts, i = {}, 2
  while words[i] and words[i].text:find("^%-[HLPDO]") do
    -- -D debugopts
    i = i + (words[i].text == "-D" and 2 or 1)
  end
  while words[i] and not words[i].text:find("^[-(!]") do
    starts[#starts + 1] = words[i]
    i = i + 1
  end
  return #starts > 0 and starts or { { text = "." } }, i
end

--- The words up to `;` or `+`: {} is known only then.
local function find_inner(words, i)
  local inner = {}
  while words[i] and words[i].text ~= ";" and words[i].text ~= "+" do
    local has_name = words[i].text:find("{}", 1, true)
    if words[i].text ~= "{}" or #inner == 0 then
      inner[#inner + 1] = has_name and { text = words[i].text, is_dynamic = true } or words[i]
    end
    i = i + 1
  end
  return inner, i
end

--- -exec: whether what is run changes the files that are found.
local function find_runs(self, inner, ctx)
  self:add("ask", "find-exec", "runs a command for what it finds")
  local inner_ctx = self:inner_context(ctx)
  inner_ctx.appends = true
  self:look(inner, inner_ctx)
  local row = inner[1] and rows.allowed(self.index, path.basename(inner[1].text))
  return row ~= nil and row.change ~= nil
end

---@return boolean runs
---@return boolean deletes
local function find_expression(self, words, i, ctx)
  local runs, deletes = false, false
  while words[i] do
    local text = words[i].text
    if FIND_RUNS[text] then
      local inner
      inner, i = find_inner(words, i + 1)
      deletes, runs = find_runs(self, inner, ctx) or deletes, true
    elseif text == "-delete" then
      deletes = true
      self:add("ask", "recursive-remove", "removes what it finds")
    elseif FIND_WRITES[text] and words[i + 1] then
      self:look_file("write", words[i + 1], ctx)
      self:add("ask", "find-exec", "writes a file", words[i + 1].text)
    end
    i = i + 1
  end
  return runs, deletes
end

function M.programs.find(self, words, ctx)
  local starts, first = find_starts(words)
  local runs, deletes = find_expression(self, words, first, ctx)
  for _, start in ipairs(deletes and starts or {}) do
    self:look_file("delete", start, ctx)
  end
  if not deletes and not runs then
    self:add("allowed", "listed", "finds files")
  end
  for _, start in ipairs(starts) do
    self:look_read(start, ctx)
  end
end

-- ---- sed --------------------------------------------------------------------------------------------------------------------

local SED_OPTIONS = words_of.set("-- --quiet --silent --regexp-extended --separate --null-data --zero-terminated --unbuffered "
  .. "--posix --debug --follow-symlinks --sandbox")

---@return { scripts: procage.Word[], operands: procage.Word[], in_place: boolean, has_file: boolean }
local function sed_words(words)
  local found, i = { scripts = {}, operands = {}, in_place = false, has_file = false }, 2
  while words[i] do
    local text = words[i].text
    if text:find("^%-%-i") or text:find("^%-[nErsuz]*i") then
      found.in_place = true
    elseif text == "-e" or text == "--expression" then
      i = i + 1
      list.append(found.scripts, { words[i] })
    elseif text:find("^%-%-expression=") then
      list.append(found.scripts, { { text = text:match("=(.*)$"), is_dynamic = words[i].is_dynamic } })
    elseif text:find("^%-[nErsuz]*[ef]") or text:find("^%-%-") and not SED_OPTIONS[text] then
      found.has_file = true
    elseif text:sub(1, 1) ~= "-" or text == "-" then
      list.append(found.operands, { words[i] })
    end
    i = i + 1
  end
  if #found.scripts == 0 and not found.has_file then
    found.scripts[1] = table.remove(found.operands, 1)
  end
  return found
end

function M.programs.sed(self, words, ctx)
  local found = sed_words(words)
  local is_plain = not found.has_file
  for _, script in ipairs(found.scripts) do
    is_plain = is_plain and not script.is_dynamic and sed.is_plain(script.text)
  end
  if is_plain then
    self:add("allowed", "listed", found.in_place and "edits files" or "reads")
  else
    self:add("ask", "inline-code", "a script of sed that may run or write something", words_of.text(found.scripts))
  end
  for _, operand in ipairs(found.operands) do
    if found.in_place then
      self:look_file("write", operand, ctx)
    end
    self:look_read(operand, ctx)
  end
end

-- ---- python -----------------------------------------------------------------------------------------------------------------

--- Modules that `python -m` may run without a question: they test or check the project.
local MODULES = words_of.set("pytest unittest doctest mypy ruff black flake8 isort coverage compileall py_compile "
  .. "pyflakes pycodestyle tabnanny")

--- `python -m MODULE`, of those modules.
---@param name string
---@param words procage.Word[]
---@return string? module
function M.python_module(name, words)
  local is_python = name == "python" or rows.names(name)[2] == "python"
  if is_python and words[2] and words[2].text == "-m" and words[3] and MODULES[words[3].text] then
    return words[3].text
  end
end

return M

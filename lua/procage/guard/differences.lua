--- What two looks of guard differ in, as findings with words for people.

local glob = require("procage.glob")

local M = {}

M.INTEGRITY, M.GIT_CHANGED = "INTEGRITY", "GIT-CHANGED"

--- Two marks in words: what it was and what it is.
local function change_in_words(before, after)
  local link = before:match("^link to .-, ")
  if link and after:sub(1, #link) == link then
    return "what it leads to: " .. change_in_words(before:sub(#link + 1), after:sub(#link + 1))
  end
  local kind, mode, size = before:match("^(%a+) ([0-7]+) ?(%d*)")
  local kind_now, mode_now, size_now = after:match("^(%a+) ([0-7]+) ?(%d*)")
  if not kind or not kind_now or kind ~= kind_now then
    local function short(mark)
      return (mark:gsub(" %x+$", function(word)
        return #word > 40 and "" or nil
      end))
    end
    return ("was %s, is %s"):format(short(before), short(after))
  end
  local words = {}
  if mode ~= mode_now then
    words[#words + 1] = ("mode %s became %s"):format(mode, mode_now)
  end
  if size ~= size_now then
    words[#words + 1] = ("content changed, %s bytes became %s"):format(size, size_now)
  elseif before:match("%S+$") ~= after:match("%S+$") and kind == "file" then
    words[#words + 1] = "content changed"
  end
  return table.concat(words, "; ")
end

---@param id string
---@param before table<string, string>
---@param after table<string, string>
---@param words fun(name: string, before: string?, after: string?): string
---@param is_own? fun(name: string): boolean
function M.add(findings, id, before, after, words, is_own)
  local function add(name, what)
    if not (is_own and is_own(name)) then
      findings[#findings + 1] = {
        id = id,
        name = name,
        what = what,
        before = before[name],
        after = after[name],
        text = words(name, before[name], after[name]),
      }
    end
  end
  for name, mark in pairs(before) do
    local now = after[name]
    if now == nil then
      add(name, "gone")
    elseif now ~= mark then
      add(name, "changed")
    end
  end
  for name in pairs(after) do
    if before[name] == nil then
      add(name, "appeared")
    end
  end
end

--- Words for a file.
---@param label string  before its name
function M.file_words(label)
  return function(name, before, after)
    if not before then
      return ("%s%s appeared"):format(label, name)
    elseif not after then
      return ("%s%s is gone"):format(label, name)
    end
    return ("%s%s: %s"):format(label, name, change_in_words(before, after))
  end
end

local function ref_kind(name)
  return name:find("^refs/heads/") and "branch " .. name:sub(12)
    or name:find("^refs/tags/") and "tag " .. name:sub(11)
    or name:find("^refs/remotes/") and "remote branch " .. name:sub(14)
    or name
end

function M.ref_words(name, before, after)
  local shown = ref_kind(name)
  if not before then
    return ("%s appeared, at %s"):format(shown, after)
  elseif not after then
    return ("%s is gone; it was at %s"):format(shown, before)
  end
  return ("%s moved from %s to %s"):format(shown, before, after)
end

function M.index_words(name, before, after)
  if not before then
    return ("%s was staged"):format(name)
  elseif not after then
    return ("%s was taken out of the index"):format(name)
  end
  return ("%s is staged otherwise: %s became %s"):format(name, before, after)
end

function M.add_head(findings, before, after)
  local function add(what, was, is, text)
    findings[#findings + 1] = { id = M.INTEGRITY, name = what, what = "changed", before = was, after = is, text = text }
  end
  if before.text ~= after.text then
    add("HEAD", before.text, after.text, ("HEAD was %s, is %s"):format(before.text, after.text))
  elseif before.commit ~= after.commit then
    add("branch", before.commit, after.commit, ("%s, the branch that HEAD is on, moved from %s to %s"):format(
      before.branch or "HEAD", before.commit or "no commit", after.commit or "no commit"))
  end
end

--- A linked worktree's own directory and the common one are looked at where they were; a `.git` that leads elsewhere since is a
--- finding by itself.
function M.add_repository(findings, before, after)
  local was = before and before.directory or "no repository"
  local is = after and after.directory or "no repository"
  if was ~= is or before and after and (before.common ~= after.common or before.root ~= after.root) then
    findings[#findings + 1] = {
      id = M.GIT_CHANGED,
      name = ".git",
      what = not before and "appeared" or not after and "gone" or "changed",
      before = before and before.directory,
      after = after and after.directory,
      text = ("the repository was %s, is %s"):format(was, is),
    }
  end
end

--- Whether a ref is one that the harness itself moves.
---@param patterns string[]
---@return fun(name: string): boolean
function M.own_matcher(patterns)
  local globs = {}
  for i, pattern in ipairs(patterns) do
    globs[i] = glob.compile(pattern, true)
  end
  return function(name)
    for _, compiled in ipairs(globs) do
      if glob.matches(compiled, name) then
        return true
      end
    end
    return false
  end
end

function M.sort(findings)
  table.sort(findings, function(a, b)
    if a.id ~= b.id then
      return a.id > b.id -- INTEGRITY first
    end
    return a.name < b.name
  end)
  return findings
end

return M

--- procage-lua guard: a snapshot written down, and what has changed since.

local core = require("procage.core")
local disk = require("procage.disk")
local guard = require("procage.guard")
local path = require("procage.path")
local writer = require("procage.writer")

local CHANGED, BAD_USAGE, OUR_FAILURE = 1, 2, 125

local function fail(status, message)
  writer.err("procage-lua: guard: ", message)
  return status
end

--- A path of the command line from where the user is.
local function absolute(name)
  local cwd = assert(core.real_path("/proc/self/cwd"))
  return (disk.resolve(path.join(cwd, name)))
end

--- Standard output, or a file that is not there yet: what it replaced might be a snapshot that someone still compares with.
local function write(file, text)
  if not file then
    local ok, message = io.stdout:write(text, "\n")
    ok = ok and io.stdout:flush()
    return ok, message
  end
  return core.create_file(path.join(assert(core.real_path("/proc/self/cwd")), file), text .. "\n")
end

local function snapshot(chosen)
  local root, message = core.real_path(chosen.root and absolute(chosen.root) or "/proc/self/cwd")
  if not root then
    return fail(BAD_USAGE, "--root: " .. message)
  end
  if chosen.output and path.is_beneath(absolute(chosen.output), root) then
    return fail(BAD_USAGE, ("--output %s lies in the workspace: a command could write it"):format(chosen.output))
  end
  local options = {
    root = root,
    protect = chosen.protect,
    in_place = chosen.in_place or false,
    tree = chosen.tree or false,
    git = not chosen.no_git,
    own_refs = chosen.own_ref,
  }
  local ok, made, why = pcall(guard.snapshot, options)
  if not ok then
    return fail(BAD_USAGE, (tostring(made):gsub("^.-guard: ", "")))
  elseif not made then
    return fail(CHANGED, (why:gsub("^guard: ", "")))
  end
  for _, note in ipairs(made.notes) do
    writer.err("procage-lua: guard: ", note)
  end
  ok, why = write(chosen.output, guard.to_json(made))
  if not ok then
    return fail(OUR_FAILURE, chosen.output and why or "standard output: " .. (why or "cannot be written"))
  end
  return 0
end

local function read(file)
  if file == nil or file == "-" then
    return io.stdin:read("a")
  end
  local handle, message = io.open(file, "rb")
  if not handle then
    return nil, message
  end
  local text, why = handle:read("a")
  handle:close()
  return text, why
end

local function compare(chosen, words)
  local text, message = read(words[1])
  if not text then
    return fail(BAD_USAGE, message)
  end
  local before, why = guard.from_json(text)
  if not before then
    return fail(BAD_USAGE, ("%s: %s"):format(words[1] or "standard input", why))
  elseif words[1] and words[1] ~= "-" and path.is_beneath(absolute(words[1]), before.options.root) then
    return fail(BAD_USAGE, ("%s lies in the workspace: a command could have written it"):format(words[1]))
  end
  local findings, more = guard.compare(before)
  if chosen.json then
    io.stdout:write(guard.findings_to_json(findings, more), "\n")
  else
    for _, finding in ipairs(findings) do
      writer.out(("%s %s"):format(finding.id, finding.text))
    end
    if more > 0 then
      writer.out(("%d more"):format(more))
    end
  end
  return #findings > 0 and CHANGED or 0
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen, words = request.parsed, request.words
  if request.action == "snapshot" then
    if words[1] then
      return fail(BAD_USAGE, ("snapshot: unexpected argument '%s'; a pattern goes behind --protect"):format(words[1]))
    end
    return snapshot(chosen)
  end
  for _, name in ipairs({ "root", "in_place", "tree", "no_git", "output" }) do
    if chosen[name] then
      return fail(BAD_USAGE, ("compare: --%s is the snapshot's affair"):format((name:gsub("_", "-"))))
    end
  end
  if #(chosen.protect or {}) > 0 or #(chosen.own_ref or {}) > 0 or words[2] then
    return fail(BAD_USAGE, "compare takes one file: what is compared is in the snapshot")
  end
  return compare(chosen, words)
end

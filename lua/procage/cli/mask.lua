--- procage-lua mask: a filter.

local core = require("procage.core")
local disk = require("procage.disk")
local mask = require("procage.mask")
local path = require("procage.path")
local writer = require("procage.writer")

local BAD_USAGE, OUR_FAILURE = 2, 125

local function fail(status, message)
  writer.err("procage-lua: ", message)
  return status
end

local function masker_of(chosen)
  local cwd = assert(core.real_path("/proc/self/cwd"))
  local files = {}
  for i, file in ipairs(chosen.file or {}) do
    files[i] = (disk.resolve(path.join(cwd, file)))
  end
  local wants_known = not chosen.no_files
  local variables
  if chosen.no_env then
    variables = false
  end
  return mask.new({
    env = variables,
    names = chosen.name,
    keep = chosen.keep,
    files = files,
    home = wants_known and os.getenv("HOME") or nil,
    root = wants_known and (disk.resolve(path.join(cwd, chosen.root or "."))) or nil,
  })
end

local function put(text)
  if text == "" then
    return true
  end
  local ok, message = io.stdout:write(text)
  if ok then
    ok, message = io.stdout:flush()
  end
  return ok, message
end

local function copy(stream)
  while true do
    local bytes, message = core.read_some(0)
    if not bytes then
      put(stream:finish())
      return fail(OUR_FAILURE, "standard input: " .. message)
    end
    local ok, why = put(bytes == "" and stream:finish() or stream:feed(bytes))
    if not ok then
      return fail(OUR_FAILURE, "output is lost: " .. tostring(why))
    elseif bytes == "" then
      return 0
    end
  end
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.parsed
  local masker, message = masker_of(chosen)
  if not masker then
    return fail(BAD_USAGE, message)
  end
  if chosen.list then
    for _, name in ipairs(masker.names) do
      writer.out(name)
    end
  end
  for _, note in ipairs(masker.notes) do
    writer.err("procage-lua: mask: ", note)
  end
  return chosen.list and 0 or copy(masker:stream())
end

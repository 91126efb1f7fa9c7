-- Paceline for Neovim. "Edit with Paceline…": asking what is wanted, showing how far it is, and the change before it is
-- made.

local ghost = require("paceline.ghost")
local api, lsp = vim.api, vim.lsp

local M = {}
local LABEL = "Edit with Paceline" -- how the server names such a change
local space = api.nvim_create_namespace("paceline.edit")

--- Edit the lines from `first` to `last`: asks what is wanted.
function M.edit(first, last)
  local buf = api.nvim_get_current_buf()
  local client = ghost.client_of(buf)
  if not client then
    vim.notify("Paceline is not running here; see :checkhealth vim.lsp", vim.log.levels.WARN)
    return
  end
  local line = api.nvim_buf_get_lines(buf, last - 1, last, false)[1] or ""
  local range = {
    start = { line = first - 1, character = 0 },
    ["end"] = { line = last - 1, character = vim.str_utfindex(line, client.offset_encoding) },
  }
  vim.ui.input({ prompt = "Edit with Paceline: " }, function(wish)
    if wish and wish ~= "" then
      client:exec_cmd({
        title = "Edit with Paceline…",
        command = "paceline.edit",
        arguments = { vim.uri_from_bufnr(buf), range, lsp.util.buf_versions[buf] or vim.NIL, wish },
      }, { bufnr = buf })
    end
  end)
end

-- A line at the bottom that needs no key, and is in nobody's way in the list of messages.
local function say(text)
  local width = vim.o.columns - 20
  api.nvim_echo({ { vim.fn.strcharpart(text:gsub("%c", " "), 0, math.max(width, 20)) } }, false, {})
end

--- Show what is being computed, for as long as that takes.
function M.watch(group)
  api.nvim_create_autocmd("LspProgress", {
    group = group,
    callback = function(event)
      local client = lsp.get_client_by_id(event.data.client_id)
      local value = event.data.params and event.data.params.value
      if not client or client.name ~= "paceline" or type(value) ~= "table" or api.nvim_get_mode().mode:match("^[cr]") then
        return
      elseif value.kind == "end" then
        say("")
      else
        local part = value.percentage and value.percentage > 0 and (" %d %%"):format(value.percentage) or ""
        say("Paceline: " .. (value.message or value.title or "") .. part)
      end
      vim.cmd.redraw()
    end,
  })
end

-- The edits of a buffer's lines: pairs of buffer and list, as the protocol has them; nil where a buffer is not any more
-- what they are for. What they say of being confirmed is taken out: this file asks, and Neovim 0.12 would ask again.
local function edits_of(change)
  local found = {}
  for _, each in ipairs(change.documentChanges or {}) do
    local buf, version = vim.uri_to_bufnr(each.textDocument.uri), each.textDocument.version
    if type(version) == "number" and (lsp.util.buf_versions[buf] or version) ~= version then
      return nil
    end
    for _, edit in ipairs(each.edits) do
      edit.annotationId = nil
    end
    found[#found + 1] = { buf, each.edits }
  end
  change.changeAnnotations = nil
  for uri, edits in pairs(change.changes or {}) do
    found[#found + 1] = { vim.uri_to_bufnr(uri), edits }
  end
  return found
end

-- Draw an edit: what goes, and below it what comes.
local function draw(buf, edit, encoding)
  local from, to = edit.range.start, edit.range["end"]
  local last = (to.character == 0 and to.line > from.line) and to.line - 1 or to.line
  local count = api.nvim_buf_line_count(buf)
  local function byte(place)
    local line = api.nvim_buf_get_lines(buf, place.line, place.line + 1, false)[1] or ""
    return vim.str_byteindex(line, encoding, place.character, false)
  end
  if from.line < count and (from.line ~= to.line or from.character ~= to.character) then
    api.nvim_buf_set_extmark(buf, space, from.line, byte(from), {
      end_row = math.min(to.line, count),
      end_col = to.line < count and byte(to) or 0,
      hl_group = "DiffDelete",
      hl_eol = true,
    })
  end
  local lines = {}
  if edit.newText ~= "" then
    for _, line in ipairs(vim.split((edit.newText:gsub("\r?\n$", "")), "\r?\n")) do
      lines[#lines + 1] = { { line == "" and " " or line, "DiffAdd" } }
    end
  end
  local pure = from.line == to.line and from.character == to.character and from.character == 0
  api.nvim_buf_set_extmark(buf, space, math.min(pure and from.line or last, count - 1), 0, {
    virt_lines = lines,
    virt_lines_above = pure and from.line < count,
  })
end

-- Bring the change into view, where a window has the buffer.
local function reveal(buf, edit)
  local window, row = vim.fn.bufwinid(buf), edit.range.start.line
  if window == -1 then
    return
  elseif row + 1 < vim.fn.line("w0", window) or row + 1 > vim.fn.line("w$", window) then
    api.nvim_win_set_cursor(window, { math.min(row + 1, api.nvim_buf_line_count(buf)), 0 })
  elseif row == 0 then -- what stands above the first line is scrolled to, or is not seen
    local lines = select(2, edit.newText:gsub("\n", ""))
    api.nvim_win_call(window, function()
      vim.fn.winrestview({ topline = 1, topfill = lines })
    end)
  end
end

--- Answers the server's wish to change text. An edit is shown, and made if the person says so.
function M.apply(err, params, context)
  local client = lsp.get_client_by_id(context.client_id)
  if not err and client and params.label == LABEL then
    local changes = edits_of(params.edit)
    if not changes then
      return { applied = false, failureReason = "the text has changed meanwhile" }
    end
    for _, change in ipairs(changes) do
      local buf, edits = unpack(change)
      for _, edit in ipairs(edits) do
        pcall(draw, buf, edit, client.offset_encoding)
      end
      if edits[1] then
        reveal(buf, edits[1])
      end
    end
    vim.cmd.redraw()
    local fine, answer = pcall(vim.fn.confirm, "Paceline: make this change?", "&Yes\n&No", 0, "Question")
    for _, change in ipairs(changes) do
      if api.nvim_buf_is_valid(change[1]) then
        api.nvim_buf_clear_namespace(change[1], space, 0, -1)
      end
    end
    vim.cmd.redraw()
    if not fine or answer ~= 1 then
      return { applied = false }
    end
    local made, why = pcall(lsp.util.apply_workspace_edit, params.edit, client.offset_encoding)
    return { applied = made, failureReason = not made and tostring(why) or nil }
  end
  return lsp.handlers["workspace/applyEdit"](err, params, context)
end

return M

-- Paceline for Neovim. The suggestion on the screen: asking for it, drawing it, keeping it while what is typed agrees,
-- accepting it.

local M = {}
local api, lsp = vim.api, vim.lsp

local METHOD = "textDocument/inlineCompletion"
local INVOKED, AUTOMATIC = 1, 2 -- the protocol's trigger kinds
local space = api.nvim_create_namespace("paceline")

local shown = nil -- what stands on the screen: { buf, row, col, text, rest, typed, items, index, item, client }
local flight = nil -- the request on its way: { client, id, serial }
local serial = 0
local timer = nil
local dismissed = false -- by hand: nothing comes until something is typed
local native, delay = false, 40

--- `with_native`: Neovim draws by itself. `milliseconds`: after a key until the server is asked.
function M.configure(with_native, milliseconds)
  native, delay = with_native, milliseconds
end

--- The language server of a buffer.
function M.client_of(buf)
  return lsp.get_clients({ bufnr = buf, name = "paceline" })[1]
end

-- The byte position of the cursor, rows from 0.
local function cursor()
  local place = api.nvim_win_get_cursor(0)
  return place[1] - 1, place[2]
end

local function inserting()
  return api.nvim_get_mode().mode:sub(1, 1) == "i"
end

-- --- the ghost text ------------------------------------------------------------------------------------------------

local function erase()
  if shown and api.nvim_buf_is_valid(shown.buf) then
    api.nvim_buf_clear_namespace(shown.buf, space, 0, -1)
  end
  shown = nil
end

local function draw()
  api.nvim_buf_clear_namespace(shown.buf, space, 0, -1)
  local lines = vim.split(shown.text, "\n", { plain = true })
  local below = {}
  for i = 2, #lines do
    below[#below + 1] = { { lines[i] == "" and " " or lines[i], "PacelineGhost" } }
  end
  api.nvim_buf_set_extmark(shown.buf, space, shown.row, shown.col, {
    virt_text = { { lines[1], "PacelineGhost" } },
    virt_text_pos = "inline",
    virt_lines = #below > 0 and below or nil,
    hl_mode = "combine",
  })
end

-- The text between two places of the buffer; nil if that is backwards or not there.
local function between(buf, row, col, to_row, to_col)
  if to_row < row or (to_row == row and to_col < col) then
    return nil
  end
  local fine, lines = pcall(api.nvim_buf_get_text, buf, row, col, to_row, to_col, {})
  return fine and table.concat(lines, "\n") or nil
end

-- Typing what the ghost text says keeps it; anything else takes it away at once. Whether it is still there.
local function follow()
  if not shown then
    return false
  end
  local buf, row, col = api.nvim_get_current_buf(), cursor()
  local typed = buf == shown.buf and inserting() and between(buf, shown.row, shown.col, row, col)
  -- what stood behind the cursor's place must be what stands there now
  local rest = typed and api.nvim_buf_get_lines(buf, row, row + 1, false)[1]:sub(col + 1)
  if not typed or rest ~= shown.rest or not vim.startswith(shown.text, typed) or typed == shown.text then
    erase()
    return false
  end
  if typed ~= "" then
    shown.text, shown.row, shown.col = shown.text:sub(#typed + 1), row, col
    shown.typed = shown.typed .. typed
    draw()
  end
  return true
end

-- The item's text behind the cursor: without what its range already covers before it. nil where it does not fit.
local function behind_cursor(item, client, buf, row, col)
  local text = type(item.insertText) == "table" and item.insertText.value or item.insertText
  if type(text) ~= "string" then
    return nil
  end
  if item.range then
    local from = item.range.start
    local line = api.nvim_buf_get_lines(buf, from.line, from.line + 1, false)[1] or ""
    local fine, start = pcall(vim.str_byteindex, line, client.offset_encoding, from.character, false)
    local covered = fine and between(buf, from.line, start, row, col)
    if not covered or not vim.startswith(text, covered) then
      return nil
    end
    text = text:sub(#covered + 1)
  end
  return text ~= "" and text or nil
end

local function show(buf, client, items, index)
  local row, col = cursor()
  local item = items[index]
  local text = item and behind_cursor(item, client, buf, row, col)
  if not text then
    erase()
    return
  end
  local rest = api.nvim_buf_get_lines(buf, row, row + 1, false)[1]:sub(col + 1)
  shown = { buf = buf, row = row, col = col, text = text, rest = rest, typed = "", items = items, index = index }
  shown.client = client.id
  shown.item = item
  draw()
  client:notify("textDocument/didShowCompletion", { item = item })
end

-- --- asking --------------------------------------------------------------------------------------------------------

local function cancel()
  if timer then
    timer:stop()
  end
  if flight then
    local client = lsp.get_client_by_id(flight.client)
    if client then
      client:cancel_request(flight.id)
    end
    flight = nil
  end
end

local function ask(buf, kind)
  cancel()
  local client = M.client_of(buf)
  if not client or buf ~= api.nvim_get_current_buf() or not inserting() or not client:supports_method(METHOD, buf) then
    return
  end
  local params = lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = kind }
  local tick, row, col = api.nvim_buf_get_changedtick(buf), cursor()
  serial = serial + 1
  local mine = serial
  local sent, id = client:request(METHOD, params, function(err, result)
    if flight and flight.serial == mine then
      flight = nil
    end
    if err or mine ~= serial or buf ~= api.nvim_get_current_buf() or not inserting() then
      return
    end
    local now_row, now_col = cursor()
    if api.nvim_buf_get_changedtick(buf) ~= tick or now_row ~= row or now_col ~= col then
      return -- another question is under way for what stands there now
    end
    local items = result and (result.items or result) or {}
    if #items == 0 then
      erase()
      return
    end
    show(buf, client, items, 1)
  end, buf)
  if sent then
    flight = { client = client.id, id = id, serial = mine }
  end
end

local function ask_soon(buf)
  cancel()
  timer = timer or assert(vim.uv.new_timer())
  timer:start(delay, 0, vim.schedule_wrap(function()
    if not dismissed then
      ask(buf, AUTOMATIC)
    end
  end))
end

-- --- accepting -----------------------------------------------------------------------------------------------------

-- Put text where the cursor is, as one step of undo of its own.
local function insert(text)
  local row, col = cursor()
  local lines = vim.split(text, "\n", { plain = true })
  vim.o.undolevels = vim.o.undolevels
  api.nvim_buf_set_text(0, row, col, row, col, lines)
  api.nvim_win_set_cursor(0, { row + #lines, (#lines == 1 and col or 0) + #lines[#lines] })
end

local function first_word(text)
  return text:match("^%s*[%w_\128-\255]+") or text:match("^%s*[^%w%s_\128-\255]+") or text
end

local function first_line(text)
  return text:match("^\n*[^\n]+") or text
end

local function tell(client, item, whole, accepted)
  if whole then
    if item.command then
      client:exec_cmd(item.command, { bufnr = api.nvim_get_current_buf() })
    end
  else
    client:notify("textDocument/didPartiallyAcceptCompletion", {
      item = item,
      acceptedLength = vim.str_utfindex(accepted, client.offset_encoding),
    })
  end
end

-- What stands between the place of Neovim's own item and the cursor; nil where that is not in front of the cursor.
local function typed_since(range, row, col)
  if not range then
    return ""
  end
  local from = range.start -- Neovim 0.12.0 has positions in a range, later ones have numbers
  return between(0, range.start_row or from.row, range.start_col or from.col, row, col)
end

-- Take the part of the suggestion that `part` cuts off its text. Whether there was one.
local function take(part)
  if native then
    return lsp.inline_completion.get({
      on_accept = function(item)
        local client = lsp.get_client_by_id(item.client_id)
        local text = type(item.insert_text) == "table" and item.insert_text.value or item.insert_text
        local row, col = cursor()
        local covered = typed_since(item.range, row, col)
        if not client or not covered or not vim.startswith(text, covered) then
          return -- it stood there still, but something else has been typed
        end
        text = text:sub(#covered + 1)
        local piece = part(text)
        insert(piece)
        tell(client, { insertText = text, command = item.command }, piece == text, covered .. piece)
      end,
    })
  end
  if not follow() then
    return false
  end
  local now = shown
  local piece = part(now.text)
  vim.schedule(function() -- a key that is an expression may not change the text itself
    erase()
    insert(piece)
    local client = lsp.get_client_by_id(now.client)
    if client then
      tell(client, now.item, piece == now.text, now.typed .. piece)
    end
    if piece ~= now.text then
      local row, col = cursor()
      shown = vim.tbl_extend("force", now, { row = row, col = col, text = now.text:sub(#piece + 1) })
      shown.rest = api.nvim_buf_get_lines(now.buf, row, row + 1, false)[1]:sub(col + 1)
      shown.typed = now.typed .. piece
      draw()
    end
  end)
  return true
end

--- Accept the whole suggestion. False where none is shown.
function M.accept()
  return take(function(text)
    return text
  end)
end

--- Accept its next word.
function M.accept_word()
  return take(first_word)
end

--- Accept its next line.
function M.accept_line()
  return take(first_line)
end

--- Take the suggestion away, until something is typed. False where none is shown.
function M.dismiss()
  if native then
    return lsp.inline_completion.get({ on_accept = function() end })
  end
  local was = shown ~= nil
  cancel()
  erase()
  dismissed = was
  return was
end

--- Ask for a suggestion now, wherever the cursor is. Neovim's own display has no way to ask: it is switched on.
function M.ask()
  dismissed = false
  if native then
    return lsp.inline_completion.enable(true, { bufnr = 0 })
  end
  ask(api.nvim_get_current_buf(), INVOKED)
end

--- Show another of several suggestions.
function M.select(step)
  if native then
    return lsp.inline_completion.select({ count = step })
  end
  local client = shown and lsp.get_client_by_id(shown.client)
  if not client or #shown.items < 2 or shown.typed ~= "" then
    return
  end
  show(shown.buf, client, shown.items, (shown.index - 1 + step) % #shown.items + 1)
end

--- Whether a suggestion is on the screen; for your own mappings. Neovim's own display does not say.
function M.visible()
  return shown ~= nil
end

--- Ask and follow while something is typed.
function M.watch(group)
  api.nvim_create_autocmd({ "TextChangedI", "TextChangedP", "CursorMovedI", "InsertEnter" }, {
    group = group,
    callback = function(event)
      if not M.client_of(event.buf) then
        return
      end
      if event.event ~= "CursorMovedI" then
        dismissed = false
      end
      follow()
      ask_soon(event.buf)
    end,
  })
  api.nvim_create_autocmd({ "InsertLeave", "BufLeave" }, {
    group = group,
    callback = function()
      cancel()
      erase()
    end,
  })
end

return M

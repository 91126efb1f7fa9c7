-- Paceline for Neovim. Keys, and the commands that belong to them.

local ghost, editing = require("paceline.ghost"), require("paceline.editing")
local api = vim.api

local M = {}

-- What the key did before: what to type for it. `before` is what maparg() says.
local function former(before, lhs)
  if before.callback then
    if before.expr ~= 1 then
      vim.schedule(before.callback) -- an expression may not change the text
      return ""
    end
    local typed = before.callback() or ""
    return before.replace_keycodes == 1 and vim.keycode(typed) or typed
  elseif before.rhs and before.rhs ~= "" then
    return before.expr == 1 and api.nvim_eval(before.rhs) or vim.keycode(before.rhs)
  end
  return vim.keycode(lhs)
end

local replaced = {} -- mappings that were there before ours, by key

-- The popup menu comes first; then a suggestion; then whatever the key did before.
local function key(keys, name, action)
  local lhs = keys[name]
  if not lhs or lhs == "" then
    return
  end
  replaced[lhs] = replaced[lhs] or vim.fn.maparg(lhs, "i", false, true)
  local before = replaced[lhs]
  vim.keymap.set("i", lhs, function()
    if vim.fn.pumvisible() == 0 and action() then
      return ""
    end
    return former(before, lhs)
  end, { expr = true, replace_keycodes = false, desc = "Paceline: " .. name })
end

--- Map them all; "" or false leaves one out.
function M.map(keys)
  key(keys, "accept", ghost.accept)
  key(keys, "word", ghost.accept_word)
  key(keys, "line", ghost.accept_line)
  key(keys, "dismiss", ghost.dismiss)
  local function plain(name, action)
    local lhs = keys[name]
    if lhs and lhs ~= "" then
      vim.keymap.set("i", lhs, action, { desc = "Paceline: " .. name })
    end
  end
  plain("ask", ghost.ask)
  plain("next", function()
    ghost.select(1)
  end)
  plain("previous", function()
    ghost.select(-1)
  end)
  if keys.edit and keys.edit ~= "" then
    vim.keymap.set("x", keys.edit, ":PacelineEdit<CR>", { silent = true, desc = "Paceline: edit" })
  end
end

--- :PacelineStatus, :PacelineRestart, :PacelineEdit.
function M.commands()
  local function send(command)
    return function()
      local client = ghost.client_of(0)
      if not client then
        vim.notify("Paceline is not running here; see :checkhealth vim.lsp", vim.log.levels.WARN)
        return
      end
      client:request("workspace/executeCommand", { command = command }, function(err, result)
        if err then
          vim.notify("Paceline: " .. err.message, vim.log.levels.ERROR)
        elseif type(result) == "string" then
          vim.notify(result)
        elseif result and result ~= vim.NIL then
          vim.notify(vim.inspect(result))
        end
      end, 0)
    end
  end
  api.nvim_create_user_command("PacelineStatus", send("paceline.status"), {})
  api.nvim_create_user_command("PacelineRestart", send("paceline.restartEngine"), {})
  api.nvim_create_user_command("PacelineEdit", function(range)
    editing.edit(range.line1, range.line2)
  end, { range = true })
end

return M

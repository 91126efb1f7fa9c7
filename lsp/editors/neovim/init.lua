-- Paceline for Neovim 0.11 and later: completions as you type, from the language server `paceline lsp`.
--
--   require("paceline").setup()                          everything as it is meant
--   require("paceline").setup({ keys = { accept = "<C-y>" } })   and another key
--
-- Neovim 0.12 can show inline completions by itself. This plug-in's own display takes a suggestion away the moment that
-- something else is typed, and does not wait 200 ms before it asks, so Neovim's is used only with `native = true`.

local M = {}
local api, lsp = vim.api, vim.lsp
local ghost, keys, editing = require("paceline.ghost"), require("paceline.keys"), require("paceline.editing")

-- For mappings of your own: each returns whether there was something to do.
M.accept, M.accept_word, M.accept_line, M.dismiss = ghost.accept, ghost.accept_word, ghost.accept_line, ghost.dismiss
M.ask, M.select, M.visible, M.edit = ghost.ask, ghost.select, ghost.visible, editing.edit

local defaults = {
  cmd = { "paceline", "lsp" },
  filetypes = nil, -- nil: all of them; the server knows where it has nothing to say
  settings = {}, -- what [editor] of Paceline's configuration has, such as { multiline = false }
  native = false, -- true: Neovim's own display, where there is one (0.12)
  delay = 40, -- milliseconds after a key until the server is asked; it waits for your rhythm itself
  keys = {
    accept = "<Tab>",
    word = "<M-Right>",
    line = "<M-Down>",
    dismiss = "<C-]>",
    ask = "<M-\\>",
    next = "<M-]>",
    previous = "<M-[>",
    edit = "<leader>pe",
  },
}

--- Start it: for every buffer with a file type in `filetypes`, or for all.
function M.setup(wishes)
  local options = vim.tbl_deep_extend("force", vim.deepcopy(defaults), wishes or {})
  if vim.fn.has("nvim-0.11") == 0 then
    vim.notify("Paceline needs Neovim 0.11 or later", vim.log.levels.ERROR)
    return
  end
  if vim.fn.executable(options.cmd[1]) == 0 then
    vim.notify(
      options.cmd[1]
        .. " is not on the PATH that Neovim sees. Where it is installed, run `paceline editor neovim --write` again,"
        .. " or name its whole path in `cmd`.",
      vim.log.levels.WARN
    )
    return
  end
  api.nvim_set_hl(0, "PacelineGhost", { link = "NonText", default = true })
  local settings = next(options.settings) and options.settings or vim.empty_dict() -- {} alone would be sent as a list
  lsp.config("paceline", {
    cmd = options.cmd,
    filetypes = options.filetypes,
    root_markers = { ".paceline.toml", ".git" },
    capabilities = {
      textDocument = { inlineCompletion = { dynamicRegistration = false } },
      workspace = { workspaceEdit = { documentChanges = true } }, -- changes for a version; Neovim does not say that it can
    },
    init_options = settings,
    settings = { paceline = settings },
    handlers = { ["workspace/applyEdit"] = editing.apply },
  })
  lsp.enable("paceline")
  local native = options.native and lsp.inline_completion ~= nil
  ghost.configure(native, options.delay)
  keys.map(options.keys)
  keys.commands()
  local group = api.nvim_create_augroup("paceline", { clear = true })
  if lsp.inline_completion then
    api.nvim_create_autocmd("LspAttach", {
      group = group,
      callback = function(event)
        local client = lsp.get_client_by_id(event.data.client_id)
        if not client or client.name ~= "paceline" then
          return
        elseif native then
          lsp.inline_completion.enable(true, { bufnr = event.buf })
        else -- it may be switched on for another server: one display is enough
          lsp.inline_completion.enable(false, { client_id = client.id })
        end
      end,
    })
  end
  editing.watch(group)
  if not native then
    ghost.watch(group)
  end
end

return M

"""Paceline in a real Neovim: ghost text that comes, follows what is typed, goes, and is accepted."""

import pytest

SIGNATURE = "def area(width, height):"
BODY = ['    """The area of a rectangle."""', "    return width * height"]
WHOLE = "\n".join(["width, height):", *BODY])


@pytest.fixture
def typing(neovim, script):
    """Neovim in insert mode behind `def area(`, with the suggestion on the screen."""
    neovim.set_up(script)
    neovim.open(script)
    neovim.keys("idef area(")
    neovim.until(["def area("], WHOLE)
    return neovim


def test_the_suggestion_stands_behind_the_cursor_with_all_its_lines(typing, script):
    assert script.heard("initialize")[0]["inline"]
    assert script.heard("open")[0]["language"] == "python"
    assert typing.lua("return require('paceline').visible()")


def test_typing_what_it_says_keeps_it_and_anything_else_takes_it_away_at_once(neovim, script):
    neovim.set_up(script, "{ delay = 60000 }")  # only what the editor does by itself
    neovim.open(script)
    neovim.keys("idef area(")
    neovim.lua("require('paceline').ask()")
    neovim.until(["def area("], WHOLE)
    neovim.keys("wi")
    assert neovim.after(["def area(wi"]) == WHOLE[2:]
    neovim.keys("x")
    assert neovim.after(["def area(wix"]) == ""


def test_deleting_takes_it_away(neovim, script):
    neovim.set_up(script, "{ delay = 60000 }")
    neovim.open(script)
    neovim.keys("idef area(")
    neovim.lua("require('paceline').ask()")
    neovim.until(["def area("], WHOLE)
    neovim.keys("<BS>")
    assert neovim.after(["def area"]) == ""


def test_tab_accepts_all_of_it_and_tells_the_server(typing, script):
    typing.keys("<Tab>")
    typing.until([SIGNATURE, *BODY], "")
    assert list(typing.api.current.window.cursor) == [3, len(BODY[1])]
    assert [entry["command"] for entry in script.wait("command")] == ["paceline.accept"]
    typing.keys("<Esc>u")
    typing.until(["def area("], "")


def test_tab_is_tab_where_nothing_is_shown(neovim, script):
    neovim.set_up(script)
    neovim.open(script, "something else\n")
    neovim.keys("A<Tab>x")
    neovim.until(["something else\tx"], "")


@pytest.mark.parametrize(
    "mapping",
    [
        "vim.keymap.set('i', '<Tab>', 'TAB')",
        "vim.keymap.set('i', '<Tab>', function() return 'TAB' end, { expr = true })",
        "vim.cmd([[inoremap <expr> <Tab> 'T' . 'AB']])",
        "vim.keymap.set('i', '<Tab>', function() vim.api.nvim_put({ 'TAB' }, 'c', false, true) end)",
    ],
)
def test_what_tab_did_before_it_does_still(neovim, script, mapping):
    neovim.lua(mapping)
    neovim.set_up(script)
    neovim.set_up(script)  # twice: its own mapping is not taken for the one before
    neovim.open(script, "something else \n")
    neovim.keys("A<Tab>")
    neovim.after(["something else TAB"])


def test_the_popup_menu_keeps_its_keys(typing):
    typing.keys("<C-x><C-n>")  # words of the buffer
    typing.keys("<Esc>a")
    typing.lua("vim.fn.complete(1, { 'def area(one', 'def area(two' })")
    typing.keys("<Tab>")
    assert WHOLE.split("\n")[1] not in "\n".join(typing.state()[0])


def test_words_and_lines_are_accepted_one_by_one(typing, script):
    typing.keys("<M-Right>")
    typing.until(["def area(width"], WHOLE[5:])
    typing.keys("<M-Right>")
    typing.until(["def area(width,"], WHOLE[6:])
    typing.keys("<M-Down>")
    typing.after([SIGNATURE])
    script.until(lambda: len(script.notified("textDocument/didPartiallyAcceptCompletion")) == 3)
    parts = script.notified("textDocument/didPartiallyAcceptCompletion")
    assert parts[0]["acceptedLength"] == len("width")
    assert script.commands() == []


def test_a_dismissed_suggestion_stays_away_until_something_is_typed(typing):
    typing.keys("<C-]>")
    typing.until(["def area("], "")
    typing.keys("w")
    typing.until(["def area(w"], WHOLE[1:])


def test_leaving_insert_mode_takes_it_away(typing):
    typing.keys("<Esc>")
    typing.until(["def area("], "")


def test_positions_count_in_the_encoding_that_was_agreed(neovim, script):
    script.goal.write_text('print("😀é", area)\n', encoding="utf-8")
    neovim.set_up(script)
    neovim.open(script)
    neovim.keys('iprint("😀é", ')
    neovim.until(['print("😀é", '], "area)")
    assert script.heard("ask")[-1]["position"] == {"line": 0, "character": 13}
    neovim.keys("<Tab>")
    neovim.until(['print("😀é", area)'], "")


def test_a_superseded_request_is_cancelled_and_its_answer_is_not_shown(neovim, script):
    script.options = ["--delay", "30"]
    neovim.set_up(script, "{ delay = 1 }")
    neovim.open(script)
    neovim.keys("id")
    first = script.wait("ask")[0]["id"]
    neovim.keys("e")
    assert script.wait("cancel")[0]["id"] == first
    assert neovim.state()[1] == ""


def test_edit_asks_what_is_wanted_and_sends_the_lines(neovim, script):
    neovim.set_up(script)
    neovim.open(script, "one\ntwo\nthree\n")
    neovim.lua("vim.ui.input = function(_, done) done('make it louder') end")
    neovim.api.command("2,3PacelineEdit")
    sent = script.wait("command")[0]
    assert sent["command"] == "paceline.edit"
    uri, place, _, wish = sent["arguments"]
    assert uri.endswith("new.py") and wish == "make it louder"
    assert place == {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 5}}


ASKED = """
local answer = ...
vim.ui.input = function(_, done) done('becomes ZWEI') end
vim.fn.confirm = function(question)
  local space = vim.api.nvim_get_namespaces()["paceline.edit"]
  _G.told = vim.inspect(vim.tbl_map(function(mark)
    return { mark[2], mark[4].hl_group or mark[4].virt_lines[1][1][1] }
  end, vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })))
  return answer
end
"""


@pytest.mark.parametrize(("answer", "line"), [(1, "ZWEI"), (2, "two"), (0, "two")])
def test_an_edit_is_shown_and_made_only_if_the_person_says_so(neovim, script, answer, line):
    neovim.set_up(script)
    neovim.open(script, "one\ntwo\nthree\n")
    neovim.lua(ASKED, answer)
    neovim.api.command("2PacelineEdit")
    applied = script.wait("applied")[0]["result"]["applied"]
    assert applied == (answer == 1)
    assert neovim.state()[0] == ["one", line, "three"]
    seen = neovim.told()
    assert '{ 1, "DiffDelete" }' in seen and '{ 1, "ZWEI" }' in seen
    left = "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['paceline.edit'], 0, -1, {})"
    assert neovim.lua(left) == 0


def test_an_edit_that_comes_while_it_cannot_be_made_says_why(neovim, script):
    neovim.set_up(script)
    neovim.open(script, "one\ntwo\nthree\n")
    neovim.lua(ASKED, 1)
    neovim.lua("vim.lsp.util.apply_workspace_edit = function() error('too late') end")
    neovim.api.command("2PacelineEdit")
    result = script.wait("applied")[0]["result"]
    assert not result["applied"] and "too late" in result["failureReason"]


def test_an_edit_for_another_version_of_the_text_is_not_made(neovim, script):
    neovim.set_up(script)
    neovim.open(script, "one\ntwo\nthree\n")
    neovim.lua(ASKED, 1)
    uri = neovim.lua("return vim.uri_from_bufnr(0)")
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}
    change = {"textDocument": {"uri": uri, "version": -7}, "edits": [{"range": place, "newText": "ZWEI"}]}
    params = {"label": "Edit with Paceline", "edit": {"documentChanges": [change]}}
    context = {"client_id": neovim.lua("return vim.lsp.get_clients()[1].id")}
    result = neovim.lua("return require('paceline.editing').apply(nil, ...)", params, context)
    assert result == {"applied": False, "failureReason": "the text has changed meanwhile"}
    assert neovim.state()[0] == ["one", "two", "three"]


def test_how_far_an_edit_is_stands_in_the_last_line(neovim, script):
    neovim.set_up(script)
    neovim.open(script)
    neovim.lua(
        "vim.api.nvim_echo = function(chunks) _G.told = chunks[1][1] end;"
        "local value = { kind = 'report', message = 'writing', percentage = 40 };"
        "vim.api.nvim_exec_autocmds('LspProgress', { data = { client_id = vim.lsp.get_clients()[1].id,"
        " params = { token = 1, value = value } } })"
    )
    assert neovim.told() == "Paceline: writing 40 %"


def test_a_missing_server_is_said_once_with_what_to_do(neovim):
    neovim.lua("require('paceline').setup({ cmd = { 'no-such-paceline', 'lsp' } })")
    assert neovim.messages().count("paceline editor neovim --write") == 1


def test_the_status_command_shows_what_the_server_says(typing):
    typing.keys("<Esc>")
    typing.lua("vim.notify = function(text) _G.told = text end")
    typing.api.command("PacelineStatus")
    assert "ready" in typing.told()


STAND_IN = """
vim.lsp.inline_completion = {
  enable = function(on, filter) _G.enabled = { on, filter } end,
  select = function(how) _G.selected = how.count end,
  get = function(how)
    if not _G.item then return false end
    vim.schedule(function() how.on_accept(_G.item) end)
    return true
  end,
}
"""


def test_neovims_own_display_is_used_where_that_is_wished(neovim, script):
    neovim.lua(STAND_IN)
    neovim.set_up(script, "{ native = true }")
    neovim.open(script)
    neovim.keys("idef area(")
    neovim.after(["def area("])
    assert neovim.lua("return _G.enabled") == [True, {"bufnr": neovim.api.current.buffer.number}]
    assert script.heard("ask") == []
    neovim.keys("<Tab>")
    neovim.after(["def area(\t"])
    neovim.lua(
        "_G.item = { client_id = vim.lsp.get_clients()[1].id, insert_text = 'width, height', "
        "command = { title = '', command = 'paceline.accept' } }"
    )
    neovim.keys("<BS><M-Right>")
    neovim.after(["def area(width"])
    assert script.commands() == []
    neovim.keys("<Esc>ccdef area(<Tab>")
    neovim.after(["def area(width, height"])
    assert [entry["command"] for entry in script.wait("command")] == ["paceline.accept"]


@pytest.mark.parametrize("place", ["{ start = { row = 0, col = 9 } }", "{ start_row = 0, start_col = 9 }"])
def test_of_an_older_item_of_neovims_own_only_what_is_not_typed_yet_is_accepted(neovim, script, place):
    neovim.lua(STAND_IN)
    neovim.set_up(script, "{ native = true }")
    neovim.open(script)
    neovim.keys("idef area(wi")
    neovim.after(["def area(wi"])
    neovim.lua(
        f"_G.item = {{ client_id = vim.lsp.get_clients()[1].id, insert_text = 'width, height', range = {place} }}"
    )
    neovim.keys("<Tab>")
    neovim.after(["def area(width, height"])
    neovim.keys("<Esc>ccdef area(hi<Tab>!")
    neovim.after(["def area(hi!"])


def test_neovims_own_display_is_off_for_paceline_where_its_own_is_on(neovim, script):
    neovim.lua(STAND_IN)
    neovim.set_up(script)
    neovim.open(script)
    wanted = neovim.lua("return { false, { client_id = vim.lsp.get_clients()[1].id } }")
    assert neovim.lua("return _G.enabled") == wanted

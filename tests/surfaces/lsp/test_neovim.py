"""`remit lsp` in a real Neovim without a screen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.verify_commands import commit, git

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim (Debian: apt install neovim)"),
]

#: Opens a document, types a line that is not saved, and notes what the editor shows.
SCRIPT = """
local noted = {}
local function wait_for(what, condition)
  if not vim.wait(30000, condition, 20) then
    noted.problem = 'nothing after 30 seconds: ' .. what
  end
end
local function marks()
  local found = {}
  for _, mark in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { line = mark.lnum, severity = mark.severity, message = mark.message })
  end
  return found
end
local client = vim.lsp.start_client({
  name = 'remit', cmd = { PYTHON, '-m', 'remit', 'lsp' }, root_dir = vim.fn.getcwd(),
  workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = 'shop' } },
})
vim.cmd('edit docs/guide.md')
vim.lsp.buf_attach_client(0, client)
wait_for('marks of the saved text', function()
  return #marks() == 1 and string.find(marks()[1].message, 'true in') ~= nil
end)
noted.saved = marks()
vim.api.nvim_buf_set_lines(0, -1, -1, false, { '', 'It ends in `src/cart.py:400`.' })
wait_for('marks of the typed text', function() return #marks() == 2 end)
noted.typed = marks()
local about = vim.lsp.util.make_text_document_params()
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 30000) or {}
  return answers[client] and answers[client].result
end
local range = { start = { line = 2, character = 0 }, ['end'] = { line = 2, character = 9 } }
local actions = ask('textDocument/codeAction', { textDocument = about, range = range, context = { diagnostics = {} } })
noted.action = actions[1].title
vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
noted.line = vim.api.nvim_buf_get_lines(0, 2, 3, false)[1]
wait_for('the corrected line', function() return #marks() == 1 end)
vim.api.nvim_win_set_cursor(0, { 3, 36 })
vim.lsp.buf.definition()
wait_for('the cited line', function() return vim.fn.expand('%:t') == 'cart.py' end)
noted.place = { vim.fn.expand('%:t'), vim.api.nvim_win_get_cursor(0)[1] }
vim.fn.writefile({ vim.fn.json_encode(noted) }, OUTPUT)
vim.cmd('qall!')
"""


def test_an_editor_marks_corrects_and_follows_claims(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    for folder in ("src", "docs"):
        (root / folder).mkdir(parents=True)
    code = "def total(cart):\n    return sum(cart)\n"
    (root / "src/cart.py").write_text(code)
    (root / "docs/guide.md").write_text("# Guide\n\nThe sum is made by `total()` in `src/cart.py:1`.\n")
    git(root, "init", "-q", "-b", "main")
    commit(root, "Sell things")
    (root / "src/cart.py").write_text("# carts\n" * 40 + code)
    commit(root, "Describe carts")
    output, script = tmp_path / "noted.json", tmp_path / "script.lua"
    names = f"local PYTHON, OUTPUT = {json.dumps(sys.executable)}, {json.dumps(str(output))}\n"
    script.write_text(names + SCRIPT)
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    command = ["nvim", "--headless", "--clean", "-n", "-c", f"luafile {script}", "-c", "qall!"]
    ran = subprocess.run(
        command, cwd=root, env={**os.environ, **home}, capture_output=True, text=True, timeout=120, check=False
    )
    assert output.exists(), ran.stdout + ran.stderr
    noted = json.loads(output.read_text())
    assert "problem" not in noted, noted
    assert [mark["line"] for mark in noted["saved"]] == [2]
    assert sorted(mark["line"] for mark in noted["typed"]) == [2, 4]
    assert noted["action"] == "Correct to src/cart.py:41"
    assert noted["line"] == "The sum is made by `total()` in `src/cart.py:41`."
    assert noted["place"] == ["cart.py", 41]

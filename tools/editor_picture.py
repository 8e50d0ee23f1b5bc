"""Write docs/editor.svg: a document of the examples in Neovim with `remit lsp`, drawn by tmux.

python tools/editor_picture.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demo_picture import COLUMNS, ROOT, copy_examples, terminal
from rich.text import Text

DOCUMENT = "examples/texts/audit.md"
LINES = 20
_SECONDS = 20
_SETTINGS = f"""
vim.cmd("set number signcolumn=yes laststatus=0 noruler noshowcmd wrap linebreak background=dark shortmess+=F")
local groups = {{ NormalFloat = {{ ctermbg = 238 }}, LineNr = {{ ctermfg = 244 }}, SignColumn = {{}} }}
for group, colours in pairs(groups) do
  vim.api.nvim_set_hl(0, group, colours)
end
vim.opt.fillchars = {{ eob = " " }}
vim.diagnostic.config({{ virtual_text = false, underline = true, signs = true }})
vim.api.nvim_create_autocmd("FileType", {{ pattern = "markdown", callback = function(event)
  local command = {{ "{sys.executable}", "-m", "remit", "lsp" }}
  local client = vim.lsp.start_client({{ name = "remit", cmd = command, root_dir = vim.fn.getcwd() }})
  vim.lsp.buf_attach_client(event.buf, client)
end }})
vim.api.nvim_create_autocmd("DiagnosticChanged", {{ callback = function()
  if #vim.diagnostic.get(0) == 2 then
    vim.api.nvim_set_hl(0, "markdownError", {{}})
    vim.fn.cursor(8, 1)
    vim.diagnostic.open_float({{ scope = "line", header = "", width = 60 }})
  end
end }})
"""


def screen(folder: Path) -> str:
    """Return the screen of the editor when it shows what does not hold."""
    settings = folder / "init.lua"
    settings.write_text(_SETTINGS, encoding="utf-8")
    tmux = ["tmux", "-f", os.devnull, "-S", str(folder / "socket")]
    size = ("-x", str(COLUMNS), "-y", str(LINES))
    subprocess.run(
        [*tmux, "new-session", "-d", *size, "nvim", "-u", str(settings), "-i", "NONE", "-n", DOCUMENT],
        cwd=folder / "shop",
        env=os.environ | {"TERM": "xterm-256color"},
        check=True,
    )
    try:
        end = time.monotonic() + _SECONDS
        shown = ""
        while "there is no such file" not in Text.from_ansi(shown).plain:
            if time.monotonic() > end:
                raise SystemExit(f"the editor shows nothing that does not hold:\n{shown}")
            time.sleep(0.2)
            shown = subprocess.run(
                [*tmux, "capture-pane", "-p", "-e"], capture_output=True, text=True, check=True
            ).stdout
        return shown.rstrip()
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def main() -> None:
    """Open the document and write the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop").mkdir()
        copy_examples(folder / "shop")
        lines = screen(folder)
    text = terminal([Text.from_ansi(lines, no_wrap=True)], "nvim audit.md")
    (ROOT / "docs/editor.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

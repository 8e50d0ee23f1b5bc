"""The options with which well-known programs only show something.

A program that is listed here with another option is not understood: the option may write a file or run a program.
Letters are as in getopt: a colon follows a letter that takes a value. A long option ends with `=` if it takes one.
"""

from __future__ import annotations

from remit.shell.words import Argument

#: A line for each program: its name, its letters (`-` for none), its long options. Indented lines continue it.
_TEXT = """
ls aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1 all almost-all author color= color directory full-time
    group-directories-first human-readable inode recursive reverse size sort= time= time-style= hide= ignore=
cat AbeEnstTuv show-all number number-nonblank squeeze-blank show-ends show-tabs show-nonprinting
less aeEFiImMnNqQrRsSuwXx:z:p: RAW-CONTROL-CHARS no-init quit-if-one-screen
tree adfilpsuDghL:I:P:CnNrt dirsfirst noreport prune gitignore du
date uRI:d:r: utc rfc-email iso-8601 iso-8601= date= rfc-3339= reference=
sort bdfghiMnRrVcCmsuzk:t:S:o: key= field-separator= unique reverse numeric-sort output= version-sort
    human-numeric-sort ignore-case stable check zero-terminated
uniq cdDf:is:uw:z count repeated unique ignore-case skip-fields= skip-chars= check-chars=
head n:c:qvz0123456789 lines= bytes= quiet verbose
tail n:c:qvzfFs:r0123456789 lines= bytes= quiet follow follow= pid= retry
wc clLmw bytes chars lines words max-line-length files0-from=
cut b:c:d:f:ns bytes= characters= delimiter= fields= only-delimited complement output-delimiter=
tr cCdst complement delete squeeze-repeats truncate-set1
grep EFGPe:f:ivwxzcLlm:oqsbHhnTA:B:C:aIrRyUZuD:d:0123456789 regexp= file= ignore-case no-ignore-case invert-match
    word-regexp line-regexp count color= color colour= files-with-matches files-without-match max-count=
    only-matching quiet silent no-messages byte-offset with-filename no-filename line-number after-context=
    before-context= context= text binary-files= include= exclude= exclude-dir= recursive dereference-recursive null
    extended-regexp fixed-strings perl-regexp basic-regexp null-data exclude-from= initial-tab devices= directories=
    line-buffered
rg A:B:C:e:f:g:t:T:E:M:m:d:r:j:sSivwxcloqnNHIhupaPUzbLF.0 regexp= file= glob= iglob= type= type-not= ignore-case
    smart-case case-sensitive invert-match word-regexp line-regexp count count-matches files files-with-matches
    files-without-match max-count= only-matching quiet line-number no-line-number with-filename no-filename
    no-heading heading hidden no-ignore follow multiline multiline-dotall pcre2 after-context= before-context=
    context= color= colors= json stats sort= sortr= max-depth= max-columns= type-list replace= fixed-strings text
    unrestricted vimgrep passthru trim null threads= no-messages encoding= no-ignore-vcs no-config pretty
diff abBcC:dDeEfhilnNpqrstTuU:wW:x:y0123456789 unified unified= context= brief recursive color= color
    ignore-all-space ignore-space-change ignore-blank-lines side-by-side width= new-file exclude= report text stat
    suppress-common-lines strip-trailing-cr
jq ceCMnrRsSajhe arg= argjson= args jsonargs compact-output raw-output null-input slurp raw-input sort-keys
    color-output monochrome-output exit-status tab indent= ascii-output join-output slurpfile= rawfile= stream
    from-file=
du abcd:DhHklLmsSt:xX:0 all apparent-size max-depth= human-readable summarize total exclude= time
df aBhHiklPTx:t: human-readable inodes type= total output=
file bcehikLnNprszZ0:m: brief mime mime-type mime-encoding dereference
stat Lfc:t format= printf= dereference file-system terse
ps aAdefFHjlLmMNTuxwcSVC:G:g:n:o:p:s:t:U:O:Z: sort= forest format= pid= no-headers width= cols=
column c:ts:o:xN:R:JH: table separator= output-separator= json table-columns=
od A:bcdfiloxsj:N:t:vw: address-radix= skip-bytes= read-bytes= format= width=
xxd abc:Eeg:il:o:ps:u
nl b:d:f:h:i:l:n:ps:v:w: body-numbering=
base64 diw:D decode ignore-garbage wrap=
comm 123z check-order nocheck-order output-delimiter=
strings afn:t:e: all bytes= radix=
env iu:0 ignore-environment unset= null
nice n: adjustment=
timeout s:k:v signal= kill-after= preserve-status foreground verbose
stdbuf i:o:e: input= output= error=
nohup -
setsid cfw ctty fork wait
sudo EHnu:g:SkK user= group= preserve-env non-interactive
mktemp dqut directory quiet dry-run
man afklwWS:s: all apropos local-file sections= whatis where
info af:k:n:w all apropos= file= node= where
hostname adfiIsy fqdn short all-ip-addresses
"""
_SAME = {"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "more": "less", "dir": "ls", "colordiff": "diff"}


def unknown_option(name: str, args: list[Argument]) -> str:
    """Return the first option of a listed program that is not known, or an empty text."""
    start = _TEXT.find(f"\n{_SAME.get(name, name)} ")
    if start < 0:
        return ""
    end = start + 1
    while _TEXT[end : end + 1] not in ("\n", "") or _TEXT.startswith("\n    ", end):
        end += 1
    _, letters, *longs = _TEXT[start:end].split()
    at = 0
    while at < len(args):
        text = args[at].text
        at += 1
        if text == "--":
            break
        if name in _WRAPPERS and not text.startswith("-"):
            break
        if text.startswith("--"):
            option, sign, _ = text[2:].partition("=")
            if option not in longs and option + "=" not in longs:
                return text[:40]
            at += not sign and option + "=" in longs and option not in longs
        elif text.startswith("-") and len(text) > 1:
            unknown, takes_next = _cluster(text, letters)
            if unknown:
                return text[:40]
            at += takes_next
    return ""


_WRAPPERS = frozenset({"env", "nice", "timeout", "stdbuf", "nohup", "setsid", "sudo"})


def _cluster(text: str, letters: str) -> tuple[bool, bool]:
    """Return whether a group of letters such as `-rn5` has an unknown one, and whether the next word is its value."""
    for index, letter in enumerate(text[1:], 1):
        position = letters.find(letter)
        if position < 0 or letter == ":":
            return True, False
        if letters[position + 1 : position + 2] == ":":
            return False, index + 1 == len(text)
    return False, False

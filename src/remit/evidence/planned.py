"""Recognise files that a text wants to create, or that it knows to be missing."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from remit.evidence.document_kind import DocumentKind
from remit.evidence.plan_tables import EXISTING_FILES
from remit.evidence.proposal_words import LEAD
from remit.lazy import has_word, lazy_pattern

#: Words for a file that is to be written, alone in a cell.
_MAKE = (
    r"(?:create|new|add|作成|新規|创建|新建|neu|neu anlegen|anlegen|erstellen|crear|nuev[oa]|añadir|agregar|"
    r"créer|nouve(?:au|lle)|criar|nov[oa]|adicionar|creare|nuov[oa]|создать|новый|добавить|oluştur|생성|추가)"
)
#: A part of each of them; of Russian words, the letters that have only one lower case.
_MAKE_WORDS = (
    *("create", "new", "add", "作成", "新規", "创建", "新建", "neu", "anlegen", "erstellen", "crear", "nuev", "añadir"),
    *("agregar", "créer", "nouve", "criar", "nov", "adicionar", "nuov", "з", "ый", "ба"),
    *("oluştur", "생성", "추가"),
)
_MAKES = lazy_pattern(rf"[\s*_`+]*+{_MAKE}(?:\sfile)?[\s*_`]*+$", re.IGNORECASE, _MAKE_WORDS)
#: A cell with what is to be done with a file, and a remark after a path.
_CREATES = lazy_pattern(
    rf"[\s*_`+❌✗⚠]*+(?:{_MAKE}(?:\sfile)?[\s*_`]*+(?:$|[(（])|"
    r"create[\s*_`]*+(?:[—–]|-\s)|"
    r"(?:new|created?|新增|新規(?:作成)?|新建|创建|作成)\s?[:：]|new\s(?:file|module|script|test\sfile)\b|"
    r"nuevo\sarchivo\b|novo\sarquivo\b|neue\sdatei\b|nouveau\sfichier\b|новый\sфайл\b|新文件|新規ファイル|새\s?파일|"
    r"(?:missing|absent|(?:does|do) not exist|doesn't exist|not (?:yet )?(?:there|present|created|written)|to (?:be )?"
    r"(?:created?|added?|written?)|deleted|removed|moved|renamed|(?:git-?)?ignored|ignoré|ignoriert|ignorado)"
    r"(?:[\s*_`]*$|[\s*_`]*[(（\[,;.:：→—–-]|[\s*_`]+(?:in|to|from|by|at|since|with|as|into|during|after|on|and|or|for|but)\s)|"
    r"(?:不存在|缺失|未作成|存在しない)(?!\w)|(?-i:[Оо]тсутствует|ОТСУТСТВУЕТ|[Нн]е существует|[Нн]е найден)[\s*_`.]*$|"
    r"(?:feat|fix|test|docs|refactor|chore|build|perf)(?:\([\w\s./,-]{1,40}\))?!?:\s)",
    re.IGNORECASE,
)
#: A condition for a file that may not be there yet: `create it if it does not exist`, `(or nearest existing test)`.
_HEDGED = lazy_pattern(
    r"\bcreate(?:\s(?:it|them|(?:the\s|this\s)?file))?\sif\s(?:it\s|they\s)?(?:do(?:es)?\snot\sexist|do(?:es)?n't\sexist|(?:is\s)?(?:missing|absent))|"
    r"\bif\s(?:it\s)?(?:does\snot\sexist|doesn't\sexist|(?:is\s)?missing|absent)\s?[,:]?\s(?:then\s)?create\b|"
    r"[(（]or\s(?:the\s)?(?:nearest|closest|equivalent|similar)\b|(?:如果|若)不存在[^|\n]{0,10}(?:创建|新建)|なければ(?:作成|新規)",
    re.IGNORECASE,
    ("create", "nearest", "closest", "equivalent", "similar", "不存在", "なければ"),
)
_TAKES_AWAY = lazy_pattern(r"[\s*_`]*+(?:create|delete|output)\b", re.IGNORECASE)
_CREATE_BEFORE = lazy_pattern(r"\bcreate\s(?:an?\s|the\s)?(?:new\s)?(?:file\s)?[`*_]{0,3}$", re.IGNORECASE, ("create",))
_INSTRUCTION = lazy_pattern(
    r"[\s*_`]*+(?:create|modify|update|edit|delete|output)[\s*_`]*+(?:$|[(（:：—–]|-\s)",
    re.IGNORECASE,
    ("create", "modify", "update", "edit", "delete", "output"),
)
_DELETES = lazy_pattern(
    r"[\s*_`🗑️❌-]*+(?:delete|remove|move|rename|löschen|entfernen|eliminar|borrar|supprimer|suppression|remover|excluir|削除|待?删除|待?移除|삭제|"
    r"重命名|改名|(?-i:[Уу]далить|УДАЛИТЬ|[Уу]дал[её]н|УДАЛ[ЕЁ]Н|[Пп]ереименовать|[Пп]ереместить|[Пп]еренести))"
    r"(?:\sthe\s(?:whole|entire)\sfile[.;][\s*_`]|"
    r"(?:\s(?:the\s(?:whole|entire)\s)?file)?(?:[\s*_`.]*$|\s?[(（—–]|\s(?:or|and|to|into)\s))",
    re.IGNORECASE,
)
#: What a row of a plan asks for: `Create the container`, `New — the types`. `Add a check` needs the file.
_CREATES_THING = lazy_pattern(
    r"[\s*_`]*+(?:create|(?-i:[Сс]оздать)|crear|créer|criar|creare|erstelle|新建|创建|作成)[\s*_`]++\S|"
    r"[\s*_`]*+new[\s*_`]*+[—–]|\s*+\*\*(?-i:NEW)\*\*|"
    r"[\s*_`]*+new\s(?:[\w-]{2,20}\s)?(?:directory|folder|tests?)\b|"
    r"\s*+\*\*(?-i:NEU|NUEVO|NOVO|NOUVEAU)\*\*\s*+(?:$|[—–-])",
    re.IGNORECASE,
)
#: `2 new (a.py, b.py)`, `new migration a.sql`; not `a new check in a.py`.
_NEW_BEFORE = lazy_pattern(
    r"\bnew\s?[(（:][^)）]{0,200}$|\b(?:new|nuev[oa]|nov[oa]|neue[rs]?|nouve(?:au|lle))\s"
    r"(?:(?!(?:in|of|for|to|from|at|into|on|by|via|with|and|or|en|em|de|da|do|na|no|para|im|dans|nel)\s)[\w-]{2,20}\s){0,2}[`*_\"']{0,3}$|"
    r"(?:新規|新建|新增|신규)\s?[:：]?\s?[`*_]{0,3}$",
    re.IGNORECASE,
    ("new", "nuev", "nov", "neue", "nouve", "新規", "新建", "新增", "신규"),
)
#: The label of a list of files that are to be created, at the start of a sentence: `Novo: `a.py`, `b.py``.
_NEW_LABEL = lazy_pattern(
    r"(?:^|[.;]\s++)[\s*_]*+(?:nuev[oa]s?|nov[oa]s?|neue?|nouve(?:aux?|lles?)|nuov[oa]|(?-i:[Нн]ов(?:ый|ая|ое|ые)))"
    r"[*_]{0,2}\s?:[*_]{0,2}\s?(?:`[^`\n]{1,100}`\s?[,+&/]\s?){0,6}[`*_\"']{0,3}$",
    re.IGNORECASE,
    ("nuev", "nov", "neu", "nouve", "nuov", "нов"),
)
_NEW_WORDS = ("new", "create", "planned", "nuev", "nov", "neu", "nouve", "新", "신규")
_NEW = lazy_pattern(
    r"[`*_]{0,3}\s?[(（\[]\s?(?:new|create|to be created|to create|planned|nuev[oa]|nov[oa]|neu|nouveau|新規|新建|"
    r"新增|新(?=\s?[)）\]])|신규)\b",
    re.IGNORECASE,
    _NEW_WORDS,
)
_ANY_MAKE_WORDS = tuple({*_MAKE_WORDS, *_NEW_WORDS})
_NEW_FILE = lazy_pattern(r"(?<![\w./@+-])([\w./@+-]++)[`*_]{0,3}\s?\((?:new|new file|to be created)[),]")
_CREATE = lazy_pattern(r"\b[Cc]reate[*_]{0,2}\s?[:：][\s*_`]{0,6}([\w./@+-]++)")
_MAX_BEFORE = 200
#: Words that state that the file next to them does not exist: `missing page`, `the file does not exist`.
_ABSENT_BEFORE = lazy_pattern(
    r"\b(?:missing|absent|non-?existent|nonexistent|inexistante?|fehlende[rsn]?|inexistente)\s"
    r"(?:(?:[\w-]{2,20}\s)?(?:files?|pages?|modules?|scripts?|tests?|routes?|folders?|templates?|migrations?|components?|"
    r"fichiers?|archivos?|arquivos?|dateie?n?)\s)?[`*_\"']{0,3}$|"
    r"(?-i:[Оо]тсутству\w{1,6}\s(?:файл\s)?|缺失的?|缺少的?|存在しない)[`*_\"']{0,3}$",
    re.IGNORECASE,
)
_NOT_THERE = (
    r"(?:does(?: not|n't) exist|is(?: not|n't) there|n'existe(?:nt)?|no existe|não existe|existiert nicht|non esiste)"
)
_ABSENT_AFTER = lazy_pattern(
    rf"[`*_)\]\"']{{0,4}}\s?(?:[—–:-]\s?|\(|which\s)?"
    rf"(?:{_NOT_THERE}\b|(?-i:не существует|отсутствует|不存在|[がは]存在しない))|"
    r"[`*_]{0,3}\s?[(（\[]\s?(?:absente?|missing|manquante?|ausente|fehlt|(?-i:не найден|缺失|未找到))\b",
    re.IGNORECASE,
)
_FILE = r"(?:file|fichier|archivo|fichero|arquivo|datei)"
_NO_FILE = lazy_pattern(
    rf"(?<!\bif\s)(?<!\bwhen\s)(?<!\bonce\s)(?<!\bsi\s)(?<!\bse\s)(?<!\bwenn\s)"
    rf"\b(?:(?:the|this|that|le|ce|el|este|o|die)\s{_FILE}\s(?:{_NOT_THERE}|is missing|fehlt)|"
    rf"(?:neither the|ni le|ni el|nem o|weder die)\s{_FILE}\s(?:nor|ni|nem|noch)|"
    r"(?-i:файл(?:а нет|\s(?:не существует|отсутствует))))\b|(?:文件|ファイル)[はが]?(?:不存在|存在しない)",
    re.IGNORECASE,
)
#: Any text that one of these patterns can match.
_MAY_BE_ABSENT = lazy_pattern(
    r"miss|absent|exist|fehl|isn.t there|is not there|esiste|manquant|ausente|"
    r"(?-i:тсутств|файл|существ|не найден|存在|缺|未找到)",
    re.IGNORECASE,
    (
        *("miss", "absent", "exist", "fehl", " there", "esiste", "manquant", "ausente"),
        *("тсутств", "файл", "существ", "не найден", "存在", "缺", "未找到"),
    ),
)
_MAX_AFTER = 200
#: What a file is moved to: `a/b.py` → `c/d.py`.
_MOVED_TO = lazy_pattern(r"[`*_)]{0,3}\s?(?:→|⇒|->|=>)\s?[`*_(]{0,3}([\w./@+-]++)")
#: The same as a remark: `a/b.py:12` (now `c/d.py`).
_NOW_AT = lazy_pattern(
    r"[`*_]{0,3}\s?[(（]\s?(?:is\snow|now|(?:was\s|since\s)?(?:moved|renamed)\sto)\s[`*_]{0,3}([\w./@+-]++)[`*_]{0,3}"
    r"(?=\s?[)）]|\s(?:in|on|by|with|since)\s[^()\n]{1,40}[)）])",
    re.IGNORECASE,
    ("now", "moved", "renamed"),
)

#: The end of a heading above a list of files. `Files to add validation to` is not such a heading.
_LIST_ENDS = r"(?:\s?(?:/|&|and|or)\s?(?:create|add|modify|change|update|edit|delete|remove)d?)?[\s*_]*(?:$|[(（:：])"
_FILES_TO_CREATE = lazy_pattern(
    rf"{LEAD}(?:new\sfiles\b[^\n]{{0,40}}\bcreates?\b|(?:planned|proposed|missing)\s(?:\w{{1,20}}\s)?files?\b|(?:planned|proposed)\sartifacts?\b|(?:\w{{1,20}}\s)?files?\s(?:to|(?:that|which)\swill)\s(?:be\s)?(?:created?|added|add){_LIST_ENDS}|"
    r"recommended additions?\b|要?(?:新建|新增|创建)的?文件|新規作成(?:する)?ファイル|"
    r"(?:fichiers?\s[àa]\s(?:cr[ée]er|ajouter)|(?:archivos?|ficheros?)\s(?:a|por)\s(?:crear|agregar|añadir)|"
    r"arquivos?\s(?:a|para)\s(?:criar|adicionar)|file\sda\screare|zu\serstellende\sdateien|"
    rf"(?-i:[Фф]айлы\sдля\sсоздания)|생성할\s?파일){_LIST_ENDS}|"
    r"à\scréer\s(?:par|dans|pour)\s[^\n]{1,60}$|(?:à\scréer|por\screar|a\scriar)[\s*_]*(?:$|[(（:：]))",
    re.IGNORECASE,
    (
        *("new", "to", "will", "planned", "proposed", "missing", "recommended addition", "文件", "ファイル", "fichier"),
        *("archivo", "fichero", "arquivo", "creare", "dateien", "файлы", "파일", "créer", "crear", "criar"),
    ),
)
#: The same, but not in a result or a review: `Missing components`, `A. Effort matrix`. `Missing component tests` is
#: about components that are there.
_FILES_TO_WRITE = lazy_pattern(
    rf"{LEAD}(?:(?:missing|unimplemented)\s(?:assets|modules|components)|缺失(?:文件|资产|组件|模块)|待实现|未実装|미구현|"
    r"(?:[A-Z]\.\s)?(?:implementation\s)?effort\s(?:matrix|estimates?)|(?:overview:\s)?what we(?:['’]re| are) building|"
    r"(?:(?:files|modules|components|features)\s)(?:not\s(?:yet\s)?implemented|to\sbe\simplemented)|"
    r"[^\n]{0,30}[(（](?-i:требуется для реализации)[)）])[\s*_]*(?:$|[(（:：])",
    re.IGNORECASE,
    (
        *("missing", "implemented", "effort", "building", "缺失", "待实现", "未実装", "미구현"),
        "реализации",
    ),
)
#: The same in a plan, for the files that it writes or changes: `File Structure`.
_FILES_OF_PLAN = lazy_pattern(
    rf"{LEAD}(?:(?:planned|proposed|target|new)\s)?(?:(?:file|module|folder|directory)\s(?:structure|layout|map|plan)|文件结构|"
    r"ファイル構成|파일\s?구조|estructura de archivos|estrutura de arquivos|structure des fichiers|dateistruktur|"
    r"(?-i:[Цц]елев(?:ая|ые)\s(?:[\w-]{1,20}[\s-])?(?:структура|модули)(?:\s(?:модулей|файлов|проекта|папок))?))"
    r"[\s*_]*(?:$|[(（](?!\s?(?:before|current|existing|today|now|old|(?-i:сейчас|текущ))))",
    re.IGNORECASE,
    (
        *("structure", "layout", "map", "plan", "文件结构", "ファイル構成", "구조", "estructura", "estrutura"),
        *("dateistruktur", "целев"),
    ),
)
#: A heading above a list of files that are to be deleted: `5.1 DELETE - Debug artifacts (14 files)`.
_FILES_TO_DELETE = lazy_pattern(
    rf"{LEAD}(?:(?:delete|remove)\s*(?:[:：(（—–]|-\s)[^\n]{{0,60}}?\b\d{{1,4}}\sfiles?\s*[)）]?\s*$|"
    rf"files?\sto\s(?:be\s)?(?:delete|remove)d?{_LIST_ENDS}|"
    rf"(?:delete|remove)\s(?:these|the\sfollowing|obsolete|unused|dead)\s(?:\w{{1,20}}\s)?files{_LIST_ENDS})",
    re.IGNORECASE,
    ("delete", "remove"),
)
#: A heading on one file that is to be deleted: `4.1 src/old.py — whole-file delete`, `[DELETE] src/old.py`.
_DELETED_FILE = lazy_pattern(
    rf"{LEAD}(?:\[(?:delete|remove)\]|(?:delete|remove)[:：]?)\s[`*\[]*+(?P<start>[\w./@+-]++)[`*\])]*+\s*$|"
    rf"{LEAD}[`*\[]*+(?P<end>[\w./@+-]++)[`*\]]*+\s*(?:[—–:：(（\[]|-\s)\s*"
    r"(?:(?:whole|entire)[- ]file\s)?(?:delete|deletion|remove|removal|to be (?:deleted|removed))\s*(?:$|[)）\],(（])",
    re.IGNORECASE,
    ("delet", "remov"),
)
_NEW_FILES = lazy_pattern(
    rf"{LEAD}(?:new\s(?:\w{{1,20}}\s)?files?\b|archivos nuevos|nuevos archivos|neue dateien|nouveaux fichiers|"
    r"novos arquivos|(?-i:[Нн]овые файлы)|新規ファイル|新文件|新增[^\n]{0,12}文件|생성되는\s?파일)|"
    r"[^\n]{0,60}\s[—–]\s(?:new(?:\sonly)?|新增|新建|신규)\s*(?:$|[(（])|"
    rf"{LEAD}(?:新增|新建|新規作成|신규)[\s*_]*+(?:$|[(（:：])|"
    r"[\s\d.]*+(?:in|for|under)\s[^\n]{1,60}[(（]new\s(?:\w{1,20}\s)?files?[)）][\s*_]*+(?:$|[:：])",
    re.IGNORECASE,
)


_MAX_LABEL = 60
_LABEL_END = lazy_pattern(r"[\s*_]*+(?:[(（]?[^()（）\n]{0,40}[)）])?[\s*_]*+[:：]?")


#: The end of a line above the parts that a file is to be split into.
_SPLIT = lazy_pattern(
    r"\b(?:suggested|proposed|recommended|possible)\s(?:\w{1,20}\s)?(?:split|decomposition)\b[^:：\n]{0,40}[:：][\s*_]*$",
    re.IGNORECASE,
    ("split", "decomposition"),
)
_MAX_SPLIT = 300


class ListedFiles(msgspec.Struct, frozen=True):
    """What headings and labels state about the files below them."""

    are_gone: bool
    are_new: bool
    are_to_be_deleted: bool
    #: The file that the heading itself wants to delete.
    deleted: str
    #: Whether they are the files of a plan: those that are not there are to be written, unless they are to be changed.
    are_of_plan: bool
    #: Whether they are the parts that a file is to be split into: their lines are those of that file.
    are_parts: bool
    #: Whether they are files of a plan that is still to be carried out, and the heading does not call them existing.
    may_be_new: bool


def listed_files(heading: str, kind: DocumentKind, *, are_gone: bool, above: str = "") -> ListedFiles:
    """Return what a heading of a text states about the files below it; `above`: it and the headings above it."""
    creates = _FILES_TO_CREATE.match(heading) or (kind.is_plan and _NEW_FILES.match(heading))
    creates = creates or (kind.reports_changes and _FILES_TO_WRITE.match(heading))
    file = _DELETED_FILE.match(heading)
    are_of_plan = kind.creates_files and _FILES_OF_PLAN.match(heading) is not None
    return ListedFiles(
        are_gone=are_gone,
        are_new=bool(creates),
        are_to_be_deleted=_FILES_TO_DELETE.match(heading) is not None,
        deleted=(file["start"] or file["end"]) if file else "",
        are_of_plan=are_of_plan,
        are_parts=False,
        may_be_new=are_of_plan or (kind.is_open_plan and not EXISTING_FILES.search(above)),
    )


def proposes_split(line: str) -> bool:
    """Return whether a line introduces the parts that a file is to be split into: `Suggested split:`."""
    return _SPLIT.search(line[-_MAX_SPLIT:]) is not None


def is_label_of_new_files(line: str) -> bool:
    """Return whether a whole line is a label above files that a plan creates: `New files:`, `**Files to create:**`."""
    text = line.strip().strip("*_")
    if not text.endswith((":", "：")) or len(text) > _MAX_LABEL:
        return False
    found = _FILES_TO_CREATE.match(text) or _NEW_FILES.match(text)
    return found is not None and _LABEL_END.fullmatch(text, found.end()) is not None


def is_instruction(cell: str) -> bool:
    """Return whether a cell states what is to be done with the file of its row, in the imperative: `CREATE`."""
    return _INSTRUCTION.match(cell) is not None


def asks_for_file(cell: str) -> bool:
    """Return whether an instruction in a cell creates or deletes the file of its row; `Modify` needs the file."""
    return is_instruction(cell) and _TAKES_AWAY.match(cell) is not None


def may_make_files(folded: str) -> bool:
    """Return whether a document, in lower case, may state that a file is to be created; if not, none does."""
    return has_word(folded, _ANY_MAKE_WORDS)


def makes_file(text: str, start: int, end: int, row: Iterable[str]) -> bool:
    """Return whether words around a path with a line, or a whole cell of its row, state that it is to be created."""
    if _NEW.match(text, end) or _CREATE_BEFORE.search(text[max(0, start - _MAX_BEFORE) : start]):
        return True
    return any(map(_MAKES.match, row))


def creates_file(cell: str) -> bool:
    """Return whether a cell states that the file of its row is to be created, or does not exist, perhaps."""
    return _CREATES.match(cell) is not None or _HEDGED.search(cell) is not None


def creates_thing(cell: str) -> bool:
    """Return whether a cell asks to create something, which may be the file of its row if the text is a plan."""
    return _CREATES_THING.match(cell) is not None


def deletes_file(cell: str) -> bool:
    """Return whether a cell states that the file of its row is to be deleted or moved: a plan may be carried out."""
    return _DELETES.match(cell) is not None


def is_new(text: str, start: int, end: int) -> bool:
    """Return whether the words around a path state that it is new: `2 new (a.py, b.py)`, `a.py (new)`."""
    return bool(_NEW.match(text, end) or _NEW_BEFORE.search(text[max(0, start - _MAX_BEFORE) : start]))


def follows_new_label(text: str, start: int) -> bool:
    """Return whether a path is in a list of files that a label calls new: `Novo: `a.py`, `b.py``."""
    return start <= _MAX_BEFORE and _NEW_LABEL.search(text[:start]) is not None


def may_call_absent(text: str) -> bool:
    """Return whether a text may state that a file does not exist."""
    return _MAY_BE_ABSENT.search(text) is not None


def is_called_absent(text: str, start: int, end: int, *, has_line: bool) -> bool:
    """Return whether the words around a path state that there is no such file. `may_call_absent` is true then.

    A missing file has no line, so `Missing test a.py:12` is about the line.
    """
    if not has_line and _ABSENT_BEFORE.search(text[max(0, start - _MAX_BEFORE) : start]):
        return True
    if _ABSENT_AFTER.match(text, end):
        return True
    return _NO_FILE.search(text, end, end + _MAX_AFTER) is not None


def created_files(text: str) -> frozenset[str]:
    """Return the paths that a text creates: `Create: src/app.py`."""
    return frozenset(found[1] for found in _CREATE.finditer(text)) if "reate" in text else frozenset()


def new_files(text: str) -> frozenset[str]:
    """Return the paths that a text calls new: `src/app.py` (new), Create: `src/app.py`."""
    called = {found[1] for found in _NEW_FILE.finditer(text)} if "new" in text else set[str]()
    return created_files(text) | called


def moved_to(text: str, end: int, *, has_line: bool = False) -> str:
    """Return the path that a path which ends at `end` is moved to, or an empty string.

    An arrow after a line may show a call: `a.py:12` → `b.py`.
    """
    found = _NOW_AT.match(text, end) or (_MOVED_TO.match(text, end) if not has_line else None)
    return found[1].rstrip(".") if found else ""

"""The words for code that a text proposes, for code as it is, and for code before a change, in several languages."""

from __future__ import annotations

import re

from remit.lazy import either, lazy_any, lazy_pattern

#: Marks, numbers and emoji before the first word of a label or heading.
LEAD = either(r"\s*_>#\-+\d.)§", "–—", r"\u2600-\u27bf\ufe0f", r"\U0001f300-\U0001faff") + "*+"
#: A word ends, and it is not the beginning of a file's name: `update.go`, `create-user.sh`.
WORD_ENDS = r"\b(?![./_-]\w)"
#: A recommendation, a fix, a solution and a proposal, by language. Folding the case of Cyrillic letters takes long.
_PROPOSALS = {
    "de": r"lösung(?:en|svorschl(?:ag|äge))?|(?:verbesserungs|korrektur)?vorschl(?:ag|äge)|alternativen?|"
    r"empfehlung(?:en)?|korrektur(?:en)?|behebung|maßnahmen",
    "fr": r"corrections?|correctifs?|propositions?|recommandations?|suggestions?",
    "es": r"soluci[óo]n(?:es)?|alternativas?|propuestas?|correcci[óo]n(?:es)?|recomendaci[óo]n(?:es)?|sugerencias?",
    "pt": r"solu[çc](?:[ãa]o|[õo]es)|corre[çc](?:[ãa]o|[õo]es)|propostas?|recomenda[çc](?:[ãa]o|[õo]es)|"
    r"sugest(?:[ãa]o|[õo]es)",
    "it": r"soluzion[ei]|correzion[ei]|propost[ae]|raccomandazion[ei]|suggeriment[oi]",
    "nl": r"oplossing(?:en)?|aanbeveling(?:en)?|voorstel(?:len)?|suggesties?|correcties?",
    "pl": r"rozwiązani[ea]|poprawk[ai]|rekomendacj[ae]|zaleceni[ae]|propozycj[ae]|sugesti[ae]",
    "ru": r"(?-i:[Рр]ешени[ея]|РЕШЕНИ[ЕЯ]|[Ии]справлени[ея]|ИСПРАВЛЕНИ[ЕЯ]|[Пп]редложени[ея]|ПРЕДЛОЖЕНИ[ЕЯ]|"
    r"[Рр]екомендаци[ия]|РЕКОМЕНДАЦИ[ИЯ]|[Аа]льтернатив[аы])",
    "uk": r"(?-i:[Рр]ішення|РІШЕННЯ|[Вв]иправлення|ВИПРАВЛЕННЯ|[Пп]ропозиці[яї]|[Рр]екомендаці[яї]|РЕКОМЕНДАЦІ[ЯЇ])",
    "tr": r"çözüm(?:ler)?|düzeltme(?:ler)?|öneri(?:ler)?|tavsiye(?:ler)?",
    "vi": r"giải pháp|đề xuất|khuyến nghị|gợi ý|cách (?:sửa|khắc phục)",
    "id": r"solusi|perbaikan|rekomendasi|saran|usulan",
}
ANY_PROPOSAL = "|".join(_PROPOSALS.values())
#: The code after a change, as a label.
_AFTERWARDS = (
    r"nachher|après|después|depois|dopo|daarna|(?-i:[Пп]осле|ПОСЛЕ|[Сс]тало|[Пп]ісля)|sonra|sau(?: khi sửa)?|"
    r"sesudah|setelah"
)
#: What comes before such a word: `Vorgeschlagene Lösung`, `Önerilen düzeltme`.
PROPOSED_BEFORE = (
    r"(?:vorgeschlagene[rn]?|empfohlene[rn]?|konkrete[rn]?|mögliche|posible|possível|aanbevolen|voorgestelde|proponowane|"
    r"zalecane|sugerowane|önerilen|(?-i:[Пп]редлагаем|[Рр]екомендуем|[Вв]озможн|[Рр]екомендован|[Зз]апропонован)\w{2})"
)
WORDS_BEFORE = (
    *("vorgeschlagene", "empfohlene", "konkrete", "mögliche", "posible", "possível", "aanbevolen", "voorgestelde"),
    *("proponowane", "zalecane", "sugerowane", "önerilen", "редлагаем", "екомендуем", "озможн", "екомендован"),
    "апропонован",
)
_WORDS_AFTER = r"(?:\s(?!src|lib)\w{1,20}){0,2}"
_FOREIGN = rf"(?:{PROPOSED_BEFORE}\s)?(?:{ANY_PROPOSAL}|{_AFTERWARDS}){_WORDS_AFTER}"
#: Dutch, in a separate expression: `Internal` and `External` contain it.
ERNA = rf"erna{_WORDS_AFTER}"
PROPOSED_ERNA = rf"{PROPOSED_BEFORE}\serna{_WORDS_AFTER}"
#: An example in the same languages.
FOREIGN_EXAMPLES = (
    r"ejemplos?|exemplos?|exemples?|esempi[oi]?|beispiele?|voorbeeld(?:en)?|przykład(?:y|owy)?|"
    r"(?-i:[Пп]ример\w?|[Пп]риклад\w?)|örnek(?:ler)?|ví dụ|contoh|例子?|示例|样例|サンプル|예시|예제"
)
#: What a remark after a location calls code that is to be written: `// src/app.ts - corrigido`.
CORRECTED = (
    r"korrigiert|verbessert|neu|behoben|vorgeschlagen|corrigée?|proposée?|nouveau|modifiée?|corregid[oa]|propuest[oa]|"
    r"sugerid[oa]|nuev[oa]|corrigid[oa]|propost[oa]|nov[oa]|atualizad[oa]|corrett[oa]|aggiornat[oa]|nuov[oa]|"
    r"gecorrigeerd|voorgesteld|nieuw|poprawion[eya]|nowy|"
    r"(?-i:[Ии]справлен\w{0,2}|[Вв]иправлен\w{0,2}|[Пп]редлагаем\w{0,2}|[Нн]ов\w{2})|düzeltilmiş|yeni|đã sửa|"
    r"sau khi sửa|mới|diperbaiki|baru|(?:修正|変更|改善)(?:後|版|案)|(?:修改|修复|优化|改进)后|建议|新增|"
    r"(?:수정|변경)\s?후|개선안"
)
#: A part of each of them.
CORRECTED_WORDS = (
    *("korrigiert", "verbessert", "neu", "behoben", "vorgeschlagen", "corrig", "propos", "nouveau", "modifi"),
    *("corregid", "propuest", "sugerid", "nuev", "nov", "atualizad", "corrett", "aggiornat", "nuov", "gecorrigeerd"),
    *("voorgesteld", "nieuw", "poprawion", "nowy", "справлен", "виправлен", "редлагаем", "ов", "düzeltilmiş"),
    *("yeni", "sửa", "mới", "diperbaiki", "baru", "修", "変更", "改", "优化", "建议", "新增", "수정", "변경", "개선안"),
)
#: The code before and after a change, as a title: `// Vorher`, `# После`.
BEFORE_WORDS = (
    r"vorher|alt|avant|ancien|antes|prima|vecchio|oud|voorheen|przed|stary|(?-i:[Дд]о|[Бб]ыло|БЫЛО|[Бб]уло|[Рр]аніше)|önce|"
    r"eski|trước|cũ|sebelum|lama|(?:修改|修正|修复|变更|変更|优化|改善|改进|重构)前|改前|之前|原来|旧代码|旧コード|原代码|旧|"
    r"이전|기존|(?:수정|변경|개선)\s?전"
)
AFTER_WORDS = (
    r"nachher|neu|après|nouveau|después|depois|nuevo|novo|dopo|nuovo|nieuw|daarna|potem|nowy|"
    r"(?-i:[Пп]осле|[Сс]тало|СТАЛО|[Пп]ісля)|sonra|yeni|sau|mới|sesudah|setelah|baru|"
    r"(?:修改|修正|修复|变更|変更|优化|改善|改进|重构)[后後]|改后|之后|新代码|新コード|新|이후|(?:수정|변경|개선)\s?후"
)
ENGLISH_NOUNS = r"fix(?:ed|es)?|solutions?|recommendations?|remediations?|mitigations?|suggestions?|proposals?|after"
OTHER_NOUNS = (
    rf"(?:{_FOREIGN}|c[óo]digo\s(?:propuesto|sugerido|corregido|proposto|corrigido|recomendado)|"
    r"(?:acci[óo]n|a[çc][ãa]o|implementaci[óo]n|implementa[çc][ãa]o|cambio|mudan[çc]a)\s(?:recomendad|propuest|propost|sugerid)[oa]|"
    r"(?:code|solution)\s(?:proposée?|corrigée?|suggérée?)|(?-i:[Пп]редлагаемый\sкод)|"
    r"(?:修正|変更|改善)(?:案|後|例|方法|コード)|修正|改善|対策|推奨|提案|解决方案|"
    r"(?:建议|修复|改进|优化)(?:方案|建议|代码|修改|修复|做法|方法|后)?|修改(?:方案|建议|后)|"
    r"대안(?:\s?\d)?|제안|(?:수정|개선|해결)\s?방안|(?:수정|개선)(?:안|\s?후)?|변경\s?후|권장|"
    r"(?:ال)?(?:إصلاح\w{0,3}|حلول?|اقتراح\w{0,3}|توصيات?)(?:\s(?:ال)?مقترح\w{0,3})?)"
)
_ENGLISH_KINDS = (
    r"(?:(?:suggested|recommended|proposed|possible|secure|safer?|correct(?:ed)?|better|improved|fixed|new|expected|"
    r"desired|target|alternative|planned)\s\w{1,20}(?:\s\w{1,20})?|patch|replacement|corrected|exploit|attack|payload|"
    r"poc|proof of concept|request|response|output|suggested|recommended|proposed|should be|instead|"
    r"changes?(?: required| needed)?|modifications?|implementation|refactor(?:ed|ing)?|improvements?|alternatives?|"
    r"(?:usage\s)?examples?(?:\s(?:usage|fix|implementation|solution|code))?|usage|template|sketch|pseudo-?code|"
    rf"{ENGLISH_NOUNS})"
)
_OTHER_KINDS = (
    r"(?:mudan[çc]as?|altera[çc][õo]es|cambios?|modificaciones|änderung(?:en)?|changements?|modifiche|wijzigingen|zmiany|"
    r"(?-i:[Ии]зменени[ея])|değişiklikler|perubahan|変更(?:点|内容)|变更(?:内容)?|"
    rf"{FOREIGN_EXAMPLES}|{OTHER_NOUNS})"
)
#: Words of which labels and headings of proposals have one: without them, their expressions are not compiled.
ENGLISH_WORDS = (
    *("after", "example", "fix", "mitigation", "new", "planned", "proposal", "proposed", "recommendation"),
    *("recommended", "remediation", "solution", "suggested", "suggestion", "alternative"),
)
OTHER_WORDS = (
    *("aanbeveling", "alternativ", "après", "behebung", "corre", "corrig", "cách ", "daarna", "depois", "después"),
    *("recomendad", "propuest", "sugerid", "suggér", "digo", "dopo", "düzeltme", "empfehlung", "giải pháp", "gợi ý"),
    *("khuyến nghị", "korrektur", "lösung", "maßnahmen", "nachher", "oplossing"),
    *("perbaikan", "poprawk", "proposition", "proposé", "propost", "propozycj"),
    *("propuesta", "raccomandazion", "recomenda", "recommandation"),
    *("rekomendacj", "rekomendasi", "rozwiązani", "saran", "sau", "sesudah", "setelah"),
    *("solu", "sonra", "sugerencia", "sugest", "suggeriment", "suggestie", "suggestion"),
    *("tavsiye", "usulan", "voorstel", "vorschl", "zaleceni", "çözüm", "öneri", "đề xuất", "альтернатив"),
    *("виправлення", "исправлени", "после", "предлагаемый", "предложени", "пропозиці", "після"),
    *("рекомендаци", "рекомендаці", "решени", "рішення", "стало"),
    *("优化", "修复", "修改", "修正", "変更", "対策", "建议"),
    *("推奨", "提案", "改善", "改进", "解决方案", "개선", "권장", "대안", "변경", "수정", "제안", "해결"),
    *("إصلاح", "حل", "اقتراح", "توصي"),
)
EXAMPLE_WORDS = (
    *("beispiel", "contoh", "ejemplo", "esempi", "exemple", "exemplo", "przykład", "voorbeeld", "ví dụ", "örnek"),
    *("при", "サンプル", "例", "样例", "예시", "예제"),
)
#: The label of proposed code, or of the input or output of a program: `**Suggested fix** (...):`.
_LABEL_START = rf"{LEAD}(?:正しい|正确的?|具体的な?|推奨される|推荐的|建议的)?"
_LABEL_END = r"[\s*_]{0,4}(?:[(（].{0,120}?[)）][\s*_]{0,4})?(?:[:：]|$)"
_PROPOSED_LABELS = (
    lazy_pattern(
        rf"{_LABEL_START}{_ENGLISH_KINDS}{_LABEL_END}",
        re.IGNORECASE,
        (
            *ENGLISH_WORDS,
            *("attack", "better", "change", "correct", "desired", "expected", "exploit", "implementation", "improved"),
            *("improvement", "instead", "modification", "output", "patch", "payload", "poc", "possible"),
            *("proof of concept", "pseudo", "refactor", "replacement", "request", "response", "safe", "secure"),
            *("should be", "sketch", "target", "template", "usage"),
        ),
    ),
    lazy_pattern(
        rf"{_LABEL_START}{_OTHER_KINDS}{_LABEL_END}",
        re.IGNORECASE,
        (
            *OTHER_WORDS,
            *EXAMPLE_WORDS,
            *("mudan", "altera", "cambio", "modificaciones", "änderung", "changement", "modifiche", "wijzigingen"),
            *("zmiany", "изменени", "değişiklikler", "perubahan", "变更"),
        ),
    ),
    lazy_pattern(rf"{_LABEL_START}{ERNA}{_LABEL_END}", re.IGNORECASE, ("erna",)),
    lazy_pattern(rf"{_LABEL_START}{PROPOSED_ERNA}{_LABEL_END}", re.IGNORECASE, WORDS_BEFORE),
)
PROPOSED_LABEL = lazy_any(*_PROPOSED_LABELS)
#: An entry of a list that is an order, alone in its line: `1. **Add the network configuration**`.
ORDERED_ENTRY = lazy_pattern(
    r"\s*+(?:\d{1,2}[.)]|[-*+])\s+\*\*(?:add|enable|implement|create|configure|introduce|replace|update|remove|disable|set\sup|"
    rf"install){WORD_ENDS}[^*\n]{{1,80}}\*\*[:：]?\s*$",
    re.IGNORECASE,
    (
        *("add", "enable", "implement", "create", "configure", "introduce", "replace", "update", "remove", "disable"),
        *("set", "install"),
    ),
)
#: One of them that also introduces code as it is: `**Implementation**:`.
NEUTRAL_LABEL = lazy_pattern(
    rf"{LEAD}(?:implementation|implementaci[óo]n|implementa[çc][ãa]o|实现|実装)[\s*_]{{0,4}}(?:[:：]|$)",
    re.IGNORECASE,
    ("implementa", "实现", "実装"),
)
#: The form of such a label, which takes a tenth of the time to compile: words up to a colon, a bracket or the end.
LABEL_FORM = lazy_pattern(rf"{LEAD}(?:[\w\s*]|-(?=[Cc]))++(?:[(:]|（|：|$)")
#: A bold label with `fix` or `changes` in it, or an alternative: `**Root-cause fix:**`, `**Option A:**`.
FIX_LABEL = lazy_pattern(
    r"[\s>\-+\d.)]*+\*\*(?:[^*\n]{0,40}\b(?:fix|fixes)\b(?!ed)[^*\n]{0,30}|"
    r"(?:option|alternative|approach)\s\w{1,3}\b[^*\n]{0,40}|"
    r"(?:opción\s|opção\s|(?:옵션|选项|オプション)\s?)(?-i:\d|[A-Z])\b[^*\n]{0,40}|"
    r"[^*\n]{0,40}\b(?:changes|modifications)[:：]?|(?-i:[Ии]справить|[Зз]аменить|[Дд]обавить)\s[^*\n]{1,60}|"
    r"(?:step|task|phase|paso|passo|schritt)\s\d{1,2}[a-z]?\s?[:：.–—-]\s*(?:implement|add|create|update|replace|fix|wire|"
    r"extract|modify|remove|write|corregir|agregar|añadir|implementar|crear)\b[^*\n]{0,80})\*\*",
    re.IGNORECASE,
    (
        *("fix", "option", "opción", "opção", "옵션", "选项", "オプション", "alternative", "approach", "changes"),
        *("modifications", "step", "task", "phase", "pas", "schritt", "справить", "аменить", "обавить"),
    ),
)
#: An instruction that introduces code, an introduction of proposed and one of existing code: each ends with a colon.
LINE_ENDS_WITH_COLON = lazy_pattern(r".*[:：][\s*_]{0,4}$", re.DOTALL, (":", "："))
#: `Then add this to src/app.py:`, `After line 12, insert:`
_LINE_END = r"[:：][\s*_]{0,4}$"
INSTRUCTION = lazy_pattern(
    rf"{LEAD}(?:\*\*)?(?:(?:then|now|next|first|second|third|finally|also|please|and|instead|step \d{{1,2}}|you|we|i|"
    r"can|could|should|must|would|will|to|let's|let us)[,:]?\s){0,4}"
    r"(?:add|create|implement|introduce|replace|change|update|use|write|insert|modify|extract|rename|"
    rf"wrap|define|append|prepend|consider|switch|convert|refactor|rewrite|configure|enable|register|adjust|"
    rf"añadir|agregar|reemplazar|cambiar|usar|ajouter|remplacer|utiliser|adicionar|substituir|alterar|ersetzen|ändern|"
    rf"(?-i:[Дд]обавить|[Зз]аменить|[Ии]зменить)){WORD_ENDS}[^\n]{{0,200}}{_LINE_END}|"
    rf"[^\n]{{0,200}}[,.;]\s(?:then\s)?(?:add|insert|replace|append|prepend|handle|extend)\b[^\n]{{0,200}}{_LINE_END}|"
    rf"[^\n]{{0,200}}[.;]\s(?:use|create|define|configure|introduce|implement)\s[^\n]{{0,100}}{_LINE_END}|"
    r"[^\n]{0,200}\b(?:would|should|could|might|must) (?:then )?(?:be|become|look like|read)(?: this)?"
    rf"{_LINE_END}",
    re.IGNORECASE,
)
#: The beginning of a line that introduces proposed code, or the output of a program.
INTRODUCTION = lazy_pattern(
    rf"{LEAD}(?:(?:the|a|an)\s)?(?:proposed|suggested|recommended|planned|possible|corrected|improved|new version|"
    r"(?:(?:expected|actual|sample|example|test|console|terminal|command|program)\s)?(?:output|stdout|stderr|traceback|"
    rf"stack ?trace)|出力(?:例|結果)?|输出){WORD_ENDS}[^\n]{{0,200}}[:：][\s*_]{{0,4}}$|"
    r"[^\n]{0,200}\b(?:prints|outputs|logs)[:：][\s*_]{0,4}$|"
    r"(?:[^\n]{0,200}[.;]\s)?should provide[:：][\s*_]{0,4}$|"
    r"[\s*_>-]*+new\s[\w\s-]{1,40}\sto\s(?:add|create|write|implement)[:：][\s*_]{0,4}$|"
    r"[^\n]{0,120}[(（](?:to be (?:added|created|written|implemented)|proposed|planned|hypothetical|suggested|"
    r"recommended|not yet implemented|illustrative|conceptual|pseudo-?code|sketch)[)）][\s*_]{0,4}[:：][\s*_]{0,4}$|"
    r"[^\n]{0,200}(?:示例|例如|样例|参考实现|サンプル|記述例|使用例|예시|复制[^\n]{0,60}到[^\n]{0,60})[\s*_]{0,4}[:：][\s*_]{0,4}$",
    re.IGNORECASE,
)
#: A part of each word that asks for a change in a heading.
CHANGING_WORDS = (
    *("add", "creat", "implement", "introduce", "replace", "extract", "refactor", "migrate", "update", "modif"),
    *("change", "adjust", "remove", "customi", "increase", "decrease", "disable", "enable", "rename", "convert"),
    *("wire", "agregar", "añadir", "crear", "reemplazar", "adicionar", "criar", "substituir", "ajouter"),
    *("remplacer", "ersetzen", "hinzufügen", "обавить", "аменить", "зменить"),
)
_CLEAR_CHANGE = r"(?:add|insert|append|prepend|replace|extend|pass|remove|delete|rename|move|emit|wrap)"
#: A change that a text asks for in other languages, before a location: `修改 src/app.py:12`, `Ändern in src/app.py:12`.
_CHANGE_VERBS = (
    r"(?:修改|更改|更新|替换|调整|编辑|变更|変更|修正|置換|수정|변경|교체|추가|ändern?|ersetzen?|anpassen|modifier|remplacer|"
    r"corriger|modificar|reemplazar|cambiar|corregir|alterar|substituir|corrigir|modificare|sostituire|correggere|"
    r"wijzig(?:en)?|vervang(?:en)?|zmień|zmienić|zamień|popraw|değiştir|güncelle|düzelt|sửa|thay thế|cập nhật|ubah|"
    r"ganti|perbaiki|(?-i:[Ии]зменить|[Зз]аменить|[Ии]справить|[Зз]мінити|[Зз]амінити|[Вв]иправити))"
    r"(?:\s?(?:文件|ファイル|파일)|\s(?:in|im|dans|en|em|no|na|nel|w|в|у|trong|di|le|la|el|o|il|das|die|den|het|datei|fichier|"
    r"archivo|arquivo|file|bestand|plik|tệp|(?-i:файл\w?)))"
    "{0,3}"
)
#: A clause that asks for a change, and words for code that is not an excerpt: `the loop (line 9), pass `x` to ...:`.
ASKS_FOR_CHANGE = lazy_pattern(
    rf"(?:(?:^{LEAD}|[:：]\**\s|\s[—–-]\s|[.;]\s|\*\*\s)(?:(?:then|now|and|also)\s)?"
    rf"(?:{_CLEAR_CHANGE}|empty|simplify|drop|inline|swap|merge|split|change|update|wrap|extract|introduce|create|define|"
    rf"modify)|,\s(?:(?:then|and|also)\s)?{_CLEAR_CHANGE})\s(?:`|(?:the|an?|this|these|all|its?|new|any|each|every|both|"
    rf"to|from|into|in|after|before)\b)|^{LEAD}implementation\s(?:pattern|approach)\b|`x`\s(?:pattern|style)\b|"
    rf"\b(?:sketch|skeleton|replacing|conceptual)\b|(?:^{LEAD}|[:：.]\**\s)you must enable\s[^\n;,]{{1,80}}[:：]\s*$|"
    rf"\bbecomes[\s*_]{{0,4}}[:：]|\bnew version of\b|^{LEAD}[\w\s-]{{1,40}} pattern\*\*\s?[(（]|"
    r"\b(?:spec|specification|design|documentation|docs|plan|rfc|contract)\s(?:[\w`./-]{1,40}\s)?(?:says?|requires?|"
    r"specif(?:y|ies)|calls? for|shows?|defines?|states?|expects?|wants?)\b|"
    rf"^[-*+]\s\[[xX]\]\s|^{LEAD}(?:updated|revised|rewritten)\b|"
    rf"^{LEAD}(?:at|in)\s`x`[^\n]{{0,20}},\s(?:before|after|right|just|directly)\b|"
    rf"^{LEAD}(?:edit|modify|editar|modificar|modifier|bearbeiten|ändern)[\s*_]{{0,4}}[:：]|"
    r"(?:^|[:：]\**\s|[.;]\s|\*\*\s)(?-i:Add|Insert|Append|Prepend|Replace|Wrap|Добавить|Заменить|Изменить|Agregar|Añadir|"
    r"Reemplazar|Adicionar|Substituir|Ajouter|Remplacer)\s\S|"
    r"\b(?:after|before|near|next to) the (?:existing|\w{1,20} block)\b|"
    r"(?:新增|增加|添加|追加|增一个|改为|改成|替换为|扩展为|引入|加上|补上)[^\n]{0,60}[:：]\s*$|"
    rf"^{LEAD}{_CHANGE_VERBS}\s?[:：]?\s?[*_]{{0,2}}(?:`x`|\[|[\w./\-]{{1,200}}\.\w{{1,8}}\b)",
    re.IGNORECASE,
    (
        *CHANGING_WORDS,
        *("insert", "append", "prepend", "extend", "pass", "delet", "mov", "emit", "empty", "simplify", "drop"),
        *("inline", "swap", "merge", "split", "wrap", "defin", "edit", "revised", "rewritten", "becomes", "pattern"),
        *("style", "sketch", "skeleton", "conceptual", "new version of", "[x]", "spec", "design", "doc", "replacing"),
        *("plan", "rfc", "contract", "before", "after", "near", "next to", "right", "just", "directly", "you "),
        *("增", "添加", "追加", "改为", "改成", "替换", "扩展为", "引入", "加上", "补上", "修改", "更改", "更新"),
        *("调整", "编辑", "变更", "変更", "修正", "置換", "수정", "변경", "교체", "추가", "änder", "ersetz"),
        *("bearbeiten", "corrig", "cambiar", "corregir", "alterar", "sostituire", "correggere", "wijzig", "vervang"),
        *("zmie", "zamień", "popraw", "değiştir", "güncelle", "düzelt", "sửa", "thay thế", "cập nhật", "ubah", "ganti"),
        *("anpassen", "perbaiki", "справить", "мінити", "иправити"),
    ),
)
#: A line that introduces code as it is: `src/app.py:8 currently says:`
INTRODUCES_EXISTING = lazy_pattern(
    r"[^\n]{0,200}\b(?:current(?:ly)?|(?<!near the )(?<!after the )(?<!before the )(?<!with the )(?<!to the )"
    r"(?<!like the )(?<!in the )existing|today|as[- ]is|now (?:says|reads|has|is|looks)|original(?:ly)?|"
    r"at present)\b[^\n]{0,120}[:：][\s*_]{0,4}$|[^\n]{0,120}(?:現在|現状|目前|当前|现有)[^\n]{0,120}[:：][\s*_]{0,4}$",
    re.IGNORECASE,
)
#: Words for code as it is, in a label or heading: `**Current state:**`.
CURRENT = lazy_pattern(
    r"\b(?:(?:current|existing|today|as[- ]is)\b|actual|actuel|aktuell|attual|atual|(?-i:[Тт]екущ))|"
    r"現在|現状|当前|目前|现有|현재|기존",
    re.IGNORECASE,
    (
        *("current", "existing", "today", "as", "actual", "actuel", "aktuell", "attual", "atual", "екущ"),
        *("現在", "現状", "当前", "目前", "现有", "현재", "기존"),
    ),
)
#: Labels that state a location and nothing else; the heading above them decides.
LOCATION_LABEL = lazy_pattern(rf"{LEAD}(?:files?|location|path|where|at|lines?|ファイル|文件)\b", re.IGNORECASE)

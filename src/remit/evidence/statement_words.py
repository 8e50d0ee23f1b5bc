"""The words that make a sentence a statement about finished work, and those that make it none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from remit.evidence.model import Act
from remit.lazy import lazy_pattern

_I = re.IGNORECASE
#: Languages that name their runner.
RUNNERS_OF_LANGUAGES = {"go": "go test", "rust": "cargo test"}

# What is not a statement

#: A heading or label: what follows is to be done, or how it is done.
_PLAN = lazy_pattern(
    r"\b(?:next steps?|plan(?:ned)?|to-?dos?|recommend\w*|suggest\w*|propos\w*|how to|instructions?|usage|remaining|"
    r"follow[- ]ups?|future|ideas?|options?|roadmap|acceptance criteria|requirements?|examples?|optional"
    r"|not done|open|"
    r"what you (?:can|should|need)|(?:please|before you)|steps? to)\b|"
    r"下一步|计划|建议|待办|方案|流程|后续|示例|验收|次のステップ|予定|提案|今後|推奨|手順|例",
    _I,
)
TESTS_HEADING = lazy_pattern(r"\b(?:tests?|testing|verification|verified|validation)\b|テスト|検証|测试|验证", _I)
#: Before a predicate or a verb, in the same part of the sentence.
_BLOCKED_BEFORE = lazy_pattern(
    r"\b(?:will|would|should|could|can|cannot|may|might|must|shall|to|not|never|no longer|hardly|"
    r"if|once|when|whenever|until|till|unless|before|whether|assuming|provided|in case|as long as|as soon as|"
    r"need(?:s|ed)?|want(?:s|ed)?|let|let's|please|(?<!as )expect(?:s|ed)?|supposed|hopefully|likely|probably|ideally|"
    r"going to|in order|require[sd]?|lets?|make|makes|making|ensure[sd]?|ensuring|try|trying|tried|unable"
    r"|fail(?:s|ed)? to|"
    r"have yet|without \w+ing|instead of|rather than|a test that|tests that|code that|anything that|"
    r"nothing|none|neither|no (?:files?|tests?|code|commits?|changes?)|example|hypothetical\w*)\b"
    r"|n['’]t\b|['’]ll\b|['’]d\b",
    _I,
)
#: Anywhere before it: the words of others, a goal.
_BLOCKED_FAR = lazy_pattern(
    r"\b(?:CI|READMEs?|docs|documentation|users?|you|they|he|she|maintainers?|authors?|reporters?|issues?"
    r"|tickets?|comments?|"
    r"(?:commit )?messages?|descriptions?|changelog|team|customers?|reviewers?|someone|somebody|people|contributors?|"
    r"workflow|pipeline|upstream)\b[^,;.]{0,40}?\b(?:says?|said|claim(?:s|ed)?|report(?:s|ed)?|states?|stated|wrote|"
    r"writes|mention(?:s|ed)?|told|tells|expects?|confirm(?:s|ed)?|shows?|promises?|assumes?|thinks?|believes?)\b|"
    r"\baccording to (?!(?:the |its |my |this )?(?:\w+ )?(?:output|results?|runs?|summary|report|`|pytest|jest)\b)|"
    r"\b(?:goal|aim|idea|point|intention|acceptance criteri\w+|requirement|definition of done|condition"
    r"|expectation) (?:is|was|are)\b|"
    r"\b(?:so that|such that|to ensure|to make sure|to see (?:if|whether)|to check (?:if|whether|that)"
    r"|to verify|to confirm|"
    r"(?:let me|let['’]s|i['’]ll|i will|need to|should|going to|want to)\b[^.;]{0,80}?\bso(?: that)?|"
    r"make sure|be sure|check whether|check that|verify that|see if|see whether|could not|couldn['’]t|cannot"
    r"|can['’]t|"
    r"not able|unable|not been able|imagine|suppose|assume|say that|plan is)\b"
    r"|^\W{0,4}exit (?:code |status )?\d"
    r"|\b(?:you|they)(?: (?:\w+ )?(?:ran|re-?ran|tested)|(?:['’]ve| have) (?:\w+ )?run)\b"
    # A condition before the comma: `After the check passes, all tests pass`, and not `After I corrected it, all pass`.
    r"|^\W{0,4}(?:if|unless|assuming|provided|as long as) you\b[^,;]{1,120},[^;]*$"
    r"|^\W{0,4}(?:after|once|when|as soon as)\b[^,]{1,120}\b(?:passes|succeeds)\b[^,]{0,60},[^;]*$"
    r"|^\W{0,4}(?:plan|the plan|todo|next|goal|expected|acceptance|criteria|usage|example)\b[^:：]{0,30}[:：]",
    _I,
)
#: After it: it depends on something, or is about all cases.
_BLOCKED_AFTER = lazy_pattern(
    r"^\s{0,2}(?:the option|only if|if you|if the|once you|when you|whenever|unless|on (?:one|your"
    r"|their) machine|in CI only)\b",
    _I,
)
#: After a verb: it is what a program does each time.
_TIMELESS = lazy_pattern(r"\bat (?:build|compile|run|load|install|start)[- ]?(?:time|up)\b|\b(?:each|every) time\b", _I)
_UNTIL_COMMA = lazy_pattern(
    r"[,;，、；。]|\s[—–-]\s|\s—|\b(?:but|however|although|though|while|which|so|because|therefore|and then)\b", _I
)
_AND = lazy_pattern(r"\band\b|&|并且|并|及び", _I)
#: Chinese and Japanese: before and after it, in the same part.
_BLOCKED_CJK_BEFORE = lazy_pattern(
    r"如果|若(?!干)|一旦|^\W*(?:验证|确认)(?![了完过结])|应该?|应当|将(?!.{0,12}(?:了|已))|会(?![话议])|可以|可能|需要|必须|请|让我|建议|打算|计划|想要|未|没(?!有(?:任何)?(?:错|失|问))|尚|"
    r"不(?!仅|但)|是否|能否|确保|以便|等(?:到)?.{0,6}(?:通过|完成)后?|据说|显示|声称|报告说|文档说|说明|CI|用户|他们|你|您|当.{0,10}时|"
    r"もし|仮に|これから|次に|まだ|によると|ユーザー|ドキュメント|あなた",
)
_BLOCKED_CJK_AFTER = lazy_pattern(
    r"^ら|^[^。、，；\n]{0,24}?(?:たら|れば|なら|場合|はず|べき|予定|つもり|ください|必要|でしょう|だろう|かもしれ|かどうか|ように|ために|まで|前に|"
    r"とのこと|そうです|らしい|ていません|ていない|ません(?!。?$.{0})|ない(?!こと)|ますか|ですか|ましょう|たい|"
    r"吗|呢[？?]|之后[，,]?我|后再|后[，,]?(?:我|就|再|即可)|之前|的话|与否|即可|的情况)"
)

# Runs

_TEST_PROGRAMS = (
    r"py\.?test|unittest|jest|vitest|mocha|jasmine|karma|cypress|playwright|rspec|minitest|phpunit|pest|ctest"
    r"|bats|prove|"
    r"nextest|cargo test|go test|npm test|npm run test\S*|yarn test|pnpm test|make test|make check|tox|nox|mvn test|"
    r"go(?= (?:unit |integration )?tests?\b)|rust(?= (?:unit |integration )?tests?\b)|gradle test|dotnet test"
    r"|swift test|mix test|bun test|deno test|node --test|busted|behave"
)
_LINTERS = (
    r"ruff|eslint|flake8|pylint|black|prettier|biome|stylelint|clippy|cargo clippy|golangci-lint|rubocop|shellcheck|"
    r"ktlint|detekt|swiftlint|phpstan|psalm|npm run lint|oxlint|isort|bandit|go vet|gofmt|cargo fmt"
    r"|markdownlint|pre-commit"
)
_TYPE_PROGRAMS = r"mypy|pyright|basedpyright|tsc|vue-tsc|svelte-check|npx tsc|npm run typecheck"
_BUILDERS = (
    r"cargo build|cargo check|go build|npm run build|yarn build|pnpm build|pnpm run build|yarn run build"
    r"|make build|make|vite build|"
    r"next build|webpack|gradle build|mvn package|dotnet build|docker build|swift build|cmake --build"
)
PROGRAM = lazy_pattern(rf"(?:{_TEST_PROGRAMS}|{_LINTERS}|{_TYPE_PROGRAMS}|{_BUILDERS})", _I)
SUBJECT = lazy_pattern(
    rf"(?P<types>\b(?:{_TYPE_PROGRAMS})\b|\btype[- ]?check(?:s|ing|er)?\b|\btyping\b|\btypescript(?: compiler)?\b|"
    r"\btype (?:errors?|issues?|problems?)\b|类型检查|型チェック|型エラー)|"
    rf"(?P<lint>\b(?:{_LINTERS})\b|\blint(?:er|ers|ing|s)?\b|\bformatt(?:er|ing)\b|\bstatic analysis\b|代码检查"
    rf"|静态检查|リント|静的解析)|"
    rf"(?P<build>\b(?:{_BUILDERS})(?=[`\s,.]|$)|\bbuilds?\b|\bcompilation\b|\bcompiler\b|\bbundling\b"
    rf"|\bcompil(?:es|ed)\b|构建|编译|打包|ビルド|コンパイル"
    r")|"
    rf"(?P<test>\b(?:{_TEST_PROGRAMS})\b|(?<!manual )\btest(?:s|ing)?\b(?![/.\w])|\bsuites?\b"
    r"|\bspecs?\b(?![/.\w])|测试|用例|单测|テスト)",
    _I,
)
_NO_PROBLEMS = (
    r"(?:(?<![\d.])\b(?:no|zero|0|without(?: any)?)\s(?:\w+\s)?(?:errors?(?!\s(?:messages?|logs?|codes?))|failures?"
    r"|issues?"
    r"|problems?|warnings?"
    r"|violations?|offenses?|"
    r"(?:test |type |lint )?(?:errors|failures)|complaints?|failing tests?|failed tests?|regressions?)\b"
    r"|\bno (?:\w+ )?tests? fail(?:s|ed)?\b|\bfail(?:ed|ures?)?\s?[:=]\s?0\b|\b0 (?:tests? )?fail(?:ed|ing|ures?)\b"
    r"|\berror-free\b)"
)
PASSED = lazy_pattern(
    r"\b(?:pass(?:es|ing)?(?!\s`|-\w)(?<!\d passes)"
    r"(?<!passes(?=\s(?!and|or|but|with|now|in|on|at|when|if|after|for|again|too|as|without|under|because|so|since|while"
    r"|via|by|here|there|then|all|to|from|even|both)[a-z]+(?<!ly)\s[a-z]))"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!been )(?<!being )passed"
    r"|succeed(?:s|ed|ing)?)\b(?!\s(?:the|a|an|in(?!\s(?:\d|`|[\w.-]+/))|it|to|through|as|on to|by|around|along"
    r"|this|that|any)\b(?!\s(?:first|second|full|clean|CI)))|"
    r"\b(?:is|are|was|were|stays?|remains?|all|now|came back|comes back|come back|runs?|ran)\s(?:all\s|now\s"
    r"|still\s|also\s|fully\s|completely\s|both\s){0,2}"
    r"(?:green|clean(?:ly)?|ok|okay|successful(?:ly)?|passing|fine|happy)\b|[:：]\s?(?:green|clean|ok|okay"
    r"|successful)\b(?!\s\w)|"
    r"\b(?:build|compilation|bundle|type[- ]?check|lint|tests?)\s(?:successful|green|clean)\b(?=\s?(?:$|[.,;!|)(]))|"
    r"\bcomplete[sd]?\s(?:successfully|cleanly)\b|\b(?:compiles?|builds?|compiled|built)\s(?:now\s|also\s)?"
    r"(?:cleanly|fine|successfully|correctly|again)|"
    r"\b(?:it|code|project|app|application|everything|crate|workspace|site|package|library|program|frontend|backend|"
    r"client|server)`?\s(?:now\s|also\s|still\s){0,2}(?:compiles|builds)(?=\s?$|[.,;!])|"
    rf"{_NO_PROBLEMS}|[✅✔✓☑]\s?(?=$|\s?[|:,.;)（(])(?<=\w\s.|.[:|\s].)"
    r"|(?:均|都|全部|已经?|也|全数)?"
    r"(?:成功(?!地?(?:修复|解决|创建|添加|更新|删除|实现|移除|提交|推送|生成|安装|部署))|通过(?!\s?`))了?|全绿|(?:没有|无)(?:任何)?(?:失败|错误|问题|报错)|"
    r"(?:成功|通過|合格|パス)(?=し|済|です|。|$|、|と|ことを)|通(?:った|りました|っています|ること(?:を|も)確認)|グリーン|"
    r"(?:失敗|エラー|問題|警告)(?:は|が|も)?(?:なし|なく|ありません(?:でした)?|ない|ゼロ)",
    _I,
)
FAILED = lazy_pattern(
    r"\b(?:fail(?:s|ed|ing)?|[1-9]\d* failures?|is red|are red|is broken|are broken)\b|失败|失敗|通りません|通らない",
    _I,
)
#: Something failed, and this is not only the name of what was corrected: `the failed test`.
ADMITTED = lazy_pattern(
    r"\bfail(?:s|ed)?\b(?!\s(?:\w+\s)?(?:tests?|specs?|suites?|builds?|cases?|checks?|runs?)\b)(?<!\b0 failed)"
    r"(?<!\bno failed)|(?<![\d.,])[1-9]\d{0,5} (?:errors?|failures?|failing)\b|失败(?!的|了?[:：]?\s?0)"
    r"|失敗(?!し[たて]|は?なし|は?ありません|\s?0)",
    _I,
)
#: A subject that stands for one that was named before.
NEUTRAL = lazy_pattern(r"\b(?:it|they|everything|all|which|that|both|these|each)\b|全部|均|都|すべて|全て|全件", _I)
#: `All checks pass: lint, type check and tests.`
LISTED = lazy_pattern(r"\s?[:：(（]\s?[^.:：]{3,120}", _I)
ALL_CHECKS = lazy_pattern(r"\b(?:all|every)\s(?:\w+\s)?(?:checks?|gates?|validations?)\b|所有检查|すべてのチェック", _I)
COUNTED = lazy_pattern(r"(?<![\w.])\d[\d,]*(?:\s?/\s?\d[\d,]*)?\s?(?:have |of them |all )?$", _I)
PART = lazy_pattern(
    r"\b(?:new|related|relevant|affected|added|targeted|corresponding|focused|smoke|own|these|those|this|my"
    r"|of the|\w+_\w+|"
    r"first|second|only|some|most|many)\b(?:\s[\w-]+){0,3}\s(?:tests?|specs?|suite)\b"
    r"|\btests? \d|\bmy (?:new |own )?(?:code|changes?|files?)\b"
    r"|\b(?:new|changed|modified|touched|edited) (?:code|files?)\b|\btests? (?:for|of|in)\b"
    r"|\bno new\b|[A-Za-z]\w*\s?测试|新的?测试|新增的?测试|新しいテスト|追加したテスト",
    _I,
)
#: What may stand before an outcome below a heading about tests, so that the outcome is that of the tests.
NO_SUBJECT = lazy_pattern(
    r"(?:[\W_]|\d+|\b(?:all|now|still|also|result|results|status|outcome|overall|total|final|everything|they|it|are|is|have"
    r"|has|of|the|them|which|both|each|every|single|one|unit|integration|e2e|regression|smoke|existing|new|full)\b)*$",
    _I,
)
NO_SUBJECT_ZH = lazy_pattern(r"[\W\d_]*(?:已经|已)(?:[\W\d_]|全部|成功|均|都|也|还|并且|并|一并|同时)*$")
#: A share of the tests that is not all of them.
SHARE = lazy_pattern(r"(?<![\d.])\d{1,2}(?:\.\d+)?\s?%")
#: A heading about what happened on a day.
DATED = lazy_pattern(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s\d{1,2}\b"
    r"|\b20\d\d-\d\d-\d\d\b"
)
#: Tests by their numbers, of which all may pass.
NUMBERED = lazy_pattern(r"\btests? \d{1,4}(?:\s?[-–,]\s?\d|\b(?!\s(?:tests?|pass|of)))|测试\s?\d|テスト\s?\d", _I)
#: What is left when others are named, or are known: `the one failure is older; all other tests pass`.
REST = lazy_pattern(
    r"\b(?:others?|remaining)(?=\W{1,3}(?:\w+ )?(?:tests?|checks?|cases|suites?|specs?|ones|pass|green))"
    r"|\b(?:rest of the|the rest|everything else|anything else)\b|其余|其他|残り|他の|それ以外",
    _I,
)
EVERY = lazy_pattern(r"\b(?:all|every|whole|full|entire|complete)\b|所有|全部|すべて|全て|全", _I)
#: Not in a word for a removal, such as 删除.
EXCEPT = lazy_pattern(
    r"\b(?:except|excepting|excluding|apart from|aside from|other than|besides|save for|with the exception of"
    r"|(?:bar|save)(?=\s(?:\d|one|two|three|four|five|a few)\b))\b|以外|(?<![删刪移清解排拆去消废剔削])除",
    _I,
)
#: Before a failure: nothing else failed.
ONLY = lazy_pattern(r"(?<!\bnot )\bonly\b", _I)
RAN = lazy_pattern(
    r"\b(?:ran|re-?ran|executed|verified (?:\w+ ){0,4}(?:by running|with|using|via)"
    r"|confirmed (?:\w+ ){0,4}(?:by running|with)|"
    r"tested (?:\w+ ){0,3}(?:by running|with|using)|checked (?:\w+ ){0,3}(?:by running|with))\s(?:the |all |a "
    r"|full |entire |whole |complete )*"
    r"|\b(?:I|we)(?:['’]ve| have) (?:also |now |just )?run\s(?:the |all |full |entire |whole )*|运行了\s?|执行了\s?|"
    r"跑了\s?",
    _I,
)

# Changes

_Act = Act | Literal["read"]
_ADVERBS = (
    r"(?:also|then|now|just|already|finally|successfully|additionally|only|both|subsequently|manually|carefully"
    r"|further|even|have|has|had|been|all|first|once more|again)"
)
OWN = lazy_pattern(r"\s*(?:I|we)\b", _I)
OWN_BEFORE = lazy_pattern(rf"\b(?:I|we)(?:['’]ve|['’]d)?\s(?:{_ADVERBS}\s)*$", _I)
#: A title of what was done: `What I fixed`.
ABOUT_OWN = lazy_pattern(rf"\b(?:what|how|why) (?:I|we)(?:['’]ve|['’]d)?\s(?:{_ADVERBS}\s)*$", _I)
#: The sentence begins with the verb, or a list goes on with it.
CONTINUED = lazy_pattern(
    rf"(?:^|[,;:]|\band\b|\bthen\b|[—–-]\s)[\s*_✅✔✓☑🎉]*(?:{_ADVERBS}\s)*(?<!already )$"
    r"|^(?:done|yes|ok|okay|sure|great)[!.,]?\s*$",
    _I,
)
PASSIVE = lazy_pattern(
    r"\b(?:ha(?:s|ve) (?:now |also |already |all |both )?been|(?:is|are) (?:now |all |already "
    r"|both )?(?=$))\s*(?:now |fully |successfully )?$",
    _I,
)
#: What follows is not the object of the verb.
CUT = lazy_pattern(
    r"\b(?:to|so|because|which|that|using|with|by|for|like|from|based|following|matching|per|as|when|where|if|after|"
    r"before|instead|rather|similar|used|called|via|against|than|about|whose|without|since|until|while|retaining|keeping|leaving|except|excluding)\b|[，（]",
    _I,
)
#: ... but a place is: `added a case for x in a/b.py`, `added x() to a/b.py`.
PLACED = lazy_pattern(
    r"^(?!.*\b(?:so|because|which|that|using|by|like|when|where|if|instead|rather|than)\b)"
    r"(?=.*\b(?:in|to|into|inside|under)\s(?:the\s)?(?:new\s)?(?:file\s)?[`*]*$).*\b(?:for|with|of|to|in|into"
    r"|inside|under)\b.*$"
    r"(?<!\bto use in `)",
    _I,
)
NOT_FILES = frozenset(
    {"node.js", "next.js", "vue.js", "express.js", "three.js", "d3.js", "react.js", "nuxt.js", "e.g", "i.e"}
)
_EDITED = (
    r"implemented|fixed|updated|changed|modified|edited|refactored|patched|rewrote|rewritten|adjusted|extended"
    r"|improved|corrected|replaced|"
    r"wired|simplified|bumped|converted|migrated|applied|reworked|tweaked|optimi[sz]ed"
    r"|registered|resolved|moved|inlined|deduplicated"
)
_VERB = lazy_pattern(
    rf"\b(?:(?P<edited>{_EDITED})|(?P<created>created|added|wrote|written|generated|introduced|renamed)"
    rf"|(?P<deleted>deleted|removed)|"
    r"(?P<committed>committed(?! to (?!(?:the )?(?:`|main|master|branch|git|repo|local|version|source)))"
    r"|created a (?:new )?commit|made a commit)|"
    r"(?P<pushed>pushed)|(?P<read>read|reviewed|inspected|examined|looked (?:at|through)|went through"
    r"|studied))\b(?!-)",
    _I,
)
#: Verbs that state work even without a file.
_WORK = frozenset(
    {"implemented", "fixed", "updated", "changed", "modified", "edited", "refactored", "patched", "rewrote"}
)
_VERB_ZH = lazy_pattern(
    r"(?:(?P<edited>修复|修改|更新|重构|实现|调整|优化|替换|改写)|(?P<created>添加|新增|创建|新建|编写|生成)|(?P<deleted>删除|移除|删掉)|"
    r"(?P<committed>提交)|(?P<pushed>推送)|(?P<read>阅读|查看|读取|审查))"
)
_VERB_JA = lazy_pattern(
    r"(?:(?P<edited>修正|変更|更新|実装|編集|リファクタリング|置き換え|改修)|(?P<created>追加|作成|新規作成|生成)|(?P<deleted>削除)|"
    r"(?P<committed>コミット)|(?P<pushed>プッシュ)|(?P<read>読み|確認))"
    r"(?=(?:し)?(?:ました|ており|ています|済み|てコミット|てプッシュ|、|て、|たうえ|た。|た$|てから))(?!し?たら)"
)
_KANA = lazy_pattern(r"[ぁ-んァ-ヶ]")
_DONE_ZH = lazy_pattern(r"已(?:经|全部|成功|一并){0,2}$")
_KINDS: tuple[_Act, ...] = ("edited", "created", "deleted", "committed", "pushed", "read")


class Verb(NamedTuple):
    """A verb of a sentence that states a change."""

    start: int
    end: int
    act: _Act
    #: Whether it states work even without a file.
    is_work: bool = False
    #: Whether its form alone shows that it happened, and whether its object is before it (Japanese).
    is_marked: bool = False
    is_after: bool = False


def verbs(text: str) -> Iterator[Verb]:
    """Yield the verbs of a sentence that may state a change."""
    for match in _VERB.finditer(text):
        yield Verb(*match.span(), _act(match), is_work=match[0].lower() in _WORK)
    if text.isascii():
        return
    is_done = False
    for match in _VERB_ZH.finditer(text):
        is_perfect = text[match.end() : match.end() + 1] == "了"
        is_already = _DONE_ZH.search(text[max(0, match.start() - 20) : match.start()]) is not None
        is_carried = is_done and text[: match.start()].endswith(("并", "并已", "已", "并且", "和"))
        is_done = is_done or is_perfect or is_already
        if is_perfect or is_already or is_carried:
            yield Verb(*match.span(), _act(match), is_work=True, is_marked=True)
    if not _KANA.search(text):
        return
    for match in _VERB_JA.finditer(text):
        yield Verb(*match.span(), _act(match), is_work=True, is_marked=True, is_after=True)


def _act(match: re.Match[str]) -> _Act:
    return next(kind for kind in _KINDS if match[kind])


def is_plan(heading: str) -> bool:
    """Return whether a heading or label is about what is to be done."""
    return bool(heading) and _PLAN.search(heading) is not None


def is_asserted(text: str, start: int, end: int, *, is_change: bool = False) -> bool:
    """Return whether the words at a place of a sentence state something as a fact of the author."""
    before, after = text[:start], text[end:]
    if _BLOCKED_FAR.search(before):
        return False
    cuts = [match.end() for match in _UNTIL_COMMA.finditer(before)]
    part = before[cuts[-1] if cuts else 0 :]
    condition = part
    if is_change:  # a modal verb before `and` does not belong to a past form behind it
        ands = [match.end() for match in _AND.finditer(part)]
        condition = part[ands[-1] if ands else 0 :]
    if _BLOCKED_BEFORE.search(condition) or _BLOCKED_AFTER.match(after) or (is_change and _TIMELESS.search(after)):
        return False
    if text.isascii():
        return True
    left = re.split(r"[，。；、]", before)[-1]
    return not _BLOCKED_CJK_BEFORE.search(left) and not _BLOCKED_CJK_AFTER.match(after)


# What an outcome depends on

#: Words that begin a condition, and those that begin a time, which is a condition unless it is past.
_IF = r"if|unless|assuming|provided that|providing that|supposing|as long as|so long as|in case|on condition|whenever"
_WHEN = r"once|when|as soon as|after"
#: A clause before the outcome and its comma, or directly after the outcome.
_CLAUSE_BEFORE = lazy_pattern(
    rf"(?:^\W{{0,4}}|[;:,]\s|\b(?:and|but|so|then)\s)(?:(?P<if>{_IF})|(?P<when>{_WHEN}))\b(?P<clause>[^,;]{{1,160}}),[^;]{{0,120}}$",
    _I,
)
_CLAUSE_AFTER = lazy_pattern(
    rf"\s{{0,2}}(?:(?:now|again|\w{{1,15}}ly)\s)?(?:only\s)?(?:(?P<if>{_IF})|(?P<when>{_WHEN}))\b(?P<clause>[^,;.]{{0,160}})",
    _I,
)
#: The author did it; it is present, or someone else does it; it is past, and more than a participle: `when run alone`.
_OWN_CLAUSE = lazy_pattern(r"\b(?:I|we|my|our)\b|^\s\w+ing\b", _I)
_YOU = lazy_pattern(r"\byou\b", _I)
_PRESENT_CLAUSE = lazy_pattern(r"\b(?:is|are|isn['’]t|aren['’]t|has|have|gets?|you)\b", _I)
_PAST_CLAUSE = lazy_pattern(r"\b(?:was|were|had|did)\b|(?<=\w\s)\w{2,}ed\b", _I)
#: `With `-p no:randomly`, …`: another run than the usual one. `Before the change, …`: an earlier one.
_OTHER_RUN = lazy_pattern(
    r"^\W{0,4}(?:with\s`?(?:-{1,2}\w|(?-i:[A-Z][A-Z\d_]+[_=]))"
    r"|before (?:the|my|this|these|those|any|our|that) (?!commit|push|merge))[^,;]{0,160},[^;]{0,120}$",
    _I,
)
_EARLIER = lazy_pattern(r"\s{0,2}before (?:the|my|this|these|those|any|our|that) (?!commit|push|merge)", _I)


_MAX_CLAUSES = 300


def is_conditional(text: str, start: int, end: int) -> bool:
    """Return whether an outcome holds only under a condition, or is that of another run, by the clauses around it."""
    # A clause is short, and a text has many outcomes: what is far before is not searched again for each.
    before = text[:start] if start <= _MAX_CLAUSES else "x" + text[start - _MAX_CLAUSES : start]
    clauses = (_CLAUSE_BEFORE.search(before), _CLAUSE_AFTER.match(text, end))
    if any(
        clause is not None and _is_open((clause["if"] or clause["when"]).lower(), clause["clause"])
        for clause in clauses
    ):
        return True
    return _OTHER_RUN.search(before) is not None or _EARLIER.match(text, end) is not None


def _is_open(word: str, clause: str) -> bool:
    """Return whether a clause states what may not have happened: `once Redis runs`, but not `once I fixed it`."""
    if word == "after":
        return _YOU.search(clause) is not None
    if word in ("once", "when", "as soon as"):
        if _OWN_CLAUSE.search(clause):
            return False
        return _PRESENT_CLAUSE.search(clause) is not None or not _PAST_CLAUSE.search(clause)
    return not (word == "unless" and _OWN_CLAUSE.search(clause))  # `unless I am mistaken`


# Delegations

#: Agents of the client that are not under contract.
CLIENTS_AGENTS = ("general-purpose", "Plan")
DELEGATED = lazy_pattern(
    r"\b(?:delegated|handed|assigned|dispatched|launched|asked|spawned)\b[^.\n]{0,60}?\b(?:to )?(?:the |a "
    r"|an )?`?(?P<agent>[a-z][\w]*-[\w-]+)`?\s(?:sub)?agent\b",
    _I,
)
#: The sentence is not a statement about the past.
UNASSERTED = lazy_pattern(
    r"\b(?:will|would|should|must|shall|may|might|could|can|cannot|if|once|until|unless|before|whether|ensure|"
    r"make sure|expect\w*|want|wants|need|needs|needed|let|let's|please|not|never|no|without|instead|next|plan"
    r"|planned|"
    r"going to|recommend\w*|suggest\w*|propos\w*|failed to|denied|refused|wait\w*|you)\b|n't\b|[?？]\s*$|"
    r"ない|ません|ずに|未実行|でしょう|だろう|べき|予定|つもり|たら|れば|なら|場合|ください|お願い|必要|ますか|ですか|前に|まで|提案|"
    r"推奨|可能|次に|これから|かもしれ|はず|失敗|拒否|待っ|待ち|"
    r"将(?![^。]{0,30}(?:委托|委派|交给))|会(?![话议])|应|可以|可能|如果|若|一旦|直到|除非|之前|是否|需要|请|让我|没|未|不|尚|下一步|"
    r"计划|建议|推荐|打算|失败|拒绝|等待|吗|能否|您|你",
    _I,
)
#: Part of a statement that everything passed, not a denial.
NO_FAILURES = lazy_pattern(
    r"\b(?:no|without(?: any)?|zero) (?:failures?|errors?|failing tests?|regressions?|problems?)\b|"
    r"失敗(?:は|が)?(?:なし|なく|ありません|ない)|エラー(?:は|が)?(?:なし|なく|ありません|ない)|(?:没有|无)(?:任何)?(?:失败|错误)",
    _I,
)
TASKED = r"(?:delegated|handed|sent|asked|launched|dispatched|ran|used|had|per|according to|via|through|by)"
REPORTED = (
    r"(?:found|finds|reported|reports|confirmed|confirms|verified|reviewed|checked|audited|approved|implemented"
    r"|wrote|"
    r"fixed|returned|says|said|agreed|agrees|concluded|analy[sz]ed|explored|traced|tested|ran|signed off|completed|"
    r"identified|flagged|traces|found)"
)
_WORK_JA = r"(?:確認|検証|報告|発見|レビュー|調査|実装|修正|承認|分析|監査|追跡|特定|指摘|テスト|完了)"
#: After the name of an agent: it did something, or was asked to.
AFTER = (
    rf"\s?(?:エージェント)?(?:は|が|も|によ(?:り|って)|に)[^。\n]{{0,40}}?{_WORK_JA}(?:し(?:ました|た|ており|て)|済み)|"
    r"\s?(?:エージェント)?に[^。\n]{0,30}?(?:依頼|委任|委譲|委託)し(?:ました|た)|"
    r"\s?(?:代理|智能体)?[^。\n]{0,30}?(?:确认|验证|报告|发现|审查|审核|检查|实现|修复|批准|分析|完成|测试|追踪|指出)了|"
    r"\s?(?:代理|智能体)?(?:已经|已)[^。\n]{0,20}?(?:确认|验证|报告|发现|审查|审核|检查|实现|修复|批准|分析|完成|测试)"
)
#: Before the name of an agent: it was asked.
BEFORE_ZH = r"(?:委托|委派|交)给?了?\s?"

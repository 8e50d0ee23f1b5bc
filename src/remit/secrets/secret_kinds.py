"""The kinds of secrets that Remit adds: by a prefix, by their place in a file, or by the name next to them.

Each pattern takes linear time on any text: a repetition cannot start again inside itself, or is short.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.lazy import lazy_pattern
from remit.secrets.secret_values import (
    BEGIN,
    MAX_KEY,
    NAME_AND_OPERATOR,
    end_of_key,
    judge_named_value,
    named_value_pattern,
)

Span = tuple[int, int]
_TOKEN = r"[A-Za-z0-9_-]"  # noqa: S105 (an alphabet)
#: Placeholders of a password: `{password}`, `${TOKEN}`, `$TOKEN`, `<password>`, `%s`, `***`.
_PLACEHOLDER = (
    r"(?:\$?\{[^\s/:@]{0,100}\}|\$\([^\s/:@]{0,100}\)|\$[A-Z_][A-Z0-9_]{0,100}|<[^\s/:@]{1,100}>"
    r"|%s|%\([^\s/:@]{1,100}\)s|\*{1,100}|\.{3}|…)"
)
#: The beginning of a value that is not a placeholder.
_REAL = r"(?![$<{%*\[]|\.{3}|…)"
#: A line end, also in a string.
_BREAK = r"(?:\s{1,2}|(?:\\r)?\\n)"
_BASE64 = r"[A-Za-z0-9+/]"
_HEX = r"[a-f0-9]"
_UUID = r"[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"
#: A token that a file or a command names: not empty, at least one digit among its first characters.
_OPAQUE = rf"{_REAL}(?=[^\s\"']{{0,60}}\d)[A-Za-z0-9._~+/=:-]"


class SecretRule:
    """What one kind of secret looks like."""

    # Not a NamedTuple, which takes longer to create than all rules.
    def __init__(
        self,
        name: str,
        keywords: tuple[str, ...],
        pattern: re.Pattern[str],
        reach: int,
        judge: Callable[[re.Match[str]], Span | None],
        near: re.Pattern[str] | None = None,
        before: int = 0,
    ) -> None:
        self.name = name
        #: One of them, in lower case, is in every match or next to it.
        self.keywords = keywords
        #: The first group that took part in a match is the secret, or else the whole match.
        self.pattern = pattern
        #: The longest match: a match is at most this far from its keyword.
        self.reach = reach
        #: Returns where the secret is; None if the match is not a secret.
        self.judge = judge
        #: Matches, in lower case, from the keyword of every match on. For keywords that most texts have.
        self.near = near
        #: With `near`: a match starts at most this far before its keyword.
        self.before = before


#: Numbers, because combining two flags takes longer than making a rule.
_ASCII = int(re.ASCII)
_IGNORE = int(re.IGNORECASE)
_LINES = _IGNORE | int(re.MULTILINE)
#: How far the type of a JSON web key may be from its private members: those of an RSA key have 1,400 characters.
_KEY_REACH = 4_000


def first_group(match: re.Match[str]) -> Span:
    """Return the span of the first group that took part in a match, or else of the whole match."""
    return match.span(next((number for number, group in enumerate(match.groups(), 1) if group is not None), 0))


def _whole_key(match: re.Match[str]) -> Span:
    return match.start(), end_of_key(match.string, match.end())


def _private_member(match: re.Match[str]) -> Span | None:
    """Return the span of a private member of a JSON web key, which states its type (`kty`) in the same object."""
    near = match.string[max(0, match.start() - _KEY_REACH) : match.end() + _KEY_REACH]
    return match.span(1) if "kty" in near else None


def _word(literal: str) -> str:
    """Return a pattern for a literal at the start of a word. The literal comes first, because that search is fast."""
    return rf"{literal}(?<![A-Za-z0-9_]{literal})"


def _rule(name: str, keywords: str, pattern: str, reach: int = 600, flags: int = 0) -> SecretRule:
    words = tuple(keywords.split("|"))
    return SecretRule(name, words, lazy_pattern(pattern, flags | _ASCII), reach, first_group)


def _prefixed(name: str, prefix: str, rest: str) -> SecretRule:
    """Return the rule for a token with a distinct prefix."""
    return _rule(name, prefix.lower(), rf"{_word(re.escape(prefix))}{rest}(?![A-Za-z0-9_])", 300)


#: What may be between two lines of a key: a line break, also a written one, and what tools print before a line.
_KEY_BREAK = r"(?:\\r)?(?:\\n|\r?\n)[ \t>+|-]{0,20}+(?:\d{1,7}[\t:|-][ \t]{0,4}+)?"
KINDS: tuple[SecretRule, ...] = (
    SecretRule("private key", ("private key",), BEGIN, MAX_KEY, _whole_key),
    # What a private key begins with, if the line above it is missing. A certificate and a public key begin otherwise.
    _rule(
        "private key",
        "ibaak|ibadanbgkq|mhccaqee|migkageb|mighageam|mc4caqawbqydk2vwbc|b3blbnnzac1rzxktdjea",
        r"(?<![A-Za-z0-9/])(?<![A-Za-z0-9+/]\+)((?:MII[A-Za-z0-9+/]{3}(?:IBAAK|IBADANBgkq)|MHcCAQEE|MIGkAgEB|MIGHAgEAM|MC4CAQAwBQYDK2VwBC"
        rf"|b3BlbnNzaC1rZXktdjEA)[A-Za-z0-9+/]{{20,}}+={{0,2}}(?>(?:{_KEY_BREAK}[A-Za-z0-9+/]{{16,}}+={{0,2}}){{0,300}}))",
        MAX_KEY,
    ),
    _rule("Anthropic key", "sk-ant-", rf"{_word('sk-')}ant-{_TOKEN}{{20,200}}"),
    # With capitals or digits, or without a separator: the names of CSS classes also start like this.
    _rule(
        "OpenAI key",
        "sk-",
        rf"{_word('sk-')}(?:proj-)?(?:(?=[a-z_-]{{0,31}}+[A-Z0-9]){_TOKEN}{{32,200}}|[a-z]{{32,200}})",
    ),
    _rule("Groq key", "gsk_", rf"{_word('gsk_')}[A-Za-z0-9]{{32,200}}"),
    _rule("xAI key", "xai-", rf"{_word('xai-')}[A-Za-z0-9]{{32,200}}"),
    _rule(
        "GitHub token",
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
        rf"{_word('g')}(?:h[pousr]_[A-Za-z0-9]{{36,255}}|ithub_pat_[A-Za-z0-9_]{{40,255}})",
    ),
    _rule("AWS key", "akia|asia|abia|acca", r"A(?<![A-Za-z0-9]A)(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])", 40),
    _rule("Notion token", "secret_", r"(?<![A-Za-z0-9_])secret_[A-Za-z0-9]{43}(?![A-Za-z0-9_])", 60),
    _rule("Google key", "aiza", rf"{_word('AIza')}{_TOKEN}{{35}}(?![A-Za-z0-9_])", 60),
    _rule("Slack token", "xox", rf"{_word('xox')}(?:[abeprso]|e\.xox[bp])-[A-Za-z0-9-]{{10,250}}"),
    # Only the first `eyJ` in a run of characters counts: trying each of them would take quadratic time.
    SecretRule(
        "JSON web token",
        ("eyj",),
        lazy_pattern(
            rf"(?<!{_TOKEN})(?>{_TOKEN}*?(?=eyJ))(eyJ{_TOKEN}{{10,}}+\.eyJ{_TOKEN}{{10,}}+\.{_TOKEN}{{10,}}+)"
        ),
        65_536,
        first_group,
    ),
    _rule(
        "password in a URL",
        "://",
        rf"://([^\s/:@]{{0,100}}+:(?!{_PLACEHOLDER}@)(?:[^\s/@]{{3,200}}+|[^\s/@]{{1,2}}+(?=@[^\s/@]{{1,100}}@))"
        r"(?:@[^\s/@\"'<>`,]{1,100}+(?=@)){0,5})(?=@)",
    ),
    # Headers and command lines.
    _rule(
        "Authorization header",
        "authorization",
        rf"authorization[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?:(?:bearer|basic|token|digest|apikey|api-key|bot|splunk"
        rf"|genie-?key|sso-key|ssws|key)\s{{1,3}}(?:token=)?)?({_OPAQUE}{{8,2000}})(?![(\[])",
        2_100,
        _IGNORE,
    ),
    _rule("bearer token", "bearer", rf"\bbearer\s{{1,3}}({_OPAQUE}{{16,2000}})", 2_100, _IGNORE),
    _rule(
        "key in a header",
        "key:|token:|secret:",
        rf"\b(?:x-[a-z0-9-]{{0,40}}|private-|job-|deploy-|api-|circle-|ocp-apim-subscription-|dd-api-|dd-application-)"
        rf"(?:key|token|secret):\s{{0,3}}({_REAL}[^\s\"',;]{{8,500}})",
        flags=_IGNORE,
    ),
    _rule(
        "cookie",
        "cookie:",
        rf"\b(?:set-)?cookie:\s{{0,3}}([^\s=;:\"']{{1,60}}={_REAL}[^\r\n\"']{{12,2000}})",
        2_100,
        _IGNORE,
    ),
    _rule(
        "password in a command",
        "curl|wget|http",
        rf"-(?:(?<=\s-)u|-user)[=\s]\s{{0,3}}[\"']?([^\s:\"'@/$]{{1,80}}:{_REAL}[^\s\"'@/]{{3,200}})",
    ),
    _rule("password in a command", "sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}[\"']?({_REAL}[^\s\"']{{3,200}})"),
    _rule(
        "password in a command",
        "mysql|mariadb|mongo|redis-cli|sqlcmd|psql",
        rf"\b(?:mysql\w{{0,10}}|mariadb|mongo\w{{0,10}}|redis-cli|sqlcmd)\b[^\n|;]{{0,120}}?\s-(?:p|a|P)\s?[\"']?"
        rf"({_REAL}(?=[^\s\"']{{0,60}}[\d!#^&])(?!\d{{1,5}}(?![^\s\"']))[^\s\"'/-][^\s\"']{{3,100}})",
    ),
    _rule(
        "password in a command",
        "--pass|--token|--secret|--api-key|--apikey|--auth|--access|--pwd|--client-secret",
        rf"--(?:[a-z]{{1,20}}-)?(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|auth-?token"
        rf"|access-?key|secret-?key)(?:=|\s)\s{{0,3}}[\"']?({_REAL}(?=[^\s\"']{{0,60}}[\d!#^&])[^\s\"'-][^\s\"']{{5,300}})",
        flags=_IGNORE,
    ),
    _rule(
        "password in a command",
        " login",
        r"\b(?:docker|podman|buildah|skopeo|nerdctl|oras|crane|helm registry)\s{1,3}(?:auth\s)?login\b"
        rf"[^\n|;]{{0,200}}?\s-p[=\s]?[\"']?({_REAL}[^\s\"']{{6,300}})",
    ),
    # `ENV NAME value`, `set -x NAME value`, `setx NAME value`: only a name in capitals is one of a variable.
    _rule(
        "secret in the environment",
        "env |set -|setx |setenv ",
        r"\b(?:ENV|set -[a-zA-Z]{1,4}|setx|setenv)\s{1,3}[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|TOKEN|SECRET|_KEY)\s{1,3}"
        rf"[\"']?({_REAL}(?=[^\s\"']{{0,60}}\d)[^\s\"']{{8,500}})",
    ),
    _rule(
        "password in PowerShell",
        "convertto-securestring",
        rf"ConvertTo-SecureString\s{{1,3}}(?:-String\s{{1,3}})?[\"']({_REAL}[^\"'\r\n]{{6,300}})[\"']",
        flags=_IGNORE,
    ),
    _rule(
        "named secret",
        "パスワード|密码|密碼|口令",
        rf"(?:パスワード|密码|密碼|口令)[\"'`]?\s{{0,3}}[:：=は是为]\s{{0,3}}[\"'`]?({_OPAQUE}{{8,200}})",
    ),
    # Files.
    _rule(
        "password in .netrc", "password", r"\blogin\s{1,20}[^\s/,=]{1,100}\s{1,20}password\s{1,20}([^\s\[]\S{0,199})"
    ),
    _rule(
        "password in .pgpass",
        ":5432:|:5433:|:6432:|:*:",
        r"(?:^|(?<=[\"'])|(?<=\\n))(?:[^\s:#/\"']{1,100}):(?:543[23]|6432|\*):[^\s:]{1,63}:[^\s:]{1,63}"
        r":([^\s:\"'\\]{3,200})(?=$|[\"']|\\n)",
        500,
        _LINES,
    ),
    _rule(
        "key in a kubeconfig",
        "client-key-data",
        rf"client-key-data[\"']?:\s{{0,4}}[\"']?({_BASE64}{{40,9000}}={{0,2}})",
        9_100,
    ),
    _rule(
        "registry password",
        '"auth"|auth\\"|identitytoken|registrytoken',
        r"\"(?:auth|identitytoken|registrytoken)\\{0,3}\"\s{0,4}:\s{0,4}\\{0,3}\"([A-Za-z0-9+/=._-]{12,4000})\\{0,3}\"",
        4_100,
    ),
    _rule(
        "password in XML",
        "password>|passphrase>|token>|secret>|apikey>",
        rf"<(?:[a-z]{{1,20}}[:.-])?(?:password|passphrase|token|secret|apikey)>\s{{0,4}}({_REAL}(?=[^\s<]{{0,60}}\d)[^\s<]{{6,300}})",
        flags=_IGNORE,
    ),
    _rule(
        "password in XML",
        "value=",
        r"\b(?:key|name)=\"[\w.:-]{0,60}(?:password|passphrase|token|secret|api[_-]?key)\"\s{1,4}value="
        rf"\"({_REAL}(?=[^\s\"]{{0,60}}\d)[^\s\"]{{8,300}})\"",
        flags=_IGNORE,
    ),
    # The private part of a JSON web key.
    SecretRule(
        "private key",
        ('"d"', 'd\\"'),
        lazy_pattern(
            r"\\{0,3}\"(?:d|p|q|dp|dq|qi)\\{0,3}\"\s{0,4}:\s{0,4}\\{0,3}\"([A-Za-z0-9_-]{42,1400}+)\\{0,3}\"", _ASCII
        ),
        1_500,
        _private_member,
    ),
    _rule(
        "password in PHP",
        "define(",
        r"\bdefine\(\s{0,4}[\"'][A-Z_]{0,40}(?:PASSWORD|SECRET|TOKEN|_KEY|_SALT)[\"']\s{0,4},\s{0,4}"
        rf"(?:\"({_REAL}[^\"\r\n]{{8,200}})\"|'({_REAL}[^'\r\n]{{8,200}})')",
    ),
    _rule(
        "npm password",
        "_auth|_password",
        rf"(?<![A-Za-z0-9.])_(?:auth|authToken|password)\s{{0,3}}=\s{{0,3}}[\"']?({_OPAQUE}{{8,500}})",
    ),
    _rule(
        "Azure key",
        "accountkey=|sharedaccesskey=|sharedsecret=|accesskey=",
        rf"(?:AccountKey|SharedAccessKey|SharedSecret|AccessKey)=({_BASE64}{{20,200}}={{0,2}})",
        flags=_IGNORE,
    ),
    _rule(
        "signature in a URL",
        "sig=|signature=",
        r"[?&;](?:sig|Signature|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%+/_=-]{20,700})",
        800,
    ),
    _rule(
        "password hash",
        "$apr1$|$2a$|$2b$|$2y$|$5$|$6$|$y$|$argon2",
        r"(\$(?:apr1|2[aby]|5|6|y|argon2id?|argon2d)\$[A-Za-z0-9./$=,+v]{20,200})",
    ),
    _rule(
        "WireGuard key", "privatekey|presharedkey", rf"(?:PrivateKey|PresharedKey)\s{{0,4}}=\s{{0,4}}({_BASE64}{{43}}=)"
    ),
    _rule(
        "PuTTY key",
        "private-lines",
        rf"Private-Lines: \d{{1,3}}{_BREAK}((?:{_BASE64}{{1,64}}={{0,2}}{_BREAK}){{1,60}})",
        4_000,
    ),
    _rule("Laravel key", "base64:", rf"APP_KEY\s{{0,3}}=\s{{0,3}}[\"']?(base64:{_BASE64}{{40,50}}={{0,2}})", 100),
    # Tokens with a prefix that gitleaks does not have, or has with more conditions.
    _rule(
        "Stripe key",
        "sk_|rk_|whsec_",
        r"(?:(?<![A-Za-z0-9])[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{20,250})",
    ),
    _rule(
        "Google token",
        "ya29.|gocspx-|1//0",
        rf"(?:ya29\.{_TOKEN}{{20,400}}|GOCSPX-{_TOKEN}{{20,60}}|(?<![\w/])1//0{_TOKEN}{{20,200}})",
    ),
    _rule(
        "Azure client secret",
        "q~",
        r"(?<![A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])",
        60,
    ),
    _rule("Telegram token", ":aa", r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])", 60),
    SecretRule(
        "Discord token",
        (".",),
        lazy_pattern(
            r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])",
            _ASCII,
        ),
        80,
        first_group,
        near=lazy_pattern(r"\.[a-z0-9_-]{6}\.[a-z0-9_-]{27}"),
        before=26,
    ),
    _rule("webhook", "webhook", r"(?:discord(?:app)?\.com/api/webhooks/\d{10,25}/)([A-Za-z0-9_-]{40,100})", 200),
    _rule("Mailgun key", "key-", rf"{_word('key-')}({_HEX}{{32}})(?![A-Za-z0-9_])", 50),
    _rule("Mailchimp key", "-us", rf"(?<![A-Za-z0-9]){_HEX}{{32}}-us\d{{1,2}}(?![A-Za-z0-9])", 50),
    _rule("Firebase key", "apa91b", r"(?:AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{120,180})", 300),
    _rule(
        "Braintree token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{10,20}\$[a-f0-9]{32}", 120
    ),
    _prefixed("GitLab token", "glpat-", r"[A-Za-z0-9_.-]{20,300}"),
    _prefixed("npm token", "npm_", r"[A-Za-z0-9]{36,40}"),
    _prefixed("PyPI token", "pypi-", rf"{_TOKEN}{{50,280}}"),
    _prefixed("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,60}"),
    _prefixed("Docker token", "dckr_pat_", rf"{_TOKEN}{{20,60}}"),
    _prefixed("Docker token", "dckr_oat_", rf"{_TOKEN}{{20,60}}"),
    _prefixed("Databricks token", "dapi", r"[a-f0-9]{32}(?:-\d)?"),
    _prefixed("Vault token", "hvs.", rf"{_TOKEN}{{20,280}}"),
    _prefixed("Vault token", "hvb.", rf"{_TOKEN}{{20,280}}"),
    _prefixed("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _prefixed("Supabase key", "sbp_", r"[a-z0-9]{40}"),
    _prefixed("Supabase key", "sb_secret_", rf"{_TOKEN}{{20,60}}"),
    _prefixed("Replicate token", "r8_", r"[A-Za-z0-9]{30,50}"),
    _prefixed("Tavily key", "tvly-", rf"{_TOKEN}{{20,60}}"),
    _prefixed("LangSmith key", "lsv2_", r"[a-z]{2}_[a-f0-9]{32}_[a-f0-9]{10}"),
    _prefixed("Pinecone key", "pcsk_", rf"{_TOKEN}{{30,120}}"),
    _prefixed("Figma token", "figd_", rf"{_TOKEN}{{30,60}}"),
    _prefixed("CircleCI token", "CCIPAT_", r"[A-Za-z0-9]{16,32}_[a-f0-9]{40}"),
    _prefixed("Buildkite token", "bkua_", r"[a-f0-9]{40}"),
    _prefixed("Contentful token", "CFPAT-", rf"{_TOKEN}{{40,60}}"),
    _prefixed("Netlify token", "nfp_", r"[A-Za-z0-9]{30,60}"),
    _prefixed("NuGet key", "oy2", r"[a-z0-9]{43}"),
    _prefixed("Render key", "rnd_", r"[A-Za-z0-9]{20,60}"),
    _prefixed("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _prefixed("Bitbucket password", "ATBB", r"[A-Za-z0-9]{24,40}"),
    _prefixed("Atlassian token", "ATATT3", r"[A-Za-z0-9_=-]{100,250}"),
    _prefixed("Tailscale key", "tskey-", r"[a-z]{3,10}-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{16,60}"),
    _prefixed("Sonar token", "sqp_", r"[a-f0-9]{40}"),
    _prefixed("Sonar token", "squ_", r"[a-f0-9]{40}"),
    _prefixed("Square token", "sq0atp-", rf"{_TOKEN}{{20,40}}"),
    _prefixed("Square token", "sq0csp-", rf"{_TOKEN}{{40,50}}"),
    _prefixed("Notion token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    _prefixed("New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    _prefixed("Doppler token", "dp.", r"(?:pt|ct|sa|scim|audit|st(?:\.[a-z0-9_-]{1,40})?)\.[A-Za-z0-9]{40,44}"),
    _prefixed("crates.io token", "cio", r"[A-Za-z0-9]{32}"),
    _rule("New Relic key", "nral", rf"(?<![A-Za-z0-9]){_HEX}{{36}}NRAL(?![A-Za-z0-9])", 60),
    _rule("1Password token", "ops_eyj", rf"{_word('ops_')}eyJ[A-Za-z0-9+/=_-]{{60,4000}}", 4_100),
    _prefixed("Fireworks key", "fw_", r"[A-Za-z0-9]{22,40}"),
    _prefixed("ElevenLabs key", "sk_", r"[a-f0-9]{48}"),
    _prefixed("DigitalOcean token", "dop_v1_", r"[a-f0-9]{64}"),
    _prefixed("Sentry token", "sntrys_", r"[A-Za-z0-9+/=_-]{60,700}"),
    _rule("Azure token", "_pat=|_pat:", r"_PAT[=:]\s{0,3}[\"']?([A-Za-z0-9]{52,84})(?![A-Za-z0-9])", 150, _IGNORE),
    _rule("password of a network", "psk=", r"\bpsk=\\{0,3}[\"']?([^\s\"'\\$<{\[]{8,64})", 100),
    _prefixed("Neon key", "napi_", r"[a-z0-9]{40,80}"),
    _prefixed("Atlassian token", "ATCTT3", r"[A-Za-z0-9_=-]{100,250}"),
    _prefixed("Resend key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}"),
    _prefixed("Firecrawl key", "fc-", r"[a-f0-9]{32}"),
    _prefixed("E2B key", "e2b_", r"[a-f0-9]{40}"),
    _prefixed("Honeycomb key", "hcaik_", r"[a-z0-9]{40,70}"),
    _prefixed("Infisical token", "st.", r"[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    _prefixed("Cursor key", "key_", r"[a-f0-9]{64}"),
    _prefixed("LaunchDarkly key", "sdk-", _UUID),
    _rule("HubSpot token", "pat-na|pat-eu", rf"{_word('pat-')}(?:na|eu)\d-{_UUID}(?![A-Za-z0-9_])", 60),
    _prefixed("PostHog key", "phx_", r"[A-Za-z0-9]{40,60}"),
    _prefixed("Cloudinary address", "cloudinary://", r"\d{10,20}:[A-Za-z0-9_-]{20,40}@\w{2,60}"),
)

#: Values that only their names give away: `PASSWORD=...`, `"client_secret": "..."`.
NAMED = (
    SecretRule(
        "named secret",
        ("pass", "pwd", "secret", "token", "key", "credential", "auth"),
        named_value_pattern(),
        700,
        judge_named_value,
        NAME_AND_OPERATOR,
        before=len("subscription_"),
    ),
)

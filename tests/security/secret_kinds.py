"""Kinds of secrets by name. `made` fills in random characters, so that no file has anything that looks like a secret.

In a template, `{alnum:36}` is 36 random characters. What is between `⟦` and `⟧` is the secret; else it is all of it.
"""

from __future__ import annotations

import random
import re
import string

_LETTERS = string.ascii_letters
ALPHABETS = {
    "hex": "0123456789abcdef",
    "alnum": _LETTERS + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "digit": string.digits,
    "word": _LETTERS + string.digits + "_-",
    "b64": _LETTERS + string.digits + "+/",
    "az": string.ascii_lowercase,
}
_PART = re.compile(r"\{(\w+):(\d+)\}")

KINDS = {
    # Clouds.
    "AWS access key": "AKIA{upper:16}",
    "AWS temporary key": "ASIA{upper:16}",
    "AWS secret key in credentials": "[default]\naws_secret_access_key = ⟦{b64:40}⟧",
    "AWS secret key in the environment": "export AWS_SECRET_ACCESS_KEY=⟦{b64:40}⟧",
    "AWS secret key in JSON": '"SecretAccessKey": "⟦{b64:40}⟧"',
    "AWS session token": "aws_session_token=⟦IQoJb3JpZ2luX2Vj{b64:200}⟧",
    "AWS Bedrock key": "ABSK{b64:112}",
    "AWS signed address": "https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature=⟦{hex:64}⟧",
    "Azure storage connection": "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=⟦{b64:86}==⟧;"
    "EndpointSuffix=x",
    "Azure service bus": "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=⟦{b64:43}=⟧",
    "Azure client secret": "AZURE_CLIENT_SECRET=⟦{alnum:3}8Q~{alnum:34}⟧",
    "Azure shared access signature": "https://x.blob.core.windows.net/c?sv=2022-11-02&sig=⟦{alnum:40}%3D⟧",
    "Azure DevOps token by its usual name": "AZURE_DEVOPS_EXT_PAT=⟦{lower:52}⟧",
    "AWS secret key in JSON in a string": r'{"output": "{\"SecretAccessKey\": \"⟦{b64:40}⟧\"}"}',
    "registry password in a string": r'{"output": "{\"auths\": {\"x\": {\"auth\": \"⟦{alnum:32}⟧\"}}}"}',
    "client secret in a string in a string": r"\\\"client_secret\\\": \\\"⟦{alnum:32}⟧\\\"",
    ".pgpass in JSON": '{"line": "db.example.org:5432:app:bob:⟦{alnum:16}⟧"}',
    "PuTTY key in JSON": r'{"key": "Private-Lines: 1\n⟦{b64:64}⟧\nPrivate-MAC: x"}',
    "password of a network": 'psk="⟦{alnum:14}⟧"',
    "Sentry organisation token": "sntrys_{b64:80}",
    "Django key that begins like a placeholder": "SECRET_KEY = '⟦#{alnum:49}⟧'",
    "Azure DevOps token": "AZURE_DEVOPS_EXT_PAT_TOKEN=⟦{lower:52}⟧",
    "Azure Cosmos key": "AccountEndpoint=https://x.documents.azure.com:443/;AccountKey=⟦{b64:86}==⟧;",
    "Azure OpenAI key": "AZURE_OPENAI_API_KEY=⟦{hex:32}⟧",
    "Google API key": "AIza{word:34}x",
    "Google OAuth token": "ya29.{word:60}",
    "Google client secret": "GOCSPX-{word:28}",
    "Google refresh token": '"refresh_token": "⟦1//0{word:60}⟧"',
    "Google service account": '"private_key": "⟦-----BEGIN PRIVATE KEY-----\\n{b64:64}\\n{b64:64}'
    '\\n-----END PRIVATE KEY-----⟧\\n"',
    "Firebase server key": "AAAA{word:7}:APA91b{word:134}",
    "DigitalOcean token": "dop_v1_{hex:64}",
    "Alibaba key": "LTAI{alnum:20}",
    "Cloudflare token": "CLOUDFLARE_API_TOKEN=⟦{word:40}⟧",
    "Cloudflare origin key": "v1.0-{hex:24}-{hex:146}",
    "Heroku key": "HEROKU_API_KEY=⟦{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}⟧",
    "Fly token": "fo1_{word:42}x",
    "Yandex key": "yandex_api_key: ⟦AQVN{word:36}⟧",
    "Scaleway key": "SCW_SECRET_KEY=⟦{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}⟧",
    "Linode token": "LINODE_TOKEN=⟦{hex:64}⟧",
    "IBM Cloud key": "IBMCLOUD_API_KEY=⟦{word:44}⟧",
    # Source code hosts and registries.
    "GitHub token": "ghp_{alnum:36}",
    "GitHub OAuth token": "gho_{alnum:36}",
    "GitHub app token": "ghs_{alnum:36}",
    "GitHub refresh token": "ghr_{alnum:36}",
    "GitHub fine-grained token": "github_pat_{alnum:22}_{alnum:59}",
    "GitLab token": "glpat-{word:19}x",
    "GitLab deploy token": "gldt-{word:19}x",
    "GitLab runner token": "glrt-{word:19}x",
    "GitLab CI token": "glcbt-1a_{word:19}x",
    "GitLab header": "PRIVATE-TOKEN: ⟦{alnum:20}⟧",
    "Bitbucket password": "ATBB{alnum:32}",
    "npm token": "npm_{alnum:36}",
    "npm configuration": "//registry.example.org/:_authToken=⟦{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}⟧",
    "PyPI token": "pypi-AgEIcHlwaS5vcmc{word:70}",
    "RubyGems key": "rubygems_{hex:48}",
    "NuGet key": "oy2{lower:43}",
    "Cargo token": '[registry]\ntoken = "⟦cio{alnum:32}⟧"',
    "Clojars token": "CLOJARS_{lower:60}",
    "Docker Hub token": "dckr_pat_{word:26}x",
    "Docker configuration": '{"auths": {"r.example.org": {"auth": "⟦{b64:40}⟧"}}}',
    "Artifactory key": "AKCp{alnum:69}",
    "Sourcegraph token": "sgp_{hex:40}",
    "CircleCI token": "CCIPAT_{alnum:22}_{hex:40}",
    "Buildkite token": "bkua_{hex:40}",
    "Travis token": "travis_token: ⟦{alnum:22}⟧",
    "Drone token": "DRONECI_TOKEN=⟦{lower:32}⟧",
    "Snyk token": "SNYK_TOKEN=⟦{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}⟧",
    "Sonar token": "sqp_{hex:40}",
    "Codecov token": "CODECOV_TOKEN=⟦{lower:32}⟧",
    # Models.
    "Anthropic key": "sk-ant-api03-{word:92}x",
    "OpenAI key": "sk-proj-{alnum:48}",
    "OpenAI legacy key": "sk-{alnum:48}",
    "OpenRouter key": "sk-or-v1-{hex:64}",
    "Hugging Face token": "hf_{alnum:34}",
    "Groq key": "gsk_{alnum:52}",
    "xAI key": "xai-{alnum:80}",
    "Perplexity key": "pplx-{alnum:48}",
    "Replicate token": "r8_{alnum:37}",
    "Mistral key": "MISTRAL_API_KEY=⟦{alnum:32}⟧",
    "Cohere key": 'cohere_api_key = "⟦{alnum:40}⟧"',
    "Tavily key": "tvly-dev-{alnum:32}",
    "LangSmith key": "lsv2_pt_{hex:32}_{hex:10}",
    "Pinecone key": "pcsk_{alnum:60}",
    # Payment and shops.
    "Stripe live key": "sk_live_{alnum:24}",
    "Stripe test key": "sk_test_{alnum:24}",
    "Stripe restricted key": "rk_live_{alnum:24}",
    "Stripe webhook secret": "whsec_{alnum:32}",
    "Square token": "sq0atp-{word:21}x",
    "Braintree token": "access_token$production${lower:16}${hex:32}",
    "PayPal secret": "PAYPAL_CLIENT_SECRET=⟦E{word:78}x⟧",
    "Shopify token": "shpat_{hex:32}",
    "Shopify secret": "shpss_{hex:32}",
    "Plaid secret": "plaid_secret_key = '⟦{alnum:30}⟧'",
    "Coinbase token": "coinbase_access_token: ⟦{word:64}⟧",
    # Messages and mail.
    "Slack bot token": "xoxb-{digit:12}-{digit:12}-{alnum:24}",
    "Slack user token": "xoxp-{digit:12}-{digit:12}-{digit:12}-{hex:32}",
    "Slack app token": "xapp-1-A{upper:10}-{digit:13}-{hex:64}",
    "Slack webhook": "https://hooks.slack.com/services/T{upper:8}/B{upper:10}/{alnum:24}",
    "Discord token": "MT{alnum:22}.{alnum:6}.{alnum:38}",
    "Discord webhook": "https://discord.com/api/webhooks/{digit:18}/⟦{word:68}⟧",
    "Telegram token": "{digit:10}:AA{alnum:33}",
    "SendGrid key": "SG.{alnum:22}.{alnum:43}",
    "Mailgun key": "key-⟦{hex:32}⟧",
    "Mailchimp key": "{hex:32}-us12",
    "Brevo key": "xkeysib-{hex:64}-{alnum:16}",
    "Twilio key": "SK{hex:32}",
    "Twilio auth token": "TWILIO_AUTH_TOKEN=⟦{hex:32}⟧",
    "Teams webhook": "https://shop.webhook.office.com/webhookb2/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-"
    "{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{hex:32}/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
    # Operations.
    "Vault token": "hvs.{word:90}x",
    "Vault batch token": "hvb.{word:150}x",
    "Terraform token": "{alnum:14}.atlasv1.{alnum:66}",
    "Pulumi token": "pul-{hex:40}",
    "Databricks token": "dapi{hex:32}",
    "Doppler token": "dp.pt.{alnum:43}",
    "Grafana token": "glsa_{alnum:32}_{hex:8}",
    "Grafana cloud token": "glc_{b64:60}",
    "New Relic key": "NRAK-{upper:27}",
    "Datadog key": "DD_API_KEY=⟦{hex:32}⟧",
    "Dynatrace token": "dt0c01.{upper:24}.{upper:64}",
    "Sentry token": "sntryu_{hex:64}",
    "PagerDuty header": "Authorization: Token token=⟦{alnum:20}⟧",
    "Okta token": "okta_api_token = ⟦00{word:39}x⟧",
    "Tailscale key": "tskey-auth-{alnum:12}-{alnum:32}",
    "Linear key": "lin_api_{alnum:40}",
    "Notion token": "ntn_{alnum:46}",
    "Airtable token": "pat{alnum:14}.{hex:64}",
    "Asana secret": 'asana_client_secret = "⟦{lower:32}⟧"',
    "Atlassian token": "ATATT3xFfGF0{word:180}x",
    "Figma token": "figd_{word:39}x",
    "Postman key": "PMAK-{hex:24}-{hex:34}",
    "Supabase key": "sbp_{hex:40}",
    "PlanetScale password": "pscale_pw_{word:42}x",
    "Age key": "AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE",
    "1Password key": "A3-{upper:6}-{upper:11}-{upper:5}-{upper:5}-{upper:5}",
    "Docker organisation token": "dckr_oat_{word:26}x",
    "Supabase secret": "sb_secret_{word:30}x",
    "Contentful token": "CFPAT-{word:42}x",
    "Netlify token": "nfp_{alnum:36}",
    "Render key": "rnd_{alnum:32}",
    "Sonar user token": "squ_{hex:40}",
    "Square secret": "sq0csp-{word:42}x",
    "Fireworks key": "fw_{alnum:24}",
    "ElevenLabs key": "sk_{hex:48}",
    "PostHog key": "phx_{alnum:43}",
    "Cloudinary address": "cloudinary://{digit:15}:⟦{word:26}x⟧@shop",
    # Files and protocols.
    "PuTTY key": "Private-Lines: 2\n⟦{b64:64}\n{b64:64}⟧\n",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n{b64:64}\n{b64:64}\n{b64:40}\n-----END RSA PRIVATE KEY-----",
    "OpenSSH key": "-----BEGIN OPENSSH PRIVATE KEY-----\n{b64:70}\n{b64:70}\n-----END OPENSSH PRIVATE KEY-----",
    "PGP key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64:64}\n{b64:64}\n=aB3d\n"
    "-----END PGP PRIVATE KEY BLOCK-----",
    "JSON web token": "eyJ{alnum:20}.eyJ{alnum:40}.{word:42}x",
    ".netrc": "machine api.example.org login me password ⟦{alnum:12}⟧",
    ".pgpass": "db.example.org:5432:shop:admin:⟦{alnum:14}⟧",
    "kubeconfig key": "    client-key-data: ⟦{b64:400}=⟧",
    "kubeconfig token": "users:\n- name: me\n  user:\n    token: ⟦{alnum:40}⟧",
    "Kubernetes secret": "kind: Secret\ndata:\n  password: ⟦{b64:24}⟧",
    "PASSWORD in the environment": "PASSWORD=⟦{az:10}⟧",
    "database password": "DB_PASSWORD=⟦{alnum:10}⟧",
    "password in YAML": "  password: ⟦{alnum:12}⟧",
    "password in JSON": '{"user": "me", "password": "⟦{alnum:12}⟧"}',
    "password in code": "connect(user='me', password='⟦{alnum:14}⟧')",
    "password of properties": "spring.datasource.password=⟦{alnum:12}⟧",
    "ODBC connection": "Driver={SQL Server};Server=db;Uid=sa;Pwd=⟦{alnum:12}⟧;",
    "Bearer header": "Authorization: Bearer ⟦{word:40}x⟧",
    "Basic header": "Authorization: Basic ⟦{alnum:24}==⟧",
    "Authorization in curl": "curl -H 'Authorization: Bearer ⟦{alnum:32}⟧' https://api.example.org",
    "user of curl": "curl -u admin:⟦{alnum:14}⟧ https://api.example.org",
    "X-API-Key header": "X-API-Key: ⟦{alnum:32}⟧",
    "cookie": "Cookie: ⟦sessionid={alnum:32}⟧",
    "URL of PostgreSQL": "postgres://shop:⟦{alnum:12}⟧@db.example.org:5432/shop",
    "URL of Redis": "redis://:⟦{alnum:16}⟧@cache:6379/0",
    "URL of a git remote": "https://me:⟦{alnum:20}⟧@git.example.org/a.git",
    "URL of AMQP": "amqp://guest:⟦{alnum:12}⟧@mq:5672/",
    "MongoDB address": "mongodb+srv://me:⟦{alnum:16}⟧@c.example.org/test",
    "Django secret key": "SECRET_KEY = 'django-insecure-⟦{alnum:50}⟧'",
    "Rails secret": "secret_key_base: ⟦{hex:128}⟧",
    "Laravel key": "APP_KEY=⟦base64:{b64:43}=⟧",
    "WireGuard key": "[Interface]\nPrivateKey = ⟦{b64:43}=⟧",
    "shadow hash": "root:⟦$6${alnum:16}${alnum:86}⟧:19000:0:99999:7:::",
    "htpasswd hash": "me:⟦$apr1${alnum:8}${alnum:22}⟧",
    "sshpass": "sshpass -p ⟦{alnum:10}7⟧ ssh host",
    "option of a command": "deploy --token ⟦{alnum:24}7⟧ --force",
    "mysql option": "mysql -u root -p⟦{alnum:10}7⟧ shop",
    "Maven settings": "<password>⟦{alnum:14}7⟧</password>",
    "Gradle properties": "signing.password=⟦{alnum:14}⟧",
}


def made(template: str, seed: str = "") -> tuple[str, str]:
    """Return a text of a kind, and the secret in it."""
    source = random.Random(template + seed)
    text = _PART.sub(lambda part: _characters(source, part[1], int(part[2])), template)
    before, opened, rest = text.partition("⟦")
    if not opened:
        return text, text
    secret, _, after = rest.partition("⟧")
    return before + secret + after, secret


def _characters(source: random.Random, alphabet: str, count: int) -> str:
    """Return random characters: with a letter and a digit if there are both, as every real token has."""
    while True:
        found = "".join(source.choices(ALPHABETS[alphabet], k=count))
        has_digit = any(map(str.isdigit, found)) or not set(string.digits) & set(ALPHABETS[alphabet])
        if (has_digit or count < 4) and found[0].isalnum():
            return found

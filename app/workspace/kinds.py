"""Kinds of files that are no use to a model, or must never reach one: secret, binary, minified, generated."""

import re
from urllib.parse import unquote

SAMPLE = 65536  # characters at the start of a text that are looked at
HEAD = 3000  # and where a generator says so, if it does

_SECRET_NAMES = re.compile(
    r"""
    \.env.*|.*\.env|\.?netrc|_netrc|\.?pgpass(\.conf)?|\.npmrc|\.yarnrc\.yml|\.pypirc|\.htpasswd|\.git-credentials|\.my\.cnf
    |\.s3cfg|\.boto|\.dockercfg|\.vault-token|\.?vault[-_.]?pass(word)?(\.txt)?|\.?passwd|shadow
    |.*\.(pem|key|p8|p12|pfx|pkcs12|jks|keystore|kdbx?|ppk|ovpn|gpg|pgp|age|tfvars|tfstate|tfstate\.backup|agekey)
    |.*\.(auto\.)?tfvars\.json|id_[^.]*|id_(rsa|dsa|ecdsa|ed25519)(?!.*\.pub\Z).*
    |(.*[-_.])?(credentials?|secrets?)([-_.].*)?\.(json|ya?ml|toml|ini|cfg|conf|config|xml|txt|csv|properties|db|sqlite|enc|plist)
    |credentials?|secrets?|client_secrets?.*\.json|service[-_]?account.*\.json|local\.settings\.json
    |(.*\.)?env\.(prod(uction)?|dev(elopment)?|local|stag(e|ing)|test(ing)?|live|secrets?)
    |pip\.(conf|ini)|auth\.json|kubeconfig(\.ya?ml)?|\.terraformrc|\.databrickscfg
    |\.renviron|vault\.ya?ml|.*firebase-adminsdk.*\.json
    |.*_history|tokens?(\.(json|txt|ya?ml))?|.*(api[-_]?keys?|passwords?|passphrases?)(\.(json|txt|ya?ml|toml|ini|csv))?
    """,
    re.VERBOSE | re.DOTALL,  # a name may have line ends in it
)
_SECRET_PATHS = {(".git", "config"), ("gh", "hosts.yml"), (".config", "hub"), (".composer", "config.json")}
_SECRET_FOLDERS = {".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".password-store", ".kube", ".docker"}
_GENERATED_NAMES = re.compile(
    r"""
    .*\.min\.(js|css|mjs)|.*\.map|.*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum
    |.*_pb2(_grpc)?\.pyi?|.*\.pb\.(go|cc|h)|.*\.g(enerated)?\.(cs|dart|ts|go)|.*\.freezed\.dart|.*\.designer\.cs
    """,
    re.VERBOSE,
)
_SCHEME = re.compile(r"[A-Za-z][\w+.-]+:")  # of a URI; a drive's name is shorter
_COMMENT = re.compile(r"^[ \t]*(?:#|//|/\*|\*|--|;|<!--|%|\"|'|\{-|\(\*)(.*)$", re.MULTILINE)
_GENERATED = re.compile(
    r"""
    @generated\b|<auto-?generated|\bcode\ generated\ by\b|\bgenerated\ by\ the\ protocol\ buffer\ compiler
    |\b(this\ (file|code|module)|file|code)\ (is|was|has\ been)\ (automatically\ |auto-?|machine[- ])?generated\b
    |^\W*(automatically|auto-?|machine[- ])\ ?generated\b
    |\bgenerated\b.{0,120}\bdo\ not\ (edit|modify|change)\b|\bdo\ not\ (edit|modify|change)\b.{0,120}\bgenerated\b
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_UNPRINTED = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")


def is_secret_file(path: str) -> bool:
    """Whether a file of this name holds keys, passwords or the like. A path or URI, of any system."""
    if _SCHEME.match(path):
        path = unquote(re.split("[?#]", path, maxsplit=1)[0])
    parts = path.replace("\\", "/").rstrip("/").casefold().split("/")
    *folders, name = (part.strip().rstrip(". ") or part for part in parts)  # some systems leave blanks and dots out
    if (*folders[-1:], name) in _SECRET_PATHS:
        return True
    return _SECRET_NAMES.fullmatch(name) is not None or not _SECRET_FOLDERS.isdisjoint(folders)


def is_generated_file(path: str) -> bool:
    """Whether files of this name are written by programs, such as lock files."""
    return _GENERATED_NAMES.fullmatch(path.replace("\\", "/").rsplit("/", 1)[-1].casefold()) is not None


def is_generated(text: str) -> bool:
    """Whether a program wrote this text, and says so in a comment at its start."""
    return _GENERATED.search("\n".join(_COMMENT.findall(text[:HEAD]))) is not None


def is_minified(text: str) -> bool:
    """Whether lines are so long that no person writes them: minified code, or data."""
    sample = text[:SAMPLE]
    lines = [len(line) for line in sample.split("\n") if line.strip()]
    return bool(lines) and max(lines) >= 1000 and sum(lines) / len(lines) > 250


def is_binary(text: str) -> bool:
    """Whether this is no text at all, or was decoded in a wrong encoding."""
    sample = text[:SAMPLE]
    return "\x00" in sample or len(_UNPRINTED.findall(sample)) > len(sample) / 100

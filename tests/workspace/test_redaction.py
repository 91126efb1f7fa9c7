"""Secrets are replaced, everything else stays, and nothing moves."""

import re
import string
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.workspace import redaction
from paceline.workspace.redaction import REACH, looks_random, redact, redact_part

if sys.version_info >= (3, 11):
    from re._parser import parse
else:
    from sre_parse import parse

RANDOM = "9af8c01d77ab42e0b8c1a2d3e4f50617"
BASE64 = "wJalrXUtnFEMI9K7MDENG3bPxRfiCY91aaZZqqTT"
# the beginnings are put together here, so that no scanner of repositories takes this file for a leak
SECRETS = {
    "an AWS key": "AKIA" + "IOSFODNN7ABCDEFG",
    "a Google key": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "a GitHub token": "ghp" + "_0123456789abcdefghijABCDEFGHIJ012345",
    "a fine-grained GitHub token": "github" + "_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789",
    "a GitLab token": "glpat" + "-4fZ8kQ2mL9xR1vB7nT3w",
    "a Slack token": "xoxb" + "-123456789012-abcdefABCDEF",
    "a Stripe key": "sk" + "_live_4eC39HqLyjWDarjtT1zdp7dc",
    "an OpenAI key": "sk-" + "proj-4fZ8kQ2mL9xR1vB7nT3wY6pJ0sD5gH",
    "a Hugging Face token": "hf" + "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3x",
    "a signed token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}
GIVEN = [
    (f"AWS_SECRET_ACCESS_KEY={BASE64}", BASE64),
    (f'aws_secret_access_key = "{BASE64}"', BASE64),
    (f"const apiKey = '{RANDOM}';", RANDOM),
    (f'"api-key": "{RANDOM}",', RANDOM),
    (f'os.environ["API_TOKEN"] = "{RANDOM}"', RANDOM),
    (f'os.Setenv("API_TOKEN", "{RANDOM}")', RANDOM),
    (f'curl -H "Authorization: Bearer {RANDOM}"', RANDOM),
    (f"client_secret: {RANDOM}", RANDOM),
    ("SECRET_KEY = 'django-insecure-#k2v9x!q8z@7w4m$e1r5t6y3u0'", "django-insecure-#k2v9x!q8z@7w4m$e1r5t6y3u0"),
    ('password = "hunter22"', "hunter22"),
    ('password: str = "S3cret!!x"'.replace("S3cret", "Gr8!zebra"), "Gr8!zebra!!x"),
    ("DB_PASSWORD=tr0ub4dor&3", "tr0ub4dor&3"),
    ("password: Tr0ub4dor!", "Tr0ub4dor!"),
    ('if passwd == "opensesame!":', "opensesame!"),
    ("db = 'postgres://app:h4rdT0Guess@db.example.org/x'", "h4rdT0Guess"),
    ("redis://:f00b4rb4z@cache:6379", "f00b4rb4z"),
    ("DB_PASS=hunter2hunter", "hunter2hunter"),
    ("export API_TOKEN=k9v3m1x8", "k9v3m1x8"),
    ("ssh_pass = 'q1w2e3r4'", "q1w2e3r4"),
    ("mysql -u root -pS3cretPw db".replace("S3cret", "Gr8Zebra"), "Gr8ZebraPw"),
    ("curl -u admin:Gr8Zebra55 https://example.org", "Gr8Zebra55"),
    (f'secret := []byte("{RANDOM}")', RANDOM),
    (f'"auth": "{RANDOM}"', RANDOM),
    (f"api_key=\n    '{RANDOM}'", RANDOM),
    (f"private_key = '0x{'9af8c01d77ab42e0' * 4}'", f"0x{'9af8c01d77ab42e0' * 4}"),
    ("bot = '123456789" + f":AA{'x7Kq' * 8}z'", f"123456789:AA{'x7Kq' * 8}z"),
    ("twilio = 'SK" + f"{RANDOM}'", f"SK{RANDOM}"),
]
BLOB = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0PbnGcsqFvX8aBcDeFgHiJkLmNo\n"
PRIVATE = "PRIVATE KEY-----"


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_key_is_known_by_its_beginning(secret):
    assert redact(f'x = f("{secret}")\n') == 'x = f("' + "*" * len(secret) + '")\n'


@pytest.mark.parametrize(("line", "secret"), GIVEN)
def test_a_value_is_known_by_the_name_it_is_given(line, secret):
    assert redact(f"a = 1\n{line}\nb = 2\n") == f"a = 1\n{line}\nb = 2\n".replace(secret, "*" * len(secret))


@pytest.mark.parametrize(
    "line",
    [
        "token = tokens[0]",
        "tests_passed = 'a1b2c3d4'",
        "PASSWORD=password, TOKEN=token_2",
        "export DB_PASSWORD=$1",
        "MAX_TOKENS_KEY = 4096",
        "curl -u user:password https://example.org",
        "mysql -p database",
        "sha256 = '" + "9af8c01d77ab42e0" * 4 + "'",
        'token = "identifier"',
        'password = getpass("Password: ")',
        'password = os.environ["PASSWORD"]',
        "password=password, token=token_2",
        "api_key = settings.api_key_for_user_2",
        '"max_tokens_per_1_minute": max_tokens_per_1_minute,',
        'PASSWORD = "password"',
        'password = "<your password>"',
        'TOKEN = "[a-zA-Z_][a-zA-Z0-9_-]*"',
        "DATABASE_URL=postgres://app:${PASSWORD}@db/x",
        "https://user:password@example.org",
        'TYPE = "urn:ietf:params:oauth:token-type:access_token"',
        "sk-estimator-doc-link-container-item",
        "secret_santa = choose(people_2024, 3)",
        'commit = "9af8c01d77ab42e0b8c1a2d3e4f50617"',
        'hint: "press the key: enter, or the token: abc"',
    ],
)
def test_code_about_secrets_is_no_secret(line):
    assert redact(line + "\n") == line + "\n"


def test_a_key_block_is_replaced_and_its_frame_stays():
    text = f"k = '''-----BEGIN RSA {PRIVATE}\n{BLOB * 3}-----END RSA {PRIVATE}\n'''\nx = 1\n"
    assert redact(text) == text.replace(BLOB.strip(), "*" * 64)


def test_a_key_block_that_is_cut_off_at_either_end_is_replaced_too():
    head, foot = f"-----BEGIN {PRIVATE}\n", f"-----END {PRIVATE}\n"
    hidden = ("*" * 64 + "\n") * 4
    assert redact(head + BLOB * 4) == head + hidden
    assert redact(BLOB * 4 + foot) == hidden + foot
    assert redact(head + BLOB * 4 + "x = 1\ny = 2\n") == head + hidden + "x = 1\ny = 2\n"


def test_a_short_key_that_is_being_pasted_is_replaced():
    text = f"-----BEGIN EC {PRIVATE}\nMHcCAQEEIIrYSSNQFaA2Hwf1duRS\n"
    assert redact(text) == text.replace("MHcCAQEEIIrYSSNQFaA2Hwf1duRS", "*" * 28)


def test_public_keys_and_code_after_a_lone_head_stay():
    text = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----\n"
    assert redact(text) == text
    assert redact(f"# starts with -----BEGIN {PRIVATE}\ndef f():\n    return 1\n").endswith("def f():\n    return 1\n")


KEY_BLOCK = f"-----BEGIN {PRIVATE}\n{BLOB * 40}TUlJRXBBSUJBQQ\n-----END {PRIVATE}\n"
CODE = "def f(value):\n    return value + 1\n\n\n"


@pytest.mark.parametrize("block", [KEY_BLOCK, KEY_BLOCK.replace(PRIVATE, "CERTIFICATE-----"), BLOB * 5])
def test_a_secret_of_several_lines_is_known_whatever_edge_cuts_it(block):
    text = CODE * 50 + block + CODE * 50
    whole, begin = redact(text), len(CODE) * 50
    assert whole != text
    for edge in range(begin, begin + len(block), 7):
        assert redact_part(text, edge, len(text)) == whole[edge:]
        assert redact_part(text, 0, edge) == whole[:edge]


def test_a_part_within_a_long_key_block_is_replaced_though_neither_end_is_near():
    short_lines = "TUlJRXBBSUJBQQ\n" * 600  # which by themselves look like nothing
    text = CODE + f"-----BEGIN {PRIVATE}\n" + short_lines + f"-----END {PRIVATE}\n" + CODE
    middle = len(text) // 2
    assert set(redact_part(text, middle, middle + 50)) == {"*", "\n"}


def test_what_is_looked_at_around_a_part_is_bounded(monkeypatch):
    seen = []
    monkeypatch.setattr(redaction, "redact", lambda text: seen.append(len(text)) or text)
    redact_part(KEY_BLOCK * 2000, 3_000_000, 3_001_000)
    assert seen[0] <= 1000 + 2 * REACH + redaction.LONG


def test_letters_whose_lower_case_is_longer_move_nothing():
    assert redact('İİİ\npassword = "hunter22"\n') == 'İİİ\npassword = "********"\n'


def test_nothing_is_found_twice():
    text = "".join(f"{line}\n" for line, _ in GIVEN)
    assert redact(redact(text)) == redact(text) != text


pieces = st.sampled_from(
    [*SECRETS.values(), *(line for line, _ in GIVEN), BLOB, "\r\n", "\n", " = ", '"', "token", "://"]
)


@given(st.lists(st.one_of(pieces, st.text(max_size=12)), max_size=12).map("".join))
def test_length_and_blanks_stay_and_only_asterisks_come(text):
    found = redact(text)
    assert len(found) == len(text)
    assert all(new in (old, "*") for old, new in zip(text, found, strict=True))
    assert re.findall(r"\s", found) == re.findall(r"\s", text)


lines_given = [line for line, _ in GIVEN]
long_pieces = st.sampled_from([KEY_BLOCK, BLOB * 3, BLOB * 2, CODE * 30, CODE * 200, *SECRETS.values(), *lines_given])


@given(st.lists(long_pieces, max_size=8).map("\n".join), st.data())
def test_a_part_is_redacted_as_the_whole_text_is(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert redact_part(text, start, end) == redact(text)[start:end]


@given(st.text(string.ascii_lowercase + "_. ", max_size=60))
def test_words_and_names_never_look_random(text):
    assert not looks_random(text)


def test_the_standard_library_has_no_secrets():
    base = Path(sysconfig.get_paths()["stdlib"])
    files = [*base.glob("*.py"), *base.glob("email/*.py"), *base.glob("http/*.py"), *base.glob("asyncio/*.py")]
    assert len(files) > 150
    assert [path for path in files if redact(text := path.read_text("utf-8")) != text] == []


def test_no_pattern_reaches_farther_than_a_secret_may_be_long():
    tried_everywhere = [value for value in vars(redaction).values() if isinstance(value, re.Pattern)]
    tried_everywhere += [pattern for _, pattern, _ in redaction._KEY_PATTERNS]
    assert len(tried_everywhere) > 30
    bounded = {
        pattern.pattern: parse(pattern.pattern, pattern.flags & ~re.UNICODE).getwidth()[1]
        for pattern in tried_everywhere
    }
    on_values_only = {redaction._PLACE, redaction._PATHLIKE, redaction._WORDY, redaction._BLOB}  # of bounded length
    for pattern in on_values_only:
        del bounded[pattern.pattern]
    assert max(bounded.values()) <= redaction.LONG

"""The anchored prompt with a real vocabulary: `pytest -m models`, after `paceline setup`."""

import itertools
from pathlib import Path

import pytest

from paceline import config as configuration
from paceline import paths
from paceline.daemon import selection
from paceline.engine.llama import read_vocabulary
from paceline.models.progress import Silent
from paceline.prompts import fim, trim

pytestmark = [pytest.mark.models, pytest.mark.timeout(1200)]
PLENTY = fim.Budget(4000, 1000)


@pytest.fixture(scope="module")
def vocabulary():
    config = configuration.load(paths.config_file())
    return read_vocabulary(selection.fetch(selection.pair_files(config), config, lambda label: Silent())[0])


@pytest.mark.parametrize("module", [fim, trim])
@pytest.mark.parametrize("begin", [1000, 3000])
def test_every_character_that_is_typed_changes_only_the_last_tokens(vocabulary, module, begin):
    text = Path(module.__file__).read_text(encoding="utf-8")
    start = 1 + text.index("\n", begin)
    prompts = [
        fim.build_between(text[:end], text[start + 400 :], vocabulary, PLENTY, anchor=end - start)
        for end in range(start, start + 300)
    ]
    lost = []  # tokens of a prompt that the next one has no use for
    for before, now in itertools.pairwise(prompts):
        pairs = zip(before.tokens, now.tokens, strict=False)
        lost.append(len(before.tokens) - sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    assert max(lost) <= 3
    assert sum(lost) / len(lost) < 1

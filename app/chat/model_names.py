"""Names of models as people write them, from ids and names of files: "SmolLM2 135M", "Qwen2.5-Coder 1.5B". Pure."""

import re

LONGEST = 100  # characters of a name that is understood
# words of names, as their makers write them; what follows in digits stays
_WORDS = (
    *("Qwen", "QwQ", "CodeQwen", "SmolLM", "SmolVLM", "TinyLlama", "CodeLlama", "Llama", "DeepSeek", "StarCoder"),
    *("StarChat", "Mistral", "Mixtral", "Ministral", "Mathstral", "Codestral", "Devstral", "Magistral", "Gemma"),
    *(
        "CodeGemma",
        "MedGemma",
        "Phi",
        "Granite",
        "GLM",
        "ChatGLM",
        "CodeGeeX",
        "gpt",
        "oss",
        "OLMo",
        "OLMoE",
        "InternLM",
    ),
    *("OpenCoder", "EXAONE", "Falcon", "Nemotron", "LFM", "MiniCPM", "MiniMax", "ERNIE", "Kimi", "StableLM", "Yi"),
    *("Coder", "Seed", "Hermes", "Zephyr", "Command", "Jamba", "WizardCoder", "Codegen", "Refact", "Distill"),
    "mini",
)
_KNOWN = {word.lower(): word for word in _WORDS}
_FAMILIES = frozenset(_KNOWN) - {
    "coder",
    "distill",
    "oss",
    "command",
    "seed",
    "mini",
}  # that tell a model without a size
# what stands apart from a family's name, and of which families: "Llama 3.2", "Mistral Small"
_SPACED = frozenset({"llama", "gemma", "granite", "yi", "falcon", "mistral", "devstral", "magistral"})
_SERIES = frozenset({"small", "medium", "large", "nemo"})
_MAKERS = frozenset({"meta", "mistralai", "google", "microsoft", "ibm"})  # before a family, say nothing
_KINDS = frozenset({"instruct", "it", "chat", "base", "hf", "gguf", "pt", "text"})  # of training, and formats
_TOPICS = frozenset({"code", "coder", "math", "vision", "vl"})  # worth saying also behind the size
_QUANTISATION = re.compile(
    r"[-._](?:ud-|i1-)?(?:i?q\d(?:_\w+)?|t?q\d_\d|b?f16|f32|fp16|fp8|int[48]|mxfp4(?:_\w+)?|gguf)$", re.IGNORECASE
)
_SIZE = re.compile(r"(?:\d+x)?[ea]?\d+(?:\.\d+)?[bmt]", re.IGNORECASE)
_WORD = re.compile(r"([a-z]+?)(v?\d[\d.]*[a-z]?)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}")  # of a release, such as 2501
_VERSION = re.compile(r"v?\d+(?:\.\d+)*[a-z]?", re.IGNORECASE)


def called(*names: str) -> str:
    """What people call a model, from the first of its names that tells a size or a usual family; "": none does.

    A name is an id such as `smollm2-135m-instruct-q4_1`, a file's or a repository's name, or what a GGUF file says.
    """
    return next((found for name in names if (found := _called(name))), "")


def _called(name: str) -> str:
    words = _words(name)
    at = next((i for i, word in enumerate(words) if i and _SIZE.fullmatch(word)), None)
    if at is None:
        return _family(words) if _is_family(words) else ""
    sizes = [_size(words[at])]
    if at + 1 < len(words) and re.fullmatch(r"a\d+(?:\.\d+)?b", words[at + 1], re.IGNORECASE):
        sizes.append(_size(words[at + 1]))  # of what is active
    topics = [word.capitalize() for word in words[at + 1 :] if word.lower() in _TOPICS]
    return " ".join(filter(None, (_family(words[:at]), "-".join(sizes), *topics)))


def _words(name: str) -> list[str]:
    """The words of a name without folders, ending and quantisation."""
    if len(name) > LONGEST or not name.isprintable():
        return []
    bare = re.split(r"[\\/]", name.strip())[-1]
    while (shorter := _QUANTISATION.sub("", bare)) != bare:
        bare = shorter
    words = [word for word in re.split(r"[-_ ]+", bare) if word]
    return words[1:] if len(words) > 1 and words[0].lower() in _MAKERS else words


def _is_family(words: list[str]) -> bool:
    """Whether the first word is a usual family's."""
    found = _WORD.fullmatch(words[0]) if words else None
    return found is not None and found[1].lower() in _FAMILIES


def _family(words: list[str]) -> str:
    """Words before the size, joined as their makers do, without what they say of training and release."""
    words = [word for word in words if word.lower() not in _KINDS and not _DATE.fullmatch(word)]
    written = ""
    for i, word in enumerate(words):
        told = _VERSION.fullmatch(word) or word.lower() in _SERIES
        apart = i == 1 and words[0].lower() in _SPACED and told
        written += (" " if apart else "-" if i else "") + _written(word)
    return written


def _written(word: str) -> str:
    """A word with its capitals; one that has some of its own, and is not known, keeps them."""
    found = _WORD.fullmatch(word)
    if found and (known := _KNOWN.get(found[1].lower())):
        return known + (found[2] or "")
    if re.fullmatch(r"[vr]\d[\d.]*", word):
        return word.upper()
    return word if word != word.lower() or _VERSION.fullmatch(word) else word[:1].upper() + word[1:]


def _size(word: str) -> str:
    return word.upper().replace("X", "x")

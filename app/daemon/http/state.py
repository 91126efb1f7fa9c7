"""What the server tells about itself and its models: OpenAI's and llama.cpp's addresses. None of them loads models."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from paceline.daemon.http.answers import Model, ModelList
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.llamacpp import settings
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from paceline.config import Config
    from paceline.daemon.host import Host
    from paceline.engine.status import SlotStatus


def models(host: "Host") -> ModelList:
    """GET /v1/models: the pair, under its target's name."""
    service = host.loaded
    if service is None:
        name = configured(host.config)
        return ModelList(data=[Model(id=name, created=0)] if name else [])
    meta = {"n_ctx": service.n_ctx, "n_vocab": service.vocabulary.n_tokens, "notes": list(service.notes)}
    return ModelList(data=[Model(id=service.model, created=int(service.loaded_at), meta=meta)])


def configured(config: "Config") -> str:
    """The target's id, as it is called once it is loaded; "" where the configuration names none."""
    from paceline.daemon.selection import pair_files

    try:
        files = pair_files(config)
    except PacelineError:  # it names something that is not known; loading it will say so
        return config.models.target or config.models.pair
    return files.target.id if files else ""


def check_ready(host: "Host") -> None:
    """Raises RequestError while models are being loaded, as llama.cpp's /health tells it."""
    if host.loading:
        raise RequestError(503, "Loading model", headers={"Retry-After": "1"})


def props(host: "Host") -> dict[str, Any]:
    """GET /props. Without a loaded model it sleeps, as llama.cpp calls it: a request wakes it up."""
    service, config = host.loaded, host.config
    n_ctx = 0 if service is None else service.n_ctx
    vocabulary = None if service is None else service.vocabulary
    return {
        "default_generation_settings": {
            "id": 0,
            "id_task": -1,
            "n_ctx": n_ctx,
            "speculative": config.engine.speculation != "off",
            "is_processing": False,
            "params": settings(config, n_ctx),
        },
        "total_slots": config.engine.parallel,
        "model_alias": configured(config) if service is None else service.model,
        "model_path": configured(config) if service is None else service.model,
        "chat_template": "" if vocabulary is None else vocabulary.chat_template or "",
        "bos_token": "" if vocabulary is None else vocabulary.text_of(vocabulary.bos),
        "eos_token": "" if vocabulary is None else vocabulary.text_of(vocabulary.eos),
        "modalities": {"vision": False, "audio": False},
        "build_info": f"paceline {version('paceline')}",
        "is_sleeping": service is None,
    }


def slots(host: "Host", *, one_free: bool) -> list[dict[str, Any]]:
    """GET /slots: llama.cpp's fields, and our own. Raises RequestError where `one_free` is asked for and none is."""
    service = host.loaded
    if service is None:
        return []
    found = service.status().slots
    if one_free and all(slot.state != "idle" for slot in found):
        raise RequestError(503, "no slot available", "try again a little later", headers={"Retry-After": "1"})
    speculative = host.config.engine.speculation != "off"
    return [_slot(slot, service.n_ctx, speculative) for slot in found]


def _slot(slot: "SlotStatus", n_ctx: int, speculative: bool) -> dict[str, Any]:
    busy = slot.state != "idle"
    return {
        "id": slot.id,
        "id_task": slot.id if busy else -1,
        "n_ctx": n_ctx,
        "speculative": speculative,
        "is_processing": busy,
        "next_token": {"has_next_token": busy, "n_remain": -1, "n_decoded": slot.produced},
        "state": slot.state,
        "tokens": slot.tokens,
        "prompt_tokens": slot.prompt_tokens,
        "priority": slot.priority,
    }

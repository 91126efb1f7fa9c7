"""What `paceline doctor` looks at, one check after the other: what was found, and what to do about it."""

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from paceline import config as configuration
from paceline import paths
from paceline.config import Config
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from paceline.client.client import Client
    from paceline.daemon.assembly import Installed
    from paceline.daemon.probe import Daemon
    from paceline.daemon.selection import PairFiles
    from paceline.engine.vocabulary import Vocabulary

Verdict = Literal["ok", "warning", "problem"]
PACKAGES = ("llama-cpp-python", "numpy", "huggingface-hub", "httpx", "textual", "pygls")
LITTLE_DISK = 2_000_000_000  # bytes; less than the pair for small machines with some room


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `details`: further lines for who wants to know."""

    name: str
    verdict: Verdict
    found: str
    hint: str = ""
    details: tuple[str, ...] = ()


class Examination:
    """Runs the checks in order; a later one uses what an earlier one found, and is left out where it found nothing."""

    def __init__(self, *, load: bool) -> None:
        self._load = load
        self._config = Config()
        self._files: PairFiles | None = None
        self._found: list[Path] = []
        self._installed: Installed | None = None
        self._vocabulary: Vocabulary | None = None
        self._daemon: Daemon | None = None
        self._names: tuple[str, ...] | None = None  # of models elsewhere

    def run(self) -> Iterator[Check]:
        """Every check, as soon as it is made. Never raises: what goes wrong is a problem found."""
        yield from _guarded("packages", _packages)
        config = list(_guarded("config", self._read_config))
        yield from config
        yield from _guarded("catalogue", _catalogue)
        if self._config.engine.url:  # then nothing on this machine is asked
            yield from self._all_elsewhere()
            return
        yield from _guarded("daemon", self._running)
        if config[-1].verdict != "problem":  # otherwise nobody knows which models and which store are meant
            yield from _guarded("store", self._store)
            yield from _guarded("models", self._models)
        llama = list(_guarded("llama.cpp", _llama))
        yield from llama
        if llama[-1].verdict == "problem":
            return
        yield from _guarded("GPU", self._gpu)
        if not self._found:
            return
        yield from _guarded("plan", self._plan)
        if self._installed is None:
            return
        for name, probe in (
            ("pair", self._pair),
            ("chat", self._template),
            ("infilling", self._infilling),
            ("costs", self._costs),
            ("self-test", self._self_test),
        ):
            yield from _guarded(name, probe)

    def _all_elsewhere(self) -> Iterator[Check]:
        """The server that `engine.url` names, and what it answers."""
        yield from _guarded("engine", self._elsewhere)
        if self._names is not None and self._load:
            yield from _guarded("self-test", lambda: self._asked(answers=True))

    def _elsewhere(self) -> Iterator[Check]:
        from paceline.client.client import connect

        url, model = self._config.engine.url, self._config.engine.model
        with connect(self._config) as client:
            self._names = client.models()
        some = ", ".join(self._names[:3]) + (f" and {len(self._names) - 3} more" if len(self._names) > 3 else "")
        if model and model not in self._names:
            found = f"{url} does not list the model {model}, but {some or 'none'}"
            yield Check("engine", "warning", found, "name one of these in engine.model")
        elif not self._names:
            yield Check("engine", "warning", f"{url} answers, but lists no model", "name one in engine.model")
        else:
            yield Check("engine", "ok", f"{url} answers, with {model or self._names[0]}", details=self._names)

    def _asked(self, *, answers: bool) -> Iterator[Check]:
        """What the engine says that editors ask, too: the daemon that runs, or a server elsewhere."""
        from paceline.commands import self_test

        with self._client() as client:
            if answers:
                yield from _guarded("self-test", lambda: [Check("self-test", "ok", self_test.answered(client))])
            yield from _completion(lambda: self_test.completed(client))

    def _client(self) -> "Client":
        """For the daemon that was found, or for a server elsewhere."""
        from paceline.client.client import Client, connect
        from paceline.client.local import Local

        found = self._daemon
        if found is None:
            return connect(self._config)
        return Client(Local(self._config, lambda config, say: found.endpoint, lambda line: None))

    def _running(self) -> Iterator[Check]:
        """Whether a daemon runs, and whether one could: its folder must be ours alone."""
        from paceline.daemon import probe
        from paceline.daemon.launch import fits
        from paceline.daemon.runtime import Runtime
        from paceline.daemon.settings import config_digest

        runtime = Runtime.open()
        found = probe.find(runtime)
        if found is None:
            yield Check("daemon", "ok", f"none is running; the next request starts one in {runtime.folder}")
            return
        hello, ours = found.hello, metadata.version("paceline")
        running = f"Paceline {hello.version}, process {hello.pid}"
        if fits(hello, ours, config_digest(self._config)):
            self._daemon = found
        else:
            running += ", for another configuration or version: the next request replaces it"
        hint = "" if hello.version == ours else "paceline stop; the next request starts the installed version"
        yield Check("daemon", "warning" if hint else "ok", running, hint)

    def _read_config(self) -> Iterator[Check]:
        path = paths.config_file()
        self._config = configuration.load(path)
        from paceline.tui.settings import wrong

        faults = wrong(self._config.chat)
        for fault in faults:
            yield Check("config", "warning", fault, f"mend that in {path}; the usual is used meanwhile")
        if not faults:
            found = f"{path} is valid" if path.exists() else f"no {path}: all settings are the defaults"
            yield Check("config", "ok", found)

    def _store(self) -> Iterator[Check]:
        from paceline.daemon.selection import store_of
        from paceline.models.download import human
        from paceline.models.hardware import disk_free

        root = store_of(self._config).root
        there = root
        while not there.exists() and there != there.parent:
            there = there.parent
        elsewhere = "choose another folder: models.directory in the configuration"
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            yield Check("store", "warning", f"{root} cannot be written: no model can be fetched", elsewhere)
            return
        free = disk_free(root)
        found = f"{root}, {human(free)} free" + ("" if root.exists() else ", not created yet")
        yield Check("store", "warning" if free < LITTLE_DISK else "ok", found, elsewhere if free < LITTLE_DISK else "")

    def _models(self) -> Iterator[Check]:
        from paceline.daemon.selection import pair_files, store_of
        from paceline.models.download import human
        from paceline.models.gguf import read_header
        from paceline.models.header import show

        self._files = pair_files(self._config)
        if self._files is None:
            yield Check("models", "problem", "no models are chosen yet", "run `paceline setup`")
            return
        store, good = store_of(self._config), True
        for role, file in zip(("target", "draft"), self._files.files, strict=False):
            status, path = store.status(file), store.path(file)
            if status.state in ("missing", "partial"):
                good = False
                part = f", {human(status.bytes)} of it are" if status.state == "partial" else ""
                hint = "check the path" if file.path else f"paceline models pull {file.id}"
                yield Check(role, "problem", f"{file.id} is not here{part}: {path}", hint)
                continue
            try:
                header = read_header(path)
                kind = f"{show(header.architecture)}, {show(header.quantisation)}, {human(status.bytes)}"
            except PacelineError as error:
                good = False
                yield Check(role, "problem", error.message, error.hint)
                continue
            own = ", your own file" if file.path else ""
            if status.state == "unverified":
                hint = f"paceline models verify {file.id}"
                yield Check(role, "warning", f"{file.id} ({kind}) has not been verified: {path}", hint)
            else:
                yield Check(role, "ok", f"{file.id} ({kind}{own}): {path}")
        if good:
            self._found = [store.path(file) for file in self._files.files]

    def _gpu(self) -> Iterator[Check]:
        from paceline.daemon.selection import store_of
        from paceline.engine import llama
        from paceline.models.hardware import detect, gpu_advice

        hardware, devices = detect(store_of(self._config).root), llama.devices()
        advice = gpu_advice(hardware, llama.supports_gpu())
        if devices:
            yield Check("GPU", "ok", ", ".join(f"{device.description} ({device.name})" for device in devices))
        elif advice:
            found, _, mend = advice.partition(". ")
            yield Check("GPU", "warning", found, mend)
        elif hardware.gpus:
            names = ", ".join(gpu.name for gpu in hardware.gpus)
            hint = "check the driver and its libraries; this build of llama.cpp may be for another kind of GPU"
            yield Check("GPU", "warning", f"llama.cpp can offload, but does not see {names}", hint)
        else:
            yield Check("GPU", "ok", "none: models run on the CPU")

    def _plan(self) -> Iterator[Check]:
        from paceline.commands import describe
        from paceline.daemon import assembly

        self._installed = found = assembly.inspect(
            self._found[0], self._found[1] if len(self._found) > 1 else None, self._config
        )
        how = found.plan.target
        what = f"{how.n_ctx} tokens of context, {how.n_threads} threads, {how.gpu_layers} layers on GPU"
        details = (*found.plan.reasons, *describe.memory(found.plan))
        yield Check("plan", "ok", what, details=details)
        for warning in found.plan.warnings:
            yield Check("plan", "warning", warning, "see the engine section of the configuration")
        if len(self._found) > 1 and found.draft is None:
            yield Check("plan", "warning", "the draft model is left out", "end other programs, or take a smaller pair")

    def _pair(self) -> Iterator[Check]:
        from paceline.daemon import assembly

        if len(self._found) < 2:
            yield Check("pair", "ok", "no draft model is configured; drafts come from the text itself")
            return
        fit = assembly.pair_fit(self._found[0], self._found[1])
        how = fit.fault or (f"through text, as {fit.difference}" if fit.difference else "their tokens are the same")
        names = f"{self._found[1].name} {'cannot' if fit.fault else 'can'} draft for {self._found[0].name}"
        hint = 'choose another pair, or set models.draft = "none"' if fit.fault else ""
        yield Check("pair", "problem" if fit.fault else "ok", f"{names}: {how}", hint)

    def _template(self) -> Iterator[Check]:
        assert self._installed is not None
        if self._installed.headers[0].chat_template:
            yield Check("chat", "ok", "the target has a chat template")
        else:
            hint = "for `paceline ask`, choose a model made for chat"
            yield Check("chat", "warning", "the target has no chat template: it cannot answer questions", hint)

    def _infilling(self) -> Iterator[Check]:
        from paceline.engine import llama

        self._vocabulary = llama.read_vocabulary(self._found[0])
        if self._vocabulary.fim():
            yield Check("infilling", "ok", "the target has tokens for filling in the middle")
        else:
            hint = "for `paceline complete`, choose a model made for completions, such as Qwen2.5-Coder"
            yield Check("infilling", "warning", "the target cannot fill in the middle", hint)

    def _costs(self) -> Iterator[Check]:
        from paceline.commands import describe
        from paceline.daemon import assembly

        assert self._installed is not None
        measured = assembly.known_costs(self._installed)
        curves = measured.curves
        wanted = {"target"} | ({"draft"} if self._installed.draft else set())
        if wanted - curves.keys():
            missing = " and ".join(sorted(wanted - curves.keys(), reverse=True))
            found = f"what a decode of the {missing} costs, loaded as planned, was not measured yet"
            yield Check("costs", "warning", found, "paceline setup --measure-only")
        else:
            first, *rest = describe.outlook(curves)
            if measured.doubt:
                found = f"measured, but {measured.doubt}: {first}"
                yield Check("costs", "warning", found, "paceline setup --measure-only", details=tuple(rest))
            else:
                yield Check("costs", "ok", f"measured: {first}", details=tuple(rest))

    def _self_test(self) -> Iterator[Check]:
        """A few tokens of an answer and of a completion, where the model is made for them.

        A daemon that has been started for these models is asked; a second copy of them may not fit into memory.
        """
        if not self._load:
            return
        if self._daemon is not None:
            assert self._installed is not None
            yield from self._asked(answers=bool(self._installed.headers[0].chat_template))
        else:
            yield from self._tried_here()

    def _tried_here(self) -> Iterator[Check]:
        from paceline.commands import self_test
        from paceline.daemon import assembly
        from paceline.daemon.service import Overrides, Service, gather
        from paceline.prompts.chat import Message

        assert self._installed is not None and self._files is not None
        notes: list[str] = []
        few = Overrides(max_tokens=self_test.TOKENS, temperature=0.0)
        engine = assembly.load(self._installed, notes.append, speculation=self._config.engine.speculation)
        service = Service(engine, self._config, self._files.target.id)
        done = ["loaded the target"]

        def complete() -> tuple[bool, str]:
            began = time.monotonic()
            whole, line = self_test.BEFORE + self_test.AFTER, self_test.BEFORE.rpartition("\n")[2]
            completion = service.complete(whole, 2, len(line) + 1, single_line=True, overrides=few)
            return self_test.shown(completion.text, time.monotonic() - began)

        try:
            if engine.target.vocabulary.chat_template:
                _, end = gather(service.chat([Message("user", self_test.QUESTION)], few))
                done.append(f"made an answer of {end.stats.predicted_tokens} tokens")
            yield Check("self-test", "ok", ", ".join(done), details=tuple(notes))
            yield from _completion(complete)
        finally:
            service.close()


def _packages() -> Iterator[Check]:
    versions, missing = [], []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    ours = f"paceline {metadata.version('paceline')}, Python {platform.python_version()}"
    if missing:
        yield Check("packages", "problem", f"{ours}; missing: {', '.join(missing)}", "pip install --upgrade paceline")
    else:
        yield Check("packages", "ok", ours, details=tuple(versions))


def _completion(ask: Callable[[], tuple[bool, str]]) -> Iterator[Check]:
    """The rest of a line, as editors ask for it, or why there is none."""
    from paceline.commands import self_test

    for verdict, found, hint in self_test.reasons(ask):
        yield Check("completion", verdict, found, hint)


def _catalogue() -> Iterator[Check]:
    from paceline.models import catalogue

    known, own = catalogue.load(), paths.user_catalogue_file()
    theirs = f"with {own}" if own.exists() else f"no {own}"
    yield Check("catalogue", "ok", f"{len(known.models)} models, {len(known.pairs)} pairs; {theirs}")


def _llama() -> Iterator[Check]:
    """Whether llama.cpp can be loaded at all, and what this build makes use of."""
    try:
        from paceline.engine import llama
    except PacelineError:
        raise
    except Exception as error:  # a missing library shows as OSError, RuntimeError, or worse
        hint = "pip install --force-reinstall --no-cache-dir llama-cpp-python"
        yield Check("llama.cpp", "problem", f"it cannot be loaded: {error}", hint)
        return
    name, _, features = llama.build_info().partition(": ")
    offload = "can use GPUs" if llama.supports_gpu() else "CPU only"
    used = tuple(part.strip().removesuffix(" = 1") for part in features.split("|") if part.strip())
    yield Check("llama.cpp", "ok", f"{name}, {offload}", details=(", ".join(used),) if used else ())


def _guarded(name: str, probe: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """The probe's checks; whatever goes wrong in it becomes one."""
    try:
        yield from probe()
    except PacelineError as error:
        yield Check(name, "problem", error.message, error.hint or "the log of whoever failed may say more")
    except Exception as error:
        yield Check(name, "problem", f"this check failed: {error!r}", "please report this")

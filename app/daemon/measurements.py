"""What is kept across runs: decode-cost curves of this machine, how pairs fit, how often drafts were accepted."""

import contextlib
import hashlib
import json
import math
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.costs import CostCurve
from paceline.engine.pair import Fit
from paceline.plan import LoadOptions


class Measurements:
    """A folder of small JSON files, one a fact. A file that is missing or broken means: not measured."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def curve(self, model: Path, options: LoadOptions, build: str) -> CostCurve | None:
        """The cost curve of this file, loaded this way, with this build of llama.cpp."""
        try:
            curve = CostCurve.from_json(self._read(self._curve_name(model, options, build)))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        return curve if all(map(math.isfinite, curve.milliseconds)) else None

    def doubt(self, model: Path, options: LoadOptions, build: str) -> str:
        """Why the curve that is kept should be measured again, or ""."""
        said = self._read(self._curve_name(model, options, build)).get("doubt", "")
        return said if isinstance(said, str) else ""

    def store_curve(self, model: Path, options: LoadOptions, build: str, curve: CostCurve, doubt: str = "") -> None:
        """Keep a curve, and what makes it doubtful if anything does."""
        name = self._curve_name(model, options, build)
        self._write(name, {"model": model.name, "doubt": doubt, **curve.to_json()})

    def fit(self, target: Path, draft: Path) -> Fit | None:
        """How this draft can serve this target; None: not compared yet."""
        data = self._read(_pair_name(target, draft))
        difference, fault = data.get("difference"), data.get("fault")
        return Fit(difference, fault) if isinstance(difference, str) and isinstance(fault, str) else None

    def store_fit(self, target: Path, draft: Path, fit: Fit) -> None:
        """Keep the outcome of a comparison."""
        names = {"target": target.name, "draft": draft.name}
        self._write(_pair_name(target, draft), {**names, "difference": fit.difference, "fault": fit.fault})

    def acceptance(self, target: Path, draft: Path | None) -> AcceptanceTable | None:
        """How often drafts for this target were accepted, those of this draft model among them."""
        try:
            return AcceptanceTable.from_json(self._read(_acceptance_name(target, draft))["accepted"])
        except (OSError, KeyError, ValueError):
            return None

    def store_acceptance(self, target: Path, draft: Path | None, table: AcceptanceTable) -> None:
        """Keep what was learned: numbers, and nothing of what was drafted."""
        with contextlib.suppress(OSError):  # the files may be gone by now
            self._write(_acceptance_name(target, draft), {"accepted": table.to_json()})

    def _curve_name(self, model: Path, options: LoadOptions, build: str) -> str:
        how = {key: value for key, value in asdict(options).items() if key != "n_ctx"}
        # not the time: the same file fetched again costs the same
        return f"curve-{_digest([model.name, model.stat().st_size, how, build])}"

    def _read(self, name: str) -> dict[str, Any]:
        try:
            data = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}

    def _write(self, name: str, data: dict[str, Any]) -> None:
        """Atomically; a measurement that cannot be kept is made again next time, so failing is no error."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(data, file)
            Path(temporary).replace(self._folder / f"{name}.json")


def _pair_name(target: Path, draft: Path) -> str:
    return f"pair-{_digest([_identity(target), _identity(draft)])}"


def _acceptance_name(target: Path, draft: Path | None) -> str:
    """By names and sizes: the same files fetched again draft no worse."""
    files = [[path.name, path.stat().st_size] for path in (target, draft) if path is not None]
    return f"acceptance-{_digest(files)}"


def _identity(path: Path) -> list[object]:
    """A file's name, size and time: what changes when it is replaced."""
    stat = path.stat()
    return [str(path.absolute()), stat.st_size, stat.st_mtime_ns]


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:24]

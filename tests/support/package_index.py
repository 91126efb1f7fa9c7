"""Tiny wheels that carry pieces of a file, and the environment that makes pip find them without any network."""

import zipfile
from pathlib import Path

from paceline.models.catalogue import Carrier


def carrier_of(
    folder: Path, content: bytes, part_bytes: int, *, name: str = "tiny-carrier-part{n}", announced: bool = True
) -> Carrier:
    """Wheels in `folder` that carry `content` in pieces; the catalogue's description of them."""
    pieces = [content[at : at + part_bytes] for at in range(0, len(content), part_bytes)]
    carrier = Carrier(
        package=name,
        version="1.0",
        member="data/part{n:02}.bin",
        parts=len(pieces),
        part_bytes=part_bytes if announced else 0,
    )
    for n, piece in enumerate(pieces, 1):
        wheel(folder, carrier.package_name(n), "1.0", {carrier.member_path(n): piece})
    return carrier


def wheel(folder: Path, name: str, version: str, members: dict[str, bytes]) -> Path:
    """A wheel (PEP 427) with these members, as pip accepts it."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def environment(folder: Path) -> dict[str, str]:
    """Variables under which pip knows these wheels and nothing else."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}

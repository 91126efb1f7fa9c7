"""A picture of three panels, made without a display; what stands in its way is said before anything is measured."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from paceline.bench import plot
from paceline.errors import InputError, PacelineError
from support.bench_runs import DRAFT_CURVE, TARGET_CURVE, measured, report

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def example():
    return report(
        measured("edit", 2.0, ngram=[(2, 2), (2, 1)]), measured("code", 1.0, draft=[(1, 1)]), measured("prose", 0.9)
    )


@pytest.fixture(scope="module")
def panels(example):
    return plot.draw(example).axes


def test_bars_are_as_high_as_workloads_are_fast(panels):
    plain, auto = ([bar.get_height() for bar in group] for group in panels[0].containers)
    assert plain == pytest.approx([20.0, 20.0, 20.0])
    assert auto == pytest.approx([40.0, 20.0, 18.0])
    assert [each.get_text() for each in panels[0].get_xticklabels()] == ["edit", "code", "prose"]
    assert [each.get_text() for each in panels[0].texts][-3:] == ["2.00x", "1.00x", "0.90x"]


def test_a_line_for_each_drafter_tells_its_acceptance_by_position(panels):
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in panels[1].lines}
    assert lines == {"ngram": ([1, 2], [1.0, 0.5]), "draft": ([1], [1.0])}


def test_the_cost_curves_are_drawn_beside_what_single_passes_would_cost(panels):
    lines = {line.get_label(): (tuple(line.get_xdata()), tuple(line.get_ydata())) for line in panels[2].lines}
    assert lines["target"] == (TARGET_CURVE.sizes, TARGET_CURVE.milliseconds)
    assert lines["draft"] == (DRAFT_CURVE.sizes, DRAFT_CURVE.milliseconds)
    assert lines["target, one by one"] == ((1, 2, 4, 8, 16), (50.0, 100.0, 200.0, 400.0, 800.0))


def test_everybody_can_tell_the_lines_apart(panels):
    for axes in panels[1:]:
        looks = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.lines]
        for part in range(2):
            assert len({look[part] for look in looks}) == len(looks)


def test_every_mode_has_a_bar_where_it_was_measured():
    found = report(measured("edit", 2.0), measured("code", 1.0, mode="ngram"))
    heights = [[bar.get_height() for bar in group] for group in plot.draw(found).axes[0].containers]
    assert heights == [pytest.approx([20.0, 20.0]), pytest.approx([40.0]), pytest.approx([20.0])]


def test_where_nothing_was_drafted_the_panel_says_so():
    assert [each.get_text() for each in plot.draw(report(measured("prose", 1.0))).axes[1].texts] == [
        "nothing was drafted"
    ]


@pytest.mark.parametrize(("name", "head"), [("a.png", PNG), ("a.PNG", PNG), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_file_is_of_the_kind_its_name_says(example, tmp_path, name, head):
    plot.check(tmp_path / name)
    plot.save(example, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(head)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_looking_whether_it_can_be_written_leaves_nothing_behind(tmp_path):
    plot.check(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_is_there_already_stays_until_there_is_a_new_one(tmp_path):
    (tmp_path / "a.png").write_bytes(b"old")
    plot.check(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone/a.png", "No such file or directory"),
        ("file/a.png", "Not a directory"),
        ("folder.png", "it is a folder"),
        ("a.bmp", "no picture that can be drawn"),
        ("a", "no picture that can be drawn"),
    ],
)
def test_what_cannot_be_written_is_named_beforehand(tmp_path, name, words):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=words) as refused:
        plot.check(tmp_path / name)
    assert name in refused.value.message and refused.value.hint


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which not even root may write")
def test_a_folder_that_cannot_be_written_is_named_beforehand():
    with pytest.raises(InputError, match=re.escape("cannot write /proc/self/a.png")):
        plot.check(Path("/proc/self/a.png"))


def test_a_disk_that_became_full_meanwhile_is_an_error_that_names_the_file(example, tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        plot.save(example, tmp_path / "gone meanwhile" / "a.png")


def test_without_matplotlib_the_hint_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    with pytest.raises(PacelineError, match="Matplotlib") as refused:
        plot.check(tmp_path / "a.png")
    assert refused.value.hint == "pip install 'paceline[plot]'"


def test_no_window_is_ever_made(tmp_path):
    """In a process of its own: whatever backend the person's settings name, it is not loaded."""
    script = (
        "import sys; from pathlib import Path; from paceline.bench import plot; from support.bench_runs import *;"
        f"plot.save(report(measured('edit', 2.0)), Path({str(tmp_path)!r}) / 'a.png');"
        "loaded = [name for name in sys.modules if name.startswith('matplotlib.backends.backend_')];"
        "print('matplotlib.pyplot' in sys.modules, *loaded)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), "MPLBACKEND": "TkAgg"},
    )
    assert ended.stdout.split() == ["False", "matplotlib.backends.backend_agg"], ended.stderr

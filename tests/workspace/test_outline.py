"""What a file defines, in each language that is read."""

import subprocess
import sys
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.workspace.outline import outline, rendered

SOURCES = {
    "python": (
        '''
import os
LIMIT = 10
@dataclass(frozen=True)
class Rider(Person, metaclass=Kind):
    """One who rides.

    At length."""
    speed: float = 1.0
    def __init__(self, name: str, *, age: int = 3) -> None:
        self.name = name
    @property
    def tired(self) -> bool:
        return False
if os.name == "posix":
    async def ride(where, how="fast"):
        """Go."""
        await where
''',
        '''LIMIT = 10
@dataclass(frozen=True)
class Rider(Person, metaclass=Kind):
    """One who rides."""
    speed: float = 1.0
    def __init__(self, name: str, *, age: int=3) -> None: ...
    @property
    def tired(self) -> bool: ...
async def ride(where, how='fast'):
    """Go."""''',
    ),
    "typescript": (
        """
/** Adds two. And more. */
export function add(a: number, b: number): number { return a + b; }
export const twice = (a: number): number => a * 2;
export default class Rider extends Person implements Moves {
  private speed: number = 3;
  async ride<T>(where: T): Promise<T> { return where; }
}
export interface Moves { name: string }
export type Side = "left" | "right";
namespace inner { export function deep(): void {} }
""",
        """// Adds two. And more.
function add(a: number, b: number): number;
const twice = (a: number): number;
class Rider extends Person implements Moves {
    private speed: number;
    async ride<T>(where: T): Promise<T>;
}
interface Moves { name: string }
type Side = "left" | "right";
function deep(): void;""",
    ),
    "javascript": (
        "async function* all(a, { b } = {}) {}\nconst f = async (x) => x + 1, g = function (y) { };\n"
        "class A extends B { static s() {} m(x) {} }\n",
        "async function* all(a, { b } = {});\nconst f = async (x);\nconst g = function (y);\n"
        "class A extends B {\n    static s();\n    m(x);\n}",
    ),
    "typescriptreact": (
        "export function View(p: Props) { return <div>{p.x}</div> }\n",
        "function View(p: Props);",
    ),
    "go": (
        "package x\n// Rider rides.\ntype Rider struct {\n\tName string\n}\n"
        "func (r *Rider) Ride(n int) (int, error) { return 0, nil }\nfunc New() *Rider { return nil }\n",
        "// Rider rides.\ntype Rider struct {\n\tName string\n}\nfunc (r *Rider) Ride(n int) (int, error);\n"
        "func New() *Rider;",
    ),
    "rust": (
        "/// A point.\n#[derive(Debug)]\npub struct Point { pub x: f64 }\n"
        "impl Point { pub fn new(x: f64) -> Self { todo!() } }\n"
        "pub trait Shape { fn area(&self) -> f64; }\nmod inner { pub fn deep<T: Shape>(t: &T) where T: Clone {} }\n",
        "// A point.\npub struct Point { pub x: f64 }\nimpl Point {\n    pub fn new(x: f64) -> Self;\n}\n"
        "pub trait Shape {\n    fn area(&self) -> f64;\n}\npub fn deep<T: Shape>(t: &T) where T: Clone;",
    ),
    "java": (
        "/** Rides. */\npublic class Rider<T> extends Person {\n  private final int speed = 3;\n"
        "  public Rider(int x) { }\n  @Override public List<T> all(String k) throws E { return null; }\n}\n"
        "interface Moves { void move(int a); }\nrecord Point(int x) {}\n",
        "// Rides.\n"
        "public class Rider<T> extends Person {\n    private final int speed = 3;\n    public Rider(int x);\n"
        "    @Override public List<T> all(String k) throws E;\n}\ninterface Moves {\n    void move(int a);\n}\n"
        "record Point(int x) {}",
    ),
    "c": (
        "#ifndef X\n#define X\ntypedef struct { int a; } point_t;\n/* Adds. */\nint add(int a, int b);\n"
        "static char *copy(const char *s) { return 0; }\n#endif\n",
        "typedef struct { int a; } point_t;\n// Adds.\nint add(int a, int b);\nstatic char *copy(const char *s);",
    ),
    "cpp": (
        "namespace n {\ntemplate <typename T> class Vec : public Base<T> { public: T at(int i) const { return t; } };\n"
        "void Vec<int>::go(int q) {}\n}\n",
        "class Vec : public Base<T> {\n    T at(int i) const;\n}\nvoid Vec<int>::go(int q);",
    ),
}  # fmt: skip
EVERYTHING = frozenset({"LIMIT"})


@pytest.mark.parametrize("language", SOURCES)
def test_a_file_is_shown_by_its_signatures(language):
    source, expected = SOURCES[language]
    found = outline(language, source)
    assert found is not None
    assert rendered(found, EVERYTHING, 5000)[0] == expected


def test_a_language_that_nobody_reads_and_a_broken_file_have_no_outline():
    assert outline("cobol", "DISPLAY 'x'.") is None
    assert outline("python", "def f(:\n") is None
    assert outline("python", "x = \0") is None
    assert outline("python", "(" * 5000 + ")" * 5000) is None


def test_a_file_that_is_being_edited_keeps_its_sound_parts_where_the_grammar_mends():
    found = outline("go", "package x\nfunc A(n int) int { return\n\nfunc B() {}\n")
    assert found is not None
    assert "A" in {each.name for each in found}


def test_what_python_says_about_somebody_elses_file_is_not_passed_on():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert outline("python", 'PATTERN = "\\d"\n') is not None
    assert said == []


@given(st.text(alphabet="abc(){}[]<>:;=,.\"'\n\t *&/#@ classfnidefé\ud800", max_size=80), st.sampled_from([*SOURCES]))
def test_no_text_is_too_odd(text, language):
    found = outline(language, text)
    assert found is None or len(rendered(found, frozenset(), 60)[0]) <= 60


@given(
    st.integers(0, 400), st.sampled_from([*SOURCES]), st.frozensets(st.sampled_from(["Rider", "ride", "add", "deep"]))
)
def test_what_is_rendered_fits_and_names_what_it_has(size, language, used):
    found = outline(language, SOURCES[language][0])
    assert found is not None
    text, named = rendered(found, used, size)
    assert len(text) <= size
    assert all(name in text for name in named)


def test_what_is_used_goes_in_first_and_stands_where_it_stood():
    found = outline("python", "\n".join(f"def function_{number}(a, b): pass" for number in range(50)))
    assert found is not None
    text, named = rendered(found, frozenset({"function_40", "function_7"}), 120)
    assert named >= {"function_40", "function_7"}
    lines = text.split("\n")
    assert lines == sorted(lines, key=lambda line: int(line.split("_")[1].split("(")[0]))


SHOP = """class Basket:
    def add(self, order): ...
    def remove(self, order): ...

class Customer:
    def greet(self): ...

class Order:
    def total(self): ...
    def discounted(self, share): ...
    def _internal(self): ...
"""


def test_members_of_what_is_used_go_in_before_what_is_not_used():
    found = outline("python", SHOP)
    assert found is not None
    for size in range(400):
        _, named = rendered(found, frozenset({"Order"}), size)
        if named & {"Basket", "Customer"}:
            assert {"total", "discounted"} <= named
    assert named >= {"Order", "total", "discounted", "Basket", "Customer", "greet"} - {"_internal"}


def test_a_member_that_is_used_shows_its_class_may_be_of_use():
    found = outline("python", SHOP.replace("remove", "take_away"))
    assert found is not None
    _, named = rendered(found, frozenset({"take_away"}), 130)
    assert "take_away" in named
    assert "greet" not in named


def test_what_is_of_no_use_takes_no_room_where_what_is_of_use_has_none():
    found = outline("python", "def wanted(a_long_name, another_long_name): pass\ndef tiny(): pass\n")
    assert found is not None
    assert rendered(found, frozenset({"wanted"}), 40)[0] == ""
    assert "tiny" in rendered(found, frozenset(), 40)[0]


def test_private_things_and_values_are_shown_only_where_they_are_used():
    found = outline("python", "LIMIT = 1\n_hidden = 2\ndef _private(): pass\ndef public(): pass\n")
    assert found is not None
    assert rendered(found, frozenset(), 500)[0] == "def public(): ..."
    assert rendered(found, frozenset({"_private", "LIMIT"}), 500)[1] == {"_private", "LIMIT", "public"}


def test_a_grammar_is_loaded_only_for_a_file_that_needs_it():
    code = (
        "import sys; from paceline.lsp.context import gather; from paceline.workspace import outline\n"
        "outline.outline('python', 'x = 1'); assert not any('tree_sitter' in name for name in sys.modules)\n"
        "outline.outline('go', 'package x'); assert 'tree_sitter_go' in sys.modules\n"
        "assert 'tree_sitter_rust' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("java", "A<" * 20000),
        ("java", ("A<" * 30 + ";\n") * 2000),
        ("typescript", "a<b>(" * 20000),
        ("typescript", ("a<b>(" * 30 + "\n}\n") * 800),
        ("c", "int f(" * 20000),
    ],
    ids=["java", "java, not deep", "typescript", "typescript, not deep", "c"],
)
def test_what_is_made_to_take_a_parser_long_is_given_up(language, text):
    pytest.importorskip("tree_sitter")
    began = time.process_time()
    outline(language, text)
    assert time.process_time() - began < 5  # without the bounds: minutes, or all of the memory


def test_a_parser_that_was_stopped_reads_the_next_file():
    pytest.importorskip("tree_sitter")
    outline("java", ("A<" * 30 + ";\n") * 2000)
    assert [each.name for each in outline("java", "class Wheel { int size() { return 1; } }\n")] == ["Wheel"]
